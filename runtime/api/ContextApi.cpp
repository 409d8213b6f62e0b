// attune.h: outcome, context, device memory.
#include "runtime/api/Handles.h"
#include "runtime/device/SimDevice.h"

namespace attune::api {
namespace {

thread_local std::string lastError;

constexpr attune_status statusOf(ErrorCode code) {
  switch (code) {
  case ErrorCode::InvalidSpec:
    return ATTUNE_INVALID_SPEC;
  case ErrorCode::Unsupported:
    return ATTUNE_UNSUPPORTED;
  case ErrorCode::InvalidArgument:
    return ATTUNE_INVALID_ARGUMENT;
  case ErrorCode::NotFound:
    return ATTUNE_NOT_FOUND;
  case ErrorCode::Io:
    return ATTUNE_IO;
  case ErrorCode::Device:
    return ATTUNE_DEVICE;
  case ErrorCode::SimFault:
    return ATTUNE_SIM_FAULT;
  case ErrorCode::Internal:
    return ATTUNE_INTERNAL;
  }
  return ATTUNE_INTERNAL;
}

attune_status createContext(const attune_context_options &wanted, attune_context **context) {
  Result<ContextOptions> options = contextOptionsFromEnvironment();
  if (!options)
    return fail(options.error());
  if (wanted.device)
    options->device = wanted.device;
  if (wanted.cache_directory)
    options->cache.directory = wanted.cache_directory;
  if (wanted.no_jit)
    options->cache.mayBuild = false;
  if (wanted.sim_threads < 0)
    return fail(ATTUNE_INVALID_ARGUMENT,
                "attune_context_options.sim_threads: must be 0 or more, got " +
                    std::to_string(wanted.sim_threads));
  options->simThreads = wanted.sim_threads;
  if (wanted.compile_in_child)
    options->compiler.where = CompileWhere::Child;
  if (wanted.compile_timeout < 0 || wanted.compile_timeout > mostCompileSeconds)
    return fail(ATTUNE_INVALID_ARGUMENT, "attune_context_options.compile_timeout: must be 0 to " +
                                             std::to_string(mostCompileSeconds) +
                                             " (seconds), got " +
                                             std::to_string(wanted.compile_timeout));
  if (wanted.compile_timeout)
    options->compiler.childTime = std::chrono::seconds(wanted.compile_timeout);
  if (wanted.warn)
    options->cache.warn = [warn = wanted.warn, data = wanted.warn_data](const std::string &text) {
      warn(data, text.c_str());
    };
  Result<std::shared_ptr<Context>> made = Context::create(std::move(*options));
  if (!made)
    return fail(made.error());
  auto handle = std::make_unique<attune_context>();
  handle->context = std::move(*made);
  *context = handle.release();
  return ATTUNE_OK;
}

attune_status addBundle(attune_context &context, Result<bundle::Bundle> bundle) {
  if (!bundle)
    return fail(bundle.error());
  context.context->addBundle(std::move(*bundle));
  return ATTUNE_OK;
}

attune_status statusOf(const Result<void> &result) {
  return result ? ATTUNE_OK : fail(result.error());
}

} // namespace

attune_status fail(attune_status status, std::string text) {
  lastError = std::move(text);
  return status;
}

attune_status fail(const Error &error) { return fail(statusOf(error.code), error.message); }

attune_status readSettings(const char *name, const attune_setting *settings, size_t count,
                           std::vector<std::pair<std::string, std::string>> &to) {
  if (count && !settings)
    return nullArgument(name);
  for (size_t i = 0; i < count; ++i) {
    if (!settings[i].name || !settings[i].value)
      return fail(ATTUNE_INVALID_ARGUMENT, std::string(name) + "[" + std::to_string(i) +
                                               "]: name and value must not be NULL");
    to.emplace_back(settings[i].name, settings[i].value);
  }
  return ATTUNE_OK;
}

} // namespace attune::api

using namespace attune;
using namespace attune::api;

const char *attune_last_error(void) { return lastError.c_str(); }

const char *attune_status_name(attune_status status) {
  switch (int(status)) {
  case ATTUNE_OK:
    return "ok";
  case ATTUNE_INVALID_SPEC:
    return "invalid spec";
  case ATTUNE_UNSUPPORTED:
    return "unsupported";
  case ATTUNE_INVALID_ARGUMENT:
    return "invalid argument";
  case ATTUNE_NOT_FOUND:
    return "not found";
  case ATTUNE_IO:
    return "input or output failed";
  case ATTUNE_DEVICE:
    return "device failed";
  case ATTUNE_SIM_FAULT:
    return "simulator stopped the kernel";
  case ATTUNE_INTERNAL:
    return "internal error";
  case ATTUNE_PENDING:
    return "pending";
  }
  return "unknown status";
}

uint32_t attune_abi_version(void) { return ATTUNE_ABI_VERSION; }

attune_status attune_context_create(const attune_context_options *options,
                                    attune_context **context) {
  return guarded([&] {
    if (!context)
      return nullArgument("context");
    *context = nullptr;
    attune_context_options wanted{};
    if (options)
      if (auto status = readStruct(options, "attune_context_options", wanted))
        return status;
    return createContext(wanted, context);
  });
}

void attune_context_destroy(attune_context *context) { delete context; }

const char *attune_context_device(const attune_context *context) {
  return context ? context->context->deviceName().c_str() : nullptr;
}

const char *attune_context_arch(const attune_context *context) {
  return context ? context->context->arch().c_str() : nullptr;
}

attune_status attune_context_add_bundle(attune_context *context, const char *path) {
  return guarded([&] {
    if (!context || !path)
      return nullArgument(context ? "path" : "context");
    return addBundle(*context, bundle::Bundle::open(path));
  });
}

attune_status attune_context_add_bundle_memory(attune_context *context, const void *bytes,
                                               size_t size) {
  return guarded([&] {
    if (!context || !bytes)
      return nullArgument(context ? "bytes" : "context");
    return addBundle(*context,
                     bundle::Bundle::fromMemory({static_cast<const uint8_t *>(bytes), size}));
  });
}

attune_status attune_context_counters(attune_context *context, const char **text) {
  return guarded([&] {
    if (!context || !text)
      return nullArgument(context ? "text" : "context");
    std::lock_guard lock(context->mutex);
    context->counters = cache::toText(context->context->cache().counters());
    *text = context->counters.c_str();
    return ATTUNE_OK;
  });
}

attune_status attune_alloc(attune_context *context, uint64_t bytes, uint64_t *address) {
  return guarded([&] {
    if (!context || !address)
      return nullArgument(context ? "address" : "context");
    Result<DevicePtr> memory = context->context->device().alloc(bytes);
    if (!memory)
      return fail(memory.error());
    *address = *memory;
    return ATTUNE_OK;
  });
}

void attune_free(attune_context *context, uint64_t address) {
  guarded([&] {
    if (context && address)
      context->context->device().free(address);
    return ATTUNE_OK;
  });
}

attune_status attune_copy_in(attune_context *context, uint64_t to, const void *from,
                             uint64_t bytes) {
  return guarded([&] {
    if (!context || (!from && bytes))
      return nullArgument(context ? "from" : "context");
    return bytes ? statusOf(context->context->device().copyIn(to, from, bytes)) : ATTUNE_OK;
  });
}

attune_status attune_copy_out(attune_context *context, void *to, uint64_t from, uint64_t bytes) {
  return guarded([&] {
    if (!context || (!to && bytes))
      return nullArgument(context ? "to" : "context");
    return bytes ? statusOf(context->context->device().copyOut(to, from, bytes)) : ATTUNE_OK;
  });
}

attune_status attune_synchronize(attune_context *context, void *stream) {
  return guarded([&] {
    return context ? statusOf(context->context->device().synchronize(stream))
                   : nullArgument("context");
  });
}
