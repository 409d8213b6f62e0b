#include "runtime/hip/Modules.h"
#include "runtime/hip/Bundle.h"
#include <cstring>
#include <fmt/format.h>

namespace attune::hip {

namespace {

Outcome imageOutcome(const Error &error) {
  switch (error.code) {
  case ErrorCode::NotFound:
    return {hipErrorNoBinaryForGpu, error.message};
  case ErrorCode::Unsupported:
    return {hipErrorNoBinaryForGpu, error.message};
  default:
    return {hipErrorInvalidImage, error.message};
  }
}

/// The list that hipModuleLaunchKernel calls extra: pairs of mark and value.
Outcome packExtra(std::vector<uint8_t> &out, void **extra) {
  const uint8_t *bytes = nullptr;
  const size_t *size = nullptr;
  for (size_t i = 0; reinterpret_cast<uintptr_t>(extra[i]) != launchParamEnd; i += 2) {
    auto mark = reinterpret_cast<uintptr_t>(extra[i]);
    if (mark == launchParamPointer)
      bytes = static_cast<const uint8_t *>(extra[i + 1]);
    else if (mark == launchParamSize)
      size = static_cast<const size_t *>(extra[i + 1]);
    else
      return {hipErrorInvalidValue,
              fmt::format("extra[{}] is {}; it may be HIP_LAUNCH_PARAM_BUFFER_POINTER (1), "
                          "BUFFER_SIZE (2) or END (3)",
                          i, extra[i])};
  }
  if (!size || (!bytes && *size))
    return {hipErrorInvalidValue, "extra needs both a buffer and a pointer to its size"};
  out.assign(bytes, bytes + *size);
  return {};
}

} // namespace

Outcome packArguments(std::vector<uint8_t> &out, const sim::KernelInfo &kernel, void **params,
                      void **extra) {
  if (params && extra)
    return {hipErrorInvalidValue, "kernelParams and extra are both given"};
  if (extra)
    return packExtra(out, extra);
  if (kernel.args.empty())
    return kernel.kernargBytes == 0 || !params
               ? Outcome()
               : Outcome(
                     hipErrorInvalidValue,
                     fmt::format("kernel {} has no metadata of its arguments; pass them packed, "
                                 "with extra",
                                 kernel.name));
  if (!params)
    return {hipErrorInvalidValue, fmt::format("kernel {} has {} arguments, none is given",
                                              kernel.name, kernel.args.size())};
  for (size_t i = 0; i < kernel.args.size(); ++i) {
    const sim::KernelArgInfo &arg = kernel.args[i];
    if (!params[i])
      return {hipErrorInvalidValue, fmt::format("argument {} of {} is null", i, kernel.name)};
    out.resize(std::max<size_t>(out.size(), arg.offset + arg.size));
    std::memcpy(out.data() + arg.offset, params[i], arg.size);
  }
  return {};
}

Outcome Modules::load(attuneHipModule **out, const void *image, size_t limit) {
  if (!out || !image)
    return {hipErrorInvalidValue, "a pointer is null"};
  auto code = findCodeObject(image, limit);
  if (!code)
    return imageOutcome(code.error());
  auto module = std::make_unique<attuneHipModule>();
  module->image.assign(code->begin(), code->end());
  module->gpu = &gpus_.current();
  auto id = module->gpu->simulator.load(module->image);
  if (!id)
    return imageOutcome(id.error());
  module->id = *id;
  auto kernels = module->gpu->simulator.kernels(*id);
  if (!kernels)
    return imageOutcome(kernels.error());
  for (sim::KernelInfo &kernel : *kernels) {
    std::string name = kernel.name;
    module->functions[name] = {module.get(), std::move(kernel)};
  }
  *out = module.get();
  modules_[module.get()] = std::move(module);
  return {};
}

Outcome Modules::unload(attuneHipModule *module) {
  auto at = modules_.find(module);
  if (at == modules_.end())
    return hipErrorInvalidHandle;
  module->gpu->simulator.unload(module->id);
  modules_.erase(at);
  return {};
}

Outcome Modules::function(attuneHipFunction **out, attuneHipModule *module, const char *name) {
  if (!out || !name)
    return {hipErrorInvalidValue, "a pointer is null"};
  *out = nullptr;
  if (!modules_.contains(module))
    return hipErrorInvalidHandle;
  auto at = module->functions.find(name);
  if (at == module->functions.end()) {
    std::vector<std::string> names;
    for (const auto &[known, function] : module->functions)
      names.push_back(known);
    return {hipErrorNotFound, fmt::format("the code object has no kernel \"{}\"; it has: {}", name,
                                          fmt::join(names, ", "))};
  }
  *out = &at->second;
  return {};
}

Outcome Modules::global(Symbol &out, attuneHipModule *module, const char *name) {
  if (!name)
    return {hipErrorInvalidValue, "the name is null"};
  if (!modules_.contains(module))
    return hipErrorInvalidHandle;
  auto address = module->gpu->simulator.symbol(module->id, name);
  if (!address)
    return outcomeOf(address.error());
  out = {sim::Memory::host(*address), symbolBytes(module->image, name).value_or(0)};
  return {};
}

FatBinary *Modules::addBinary(const void *image) {
  auto binary = std::make_unique<FatBinary>(FatBinary{image, {}});
  FatBinary *handle = binary.get();
  binaries_[handle] = std::move(binary);
  return handle;
}

void Modules::removeBinary(FatBinary *binary) {
  auto at = binaries_.find(binary);
  if (at == binaries_.end())
    return;
  auto ours = [&](const auto &item) { return item.second.binary == binary; };
  std::erase_if(stubs_, ours);
  std::erase_if(variables_, ours);
  for (const auto &[gpu, module] : binary->modules)
    unload(module);
  binaries_.erase(at);
}

void Modules::addStub(FatBinary *binary, const void *stub, const char *kernel) {
  stubs_[stub] = {binary, kernel};
}

void Modules::addVariable(FatBinary *binary, const void *shadow, const char *name) {
  variables_[shadow] = {binary, name};
}

Outcome Modules::moduleOf(attuneHipModule **out, FatBinary *binary) {
  auto [at, fresh] = binary->modules.try_emplace(&gpus_.current());
  if (fresh)
    if (auto outcome = load(&at->second, binary->image); !outcome.ok()) {
      binary->modules.erase(at);
      return outcome;
    }
  *out = at->second;
  return {};
}

bool Modules::isFunction(const void *handle) const {
  for (const auto &[key, module] : modules_)
    for (const auto &[name, function] : module->functions)
      if (&function == handle)
        return true;
  return false;
}

Outcome Modules::stub(attuneHipFunction **out, const void *stub) {
  auto at = stubs_.find(stub);
  if (at == stubs_.end()) {
    if (!isFunction(stub))
      return {hipErrorInvalidDeviceFunction, "no kernel is registered under this function"};
    *out = static_cast<attuneHipFunction *>(const_cast<void *>(stub));
    return {};
  }
  attuneHipModule *module = nullptr;
  if (auto outcome = moduleOf(&module, at->second.binary); !outcome.ok())
    return outcome;
  return function(out, module, at->second.name.c_str());
}

Outcome Modules::variable(Symbol &out, const void *shadow) {
  auto at = variables_.find(shadow);
  if (at == variables_.end())
    return {hipErrorInvalidSymbol, "no device variable is registered under this address"};
  attuneHipModule *module = nullptr;
  if (auto outcome = moduleOf(&module, at->second.binary); !outcome.ok())
    return outcome;
  return global(out, module, at->second.name.c_str());
}

} // namespace attune::hip
