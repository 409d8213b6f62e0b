// attune.h: specs and kernels.
#include "runtime/api/Handles.h"

using namespace attune;
using namespace attune::api;

namespace {

/// A caller's options as the parser takes them.
struct SpecWish {
  std::string fileName, attention;
  std::map<std::string, std::string> parameters;
};

attune_status readSpecOptions(const attune_spec_options *options, SpecWish &wish) {
  if (!options)
    return ATTUNE_OK;
  attune_spec_options given{};
  if (auto status = readStruct(options, "attune_spec_options", given))
    return status;
  wish.fileName = given.file_name ? given.file_name : "";
  wish.attention = given.attention ? given.attention : "";
  std::vector<std::pair<std::string, std::string>> list;
  if (auto status = readSettings("attune_spec_options.parameters", given.parameters,
                                 given.num_parameters, list))
    return status;
  for (auto &[name, value] : list)
    if (!wish.parameters.emplace(name, value).second)
      return fail(ATTUNE_INVALID_ARGUMENT,
                  "attune_spec_options.parameters: " + name + " is given twice");
  return ATTUNE_OK;
}

attune_status handOut(Result<ParsedSpec> parsed, attune_spec **spec) {
  if (!parsed)
    return fail(parsed.error());
  auto handle = std::make_unique<attune_spec>();
  handle->spec = std::make_shared<const ParsedSpec>(std::move(*parsed));
  *spec = handle.release();
  return ATTUNE_OK;
}

attune_kernel *handOut(KernelPtr kernel) {
  auto handle = std::make_unique<attune_kernel>();
  handle->kernel = std::move(kernel);
  return handle.release();
}

/// What both ways to a kernel begin with.
attune_status readKernelCall(const attune_context *context, const attune_spec *spec,
                             const attune_kernel_options *options, attune_kernel **kernel,
                             Knobs &knobs) {
  for (auto [pointer, name] : {std::pair<const void *, const char *>{context, "context"},
                               {spec, "spec"},
                               {kernel, "kernel"}})
    if (!pointer)
      return nullArgument(name);
  *kernel = nullptr;
  if (!options)
    return ATTUNE_OK;
  attune_kernel_options given{};
  if (auto status = readStruct(options, "attune_kernel_options", given))
    return status;
  return readSettings("attune_kernel_options.knobs", given.knobs, given.num_knobs, knobs);
}

template <class List> const char *nameAt(const List &list, int32_t index) {
  return index >= 0 && size_t(index) < list.size() ? list[size_t(index)].name.c_str() : nullptr;
}

} // namespace

attune_status attune_spec_parse(const char *text, size_t length, const attune_spec_options *options,
                                attune_spec **spec) {
  return guarded([&] {
    if (!text || !spec)
      return nullArgument(text ? "spec" : "text");
    *spec = nullptr;
    SpecWish wish;
    if (auto status = readSpecOptions(options, wish))
      return status;
    return handOut(ParsedSpec::parse({text, length == SIZE_MAX ? std::strlen(text) : length},
                                     wish.fileName.empty() ? "<spec>" : wish.fileName,
                                     wish.attention, wish.parameters),
                   spec);
  });
}

attune_status attune_spec_parse_file(const char *path, const attune_spec_options *options,
                                     attune_spec **spec) {
  return guarded([&] {
    if (!path || !spec)
      return nullArgument(path ? "spec" : "path");
    *spec = nullptr;
    SpecWish wish;
    if (auto status = readSpecOptions(options, wish))
      return status;
    if (!wish.fileName.empty())
      return fail(ATTUNE_INVALID_ARGUMENT,
                  "attune_spec_options.file_name: must be NULL where the spec is a file");
    return handOut(ParsedSpec::parseFile(path, wish.attention, wish.parameters), spec);
  });
}

void attune_spec_destroy(attune_spec *spec) { delete spec; }

const char *attune_spec_name(const attune_spec *spec) {
  return spec ? spec->spec->model.problem.specName.c_str() : nullptr;
}

const char *attune_spec_digest(const attune_spec *spec) {
  return spec ? spec->spec->model.digest.c_str() : nullptr;
}

attune_status attune_kernel_get(attune_context *context, const attune_spec *spec,
                                const attune_kernel_options *options, attune_kernel **kernel) {
  return guarded([&] {
    Knobs knobs;
    if (auto status = readKernelCall(context, spec, options, kernel, knobs))
      return status;
    Result<KernelPtr> found = context->context->kernel(*spec->spec, knobs);
    if (!found)
      return fail(found.error());
    *kernel = handOut(std::move(*found));
    return ATTUNE_OK;
  });
}

attune_status attune_kernel_get_async(attune_context *context, const attune_spec *spec,
                                      const attune_kernel_options *options,
                                      attune_kernel **kernel) {
  return guarded([&] {
    Knobs knobs;
    if (auto status = readKernelCall(context, spec, options, kernel, knobs))
      return status;
    Result<Context::Soon> soon = context->context->kernelSoon(*spec->spec, knobs);
    if (!soon)
      return fail(soon.error());
    if (soon->kernel)
      *kernel = handOut(std::move(soon->kernel));
    return soon->pending ? ATTUNE_PENDING : ATTUNE_OK;
  });
}

void attune_kernel_destroy(attune_kernel *kernel) { delete kernel; }

attune_status attune_kernel_get_info(const attune_kernel *kernel, attune_kernel_info *info) {
  return guarded([&] {
    if (!kernel || !info)
      return nullArgument(kernel ? "info" : "kernel");
    const Sidecar &sidecar = kernel->kernel->sidecar();
    const Resources &used = sidecar.kernel.resources;
    return writeStruct({.size = 0,
                        .name = sidecar.kernel.name.c_str(),
                        .digest = kernel->kernel->digest().c_str(),
                        .sidecar = kernel->kernel->sidecarText().c_str(),
                        .vgprs = used.vgpr,
                        .agprs = used.agpr,
                        .sgprs = used.sgpr,
                        .lds_bytes = used.ldsBytes,
                        .scratch_bytes = used.scratchBytes,
                        .occupancy = used.occupancy,
                        .num_tensors = int32_t(sidecar.problem.tensors.size()),
                        .num_scalars = int32_t(sidecar.problem.scalars.size())},
                       "attune_kernel_info", info);
  });
}

const char *attune_kernel_tensor_name(const attune_kernel *kernel, int32_t index) {
  return kernel ? nameAt(kernel->kernel->sidecar().problem.tensors, index) : nullptr;
}

const char *attune_kernel_scalar_name(const attune_kernel *kernel, int32_t index) {
  return kernel ? nameAt(kernel->kernel->sidecar().problem.scalars, index) : nullptr;
}

attune_status attune_kernel_code(const attune_kernel *kernel, const void **bytes, size_t *size) {
  return guarded([&] {
    if (!kernel || !bytes || !size)
      return nullArgument(!kernel ? "kernel" : !bytes ? "bytes" : "size");
    *bytes = kernel->kernel->image().codeObject.data();
    *size = kernel->kernel->image().codeObject.size();
    return ATTUNE_OK;
  });
}
