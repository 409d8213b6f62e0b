#include "runtime/hip/Runtime.h"
#include <cstdio>
#include <fmt/format.h>

namespace attune::hip {

Runtime &Runtime::get() {
  static Runtime *runtime = new Runtime;
  return *runtime;
}

hipError_t &lastError() {
  thread_local hipError_t error = hipSuccess;
  return error;
}

void say(const char *call, const std::string &message) {
  fmt::print(stderr, "attune hip: {}: {}\n", call, message);
}

hipError_t call(const char *name, const std::function<Outcome(Runtime &)> &body) {
  Outcome outcome;
  try {
    Runtime &runtime = Runtime::get();
    std::lock_guard lock(runtime.mutex);
    outcome = body(runtime);
  } catch (const std::bad_alloc &) {
    outcome = {hipErrorOutOfMemory, "the host has no memory left"};
  } catch (const std::exception &e) {
    outcome = {hipErrorUnknown, e.what()};
  }
  if (outcome.ok())
    return hipSuccess;
  lastError() = outcome.code;
  if (!outcome.message.empty())
    say(name, outcome.message);
  return outcome.code;
}

Outcome outcomeOf(const Error &error) {
  switch (error.code) {
  case ErrorCode::InvalidSpec:
  case ErrorCode::InvalidArgument:
    return {hipErrorInvalidValue, error.message};
  case ErrorCode::Unsupported:
    return {hipErrorNotSupported, error.message};
  case ErrorCode::NotFound:
    return {hipErrorNotFound, error.message};
  case ErrorCode::Io:
    return {hipErrorFileNotFound, error.message};
  case ErrorCode::Device:
    return {hipErrorOutOfMemory, error.message};
  case ErrorCode::SimFault:
    return {hipErrorLaunchFailure, error.message};
  case ErrorCode::Internal:
    break;
  }
  return {hipErrorUnknown, error.message};
}

Outcome launch(const KernelCall &k) {
  if (k.gpu->error != hipSuccess)
    return k.gpu->error;
  sim::Launch launch{.kernel = k.kernel,
                     .grid = k.grid,
                     .block = k.block,
                     .dynamicLdsBytes = k.dynamicLds,
                     .kernarg = k.kernarg,
                     .options = {}};
  auto stats = k.gpu->simulator.launch(k.module, launch);
  if (stats)
    return {};
  Outcome outcome = outcomeOf(stats.error());
  if (outcome.code == hipErrorInvalidValue)
    outcome.code = hipErrorInvalidConfiguration;
  if (outcome.code == hipErrorLaunchFailure)
    k.gpu->error = outcome.code;
  return outcome;
}

} // namespace attune::hip
