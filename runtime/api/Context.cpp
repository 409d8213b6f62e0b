#include "runtime/api/Context.h"
#include "compiler/spec/Spec.h"
#include "runtime/device/Devices.h"
#include "runtime/device/SimDevice.h"
#include "runtime/launch/File.h"
#include <algorithm>
#include <fmt/format.h>

namespace attune {
namespace {

/// Kernels compile beside requests that are being served: a few at a time.
constexpr size_t backgroundThreads = 2;

/// What the loaded table is keyed by: cheaper to make than a cache key, and as telling within one
/// context, whose chip and compiler stay the same.
std::string wishOf(const spec::Model &model, const Knobs &knobs) {
  std::string wish = model.digest + model.problem.specName;
  for (const auto &list : {std::cref(model.schedule), std::cref(knobs)})
    for (const auto &[name, value] : list.get())
      wish.append("\n").append(name).append("=").append(value);
  return wish;
}

} // namespace

Result<ParsedSpec> ParsedSpec::parse(std::string text, std::string fileName, std::string attention,
                                     std::map<std::string, std::string> parameters) {
  Result<spec::Model> model = spec::parseSpec(text, {fileName, parameters, attention});
  if (!model)
    return model.error();
  return ParsedSpec{std::move(text), std::move(attention), std::move(parameters),
                    std::move(*model)};
}

Result<ParsedSpec> ParsedSpec::parseFile(const std::string &path, std::string attention,
                                         std::map<std::string, std::string> parameters) {
  Result<Bytes> text = readFile(path);
  if (!text)
    return text.error();
  return parse({text->begin(), text->end()}, path, std::move(attention), std::move(parameters));
}

Result<KernelPtr> Kernel::load(std::shared_ptr<Device> device, cache::KernelRef image,
                               std::string digest) {
  Result<ModuleHandle> module = device->load(image->codeObject);
  if (!module)
    return module.error();
  Result<KernelHandle> handle = device->kernel(*module, image->sidecar.kernel.name);
  if (!handle) {
    device->unload(*module);
    return handle.error();
  }
  std::shared_ptr<Kernel> kernel(
      new Kernel(std::move(device), std::move(image), std::move(digest)));
  kernel->module_ = *module;
  kernel->handle_ = *handle;
  return KernelPtr(std::move(kernel));
}

Kernel::~Kernel() {
  if (module_)
    device_->unload(module_);
}

Result<ContextOptions> contextOptionsFromEnvironment() {
  ContextOptions options;
  Result<cache::Options> cache = cache::optionsFromEnvironment();
  if (!cache)
    return cache.error();
  Result<CompilerOptions> compiler = compilerOptionsFromEnvironment();
  if (!compiler)
    return compiler.error();
  options.cache = std::move(*cache);
  options.compiler = std::move(*compiler);
  return options;
}

Result<std::shared_ptr<Context>> Context::create(ContextOptions options) {
  // Opened here and not by openDevice where it is sure to be the simulator: it takes options.
  sim::RunOptions run;
  run.threads = options.simThreads;
  if (options.device == "sim")
    return create(std::move(options), makeSimDevice(run));
  Result<std::unique_ptr<Device>> device = openDevice(options.device);
  if (!device)
    return device.error();
  if ((*device)->name() == "sim")
    *device = makeSimDevice(run);
  return create(std::move(options), std::move(*device));
}

std::shared_ptr<Context> Context::create(ContextOptions options, std::shared_ptr<Device> device) {
  return std::shared_ptr<Context>(new Context(std::move(options), std::move(device)));
}

Context::Context(ContextOptions options, std::shared_ptr<Device> device)
    : options_(std::move(options)), device_(std::move(device)), deviceName_(device_->name()),
      arch_(device_->arch()), compiler_(options_.compiler), cache_(options_.cache),
      background_(backgroundThreads) {}

KernelPtr Context::find(const std::string &wish) const {
  std::shared_lock lock(mutex_);
  auto at = loaded_.find(wish);
  if (at == loaded_.end())
    return nullptr;
  at->second.lastUse.store(++clock_, std::memory_order_relaxed);
  return at->second.kernel;
}

Result<KernelPtr> Context::keep(const std::string &wish, cache::KernelRef image,
                                const std::string &digest) {
  std::unique_lock lock(mutex_);
  if (auto at = loaded_.find(wish); at != loaded_.end())
    return at->second.kernel; // another thread was faster
  Result<KernelPtr> kernel = Kernel::load(device_, std::move(image), digest);
  if (!kernel)
    return kernel;
  Loaded &loaded = loaded_[wish];
  loaded.kernel = *kernel;
  loaded.lastUse = ++clock_;
  if (loaded_.size() > options_.loadedKernels)
    unloadOldest();
  return kernel;
}

void Context::unloadOldest() {
  auto oldest = loaded_.end();
  for (auto at = loaded_.begin(); at != loaded_.end(); ++at)
    if (at->second.kernel.use_count() == 1 &&
        (oldest == loaded_.end() || at->second.lastUse < oldest->second.lastUse))
      oldest = at;
  if (oldest != loaded_.end())
    loaded_.erase(oldest);
}

CompileRequest Context::requestFor(const ParsedSpec &spec, const Knobs &knobs) const {
  return {.text = spec.text,
          .fileName = spec.model.fileName,
          .attention = spec.attention,
          .parameters = spec.parameters,
          .arch = arch_,
          .knobs = knobs,
          .specDigest = spec.model.digest};
}

Result<cache::Key> Context::key(const ParsedSpec &spec, const Knobs &knobs) {
  Result<CompilerIdentity> identity = compiler_.identity();
  if (!identity)
    return identity.error();
  return kernelKey(spec.model, arch_, knobs, *identity);
}

Result<cache::KernelRef> Context::findOrBuild(const ParsedSpec &spec, const Knobs &knobs,
                                              const cache::Key &key) {
  return cache_.getOrBuild(key, [&]() -> Result<KernelImage> {
    Result<KernelImage> image = compiler_.compile(requestFor(spec, knobs));
    if (image && image->sidecar.specDigest != spec.model.digest)
      return Error{ErrorCode::Internal,
                   spec.model.fileName + ": the compiler answered for another spec"};
    return image;
  });
}

Result<cache::KernelRef> Context::image(const ParsedSpec &spec, const Knobs &knobs) {
  Result<cache::Key> wanted = key(spec, knobs);
  if (!wanted)
    return wanted.error();
  return findOrBuild(spec, knobs, *wanted);
}

Result<KernelPtr> Context::kernel(const ParsedSpec &spec, const Knobs &knobs) {
  const std::string wish = wishOf(spec.model, knobs);
  if (KernelPtr loaded = find(wish))
    return loaded;
  Result<cache::Key> wanted = key(spec, knobs);
  if (!wanted)
    return wanted.error();
  Result<cache::KernelRef> image = findOrBuild(spec, knobs, *wanted);
  if (!image)
    return image.error();
  return keep(wish, *image, wanted->digest());
}

Result<Context::Soon> Context::kernelSoon(const ParsedSpec &spec, const Knobs &knobs) {
  const std::string wish = wishOf(spec.model, knobs);
  if (KernelPtr loaded = find(wish))
    return Soon{loaded};
  Result<cache::Key> wanted = key(spec, knobs);
  if (!wanted)
    return wanted.error();
  if (cache::KernelRef image = cache_.lookup(*wanted)) {
    Result<KernelPtr> kernel = keep(wish, image, wanted->digest());
    if (!kernel)
      return kernel.error();
    return Soon{*kernel};
  }
  Result<void> started =
      background_.start(wish, [this, spec, knobs, key = *wanted]() -> Result<void> {
        Result<cache::KernelRef> image = findOrBuild(spec, knobs, key);
        if (!image)
          return image.error();
        return {};
      });
  if (!started)
    return started.error();
  return Soon{nullptr, true};
}

} // namespace attune
