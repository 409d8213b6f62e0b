#include "runtime/api/Context.h"
#include "compiler/spec/Spec.h"
#include "runtime/device/Devices.h"
#include "runtime/device/SimDevice.h"
#include "runtime/launch/File.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

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

std::string knobList(const Knobs &knobs) {
  std::string text;
  for (const auto &[name, value] : knobs)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

/// That a bundle has no kernel of this key, and which of its own comes nearest. Who built a kernel
/// is no difference: it would have been taken all the same.
std::string notIn(const bundle::Bundle &bundle, const cache::KeyFields &key) {
  std::string text = fmt::format("bundle {} has no such kernel", bundle.name());
  std::optional<bundle::Nearest> nearest = bundle.nearest(key);
  if (!nearest)
    return text;
  Result<bundle::Summary> summary = bundle.describe(nearest->kernel);
  if (!summary)
    return text;
  std::erase_if(nearest->differing, [](const std::string &field) {
    return std::find(bundle::buildFields.begin(), bundle::buildFields.end(), field) !=
           bundle::buildFields.end();
  });
  return text + fmt::format("; the nearest is {} ({}), which differs in {}", summary->label,
                            summary->digest, fmt::join(nearest->differing, ", "));
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

const std::string &Kernel::sidecarText() const {
  std::call_once(sidecarOnce_, [&] { sidecarText_ = toJson(image_->sidecar); });
  return sidecarText_;
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
  Result<std::unique_ptr<Device>> device =
      openDevice(options.device, {.threads = options.simThreads});
  if (!device)
    return device.error();
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
  meanwhile_.erase(wish);
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
  return kernelKey(spec.model, arch_, knobs, *identity, spec.parameters);
}

Result<CompileReply> Context::answer(const CompileRequest &request) {
  Result<CompileReply> reply = compiler_.compile(request);
  if (reply && reply->image.sidecar.specDigest != request.specDigest)
    return Error{ErrorCode::Internal,
                 request.fileName + ": the compiler answered for another spec"};
  return reply;
}

Result<KernelImage> Context::compile(const ParsedSpec &spec, const Knobs &knobs) {
  Result<CompileReply> reply = answer(requestFor(spec, knobs));
  if (!reply)
    return reply.error();
  return std::move(reply->image);
}

Result<cache::KernelRef> Context::image(const ParsedSpec &spec, const Knobs &knobs) {
  Result<cache::Key> wanted = key(spec, knobs);
  if (!wanted)
    return wanted.error();
  return cache_.getOrBuild(*wanted, [&] { return compile(spec, knobs); });
}

Result<Context::ListedImage> Context::listedImage(const ParsedSpec &spec, const Knobs &knobs) {
  Result<cache::Key> wanted = key(spec, knobs);
  if (!wanted)
    return wanted.error();
  CompileRequest request = requestFor(spec, knobs);
  request.listing = true;
  std::optional<Listing> listing;
  const auto compileBoth = [&]() -> Result<KernelImage> {
    Result<CompileReply> reply = answer(request);
    if (!reply)
      return reply.error();
    listing = std::move(reply->listing);
    return std::move(reply->image);
  };
  Result<cache::KernelRef> image = cache_.getOrBuild(*wanted, compileBoth);
  if (!image)
    return image.error();
  if (!listing && options_.cache.mayBuild)
    if (Result<KernelImage> again = compileBoth(); !again)
      return again.error();
  return ListedImage{std::move(*image), std::move(listing)};
}

void Context::addBundle(bundle::Bundle bundle) {
  std::unique_lock lock(mutex_);
  bundles_.push_back(std::make_shared<const bundle::Bundle>(std::move(bundle)));
}

Result<cache::Key> Context::keyOrUnbuilt(const ParsedSpec &spec, const Knobs &knobs,
                                         std::optional<Error> &noCompiler) {
  Result<CompilerIdentity> identity = compiler_.identity();
  if (!identity)
    noCompiler = identity.error();
  return kernelKey(spec.model, arch_, knobs,
                   identity ? *identity : CompilerIdentity{"none", "none"}, spec.parameters);
}

Result<cache::KernelRef> Context::fromBundles(const cache::Key &key) const {
  std::vector<std::shared_ptr<const bundle::Bundle>> bundles;
  {
    std::shared_lock lock(mutex_);
    bundles = bundles_;
  }
  Result<cache::KeyFields> fields = cache::parseKey(key.text());
  if (!fields)
    return fields.error();
  const auto load = [](const bundle::Bundle &bundle, uint32_t at) -> Result<cache::KernelRef> {
    Result<bundle::Entry> entry = bundle.load(at);
    if (!entry)
      return entry.error();
    return std::make_shared<const KernelImage>(std::move(entry->image));
  };
  // This compiler's kernel first, wherever it is; then the first one of another build.
  for (const auto &bundle : bundles)
    if (std::optional<uint32_t> at = bundle->find(key.digest()))
      return load(*bundle, *at);
  for (const auto &bundle : bundles)
    if (std::optional<uint32_t> at = bundle->findAnyBuild(*fields))
      return load(*bundle, *at);
  return cache::KernelRef();
}

Error Context::missing(Error error, const ParsedSpec &spec, const Knobs &knobs,
                       const cache::Key &key) const {
  std::shared_lock lock(mutex_);
  Result<cache::KeyFields> fields = cache::parseKey(key.text());
  if (!fields)
    return error;
  for (const auto &bundle : bundles_)
    error.message += "\n" + notIn(*bundle, *fields);
  if (!bundles_.empty())
    error.message += fmt::format("\nbuild a bundle that has it with: attune aot {} -o FILE",
                                 kernelArguments(spec.model, spec.parameters, arch_, knobs));
  return error;
}

Error Context::missingUnbuilt(const Error &noCompiler, const ParsedSpec &spec, const Knobs &knobs,
                              const cache::Key &key) const {
  const std::string &name = spec.model.problem.specName;
  std::string text;
  if (!options_.cache.mayBuild)
    text = name + ": ATTUNE_NO_JIT forbids compiling it, and no cache can be searched, since a key "
                  "there names the compiler; ";
  text += fmt::format("{}\nits key: arch {}, knobs {}, name {}, spec {}", noCompiler.message, arch_,
                      knobs.empty() ? "none" : knobList(knobs), name, spec.model.digest);
  return missing({noCompiler.code, text}, spec, knobs, key);
}

KernelPtr Context::meanwhile(const std::string &wish, const cache::Key &key) {
  std::vector<std::shared_ptr<const bundle::Bundle>> bundles;
  {
    std::shared_lock lock(mutex_);
    if (auto at = meanwhile_.find(wish); at != meanwhile_.end())
      return at->second;
    bundles = bundles_;
  }
  // The same attention with another schedule, whoever built it.
  const auto serves = [&](const std::string &text) {
    Result<cache::KeyFields> mine = cache::parseKey(key.text()), other = cache::parseKey(text);
    if (!mine || !other)
      return false;
    const std::vector<std::string> differing = cache::differingFields(*mine, *other);
    return std::none_of(differing.begin(), differing.end(), [](const std::string &field) {
      return field == "arch" || field == "name" || field == "spec";
    });
  };
  KernelPtr found;
  for (const auto &bundle : bundles)
    for (uint32_t i = 0; i < bundle->size() && !found; ++i) {
      Result<bundle::Summary> summary = bundle->describe(i);
      if (!summary || !serves(summary->keyText))
        continue;
      Result<bundle::Entry> entry = bundle->load(i);
      if (!entry)
        continue;
      Result<KernelPtr> kernel = Kernel::load(
          device_, std::make_shared<const KernelImage>(std::move(entry->image)), summary->digest);
      if (kernel)
        found = *kernel;
    }
  std::unique_lock lock(mutex_);
  return meanwhile_.emplace(wish, found).first->second;
}

Result<KernelPtr> Context::finished(const ParsedSpec &spec, const Knobs &knobs,
                                    const std::string &wish, std::optional<cache::Key> &unbuilt) {
  if (KernelPtr loaded = find(wish))
    return loaded;
  std::optional<Error> noCompiler;
  Result<cache::Key> wanted = keyOrUnbuilt(spec, knobs, noCompiler);
  if (!wanted)
    return wanted.error();
  cache::KernelRef image = noCompiler ? nullptr : cache_.lookup(*wanted);
  if (!image) {
    Result<cache::KernelRef> bundled = fromBundles(*wanted);
    if (!bundled)
      return bundled.error();
    image = *bundled;
  }
  if (image)
    return keep(wish, image, wanted->digest());
  if (noCompiler)
    return missingUnbuilt(*noCompiler, spec, knobs, *wanted);
  unbuilt = std::move(*wanted);
  return KernelPtr();
}

Result<KernelPtr> Context::kernel(const ParsedSpec &spec, const Knobs &knobs) {
  const std::string wish = wishOf(spec.model, knobs);
  std::optional<cache::Key> unbuilt;
  Result<KernelPtr> kernel = finished(spec, knobs, wish, unbuilt);
  if (!unbuilt)
    return kernel;
  Result<cache::KernelRef> image =
      cache_.buildAfterLookup(*unbuilt, [&] { return compile(spec, knobs); });
  if (image)
    return keep(wish, *image, unbuilt->digest());
  return image.error().code == ErrorCode::NotFound ? missing(image.error(), spec, knobs, *unbuilt)
                                                   : image.error();
}

Result<Context::Soon> Context::kernelSoon(const ParsedSpec &spec, const Knobs &knobs) {
  const std::string wish = wishOf(spec.model, knobs);
  std::optional<cache::Key> unbuilt;
  Result<KernelPtr> kernel = finished(spec, knobs, wish, unbuilt);
  if (!kernel)
    return kernel.error();
  if (!unbuilt)
    return Soon{*kernel};
  Result<void> started =
      background_.start(wish, [this, spec, knobs, key = *unbuilt]() -> Result<void> {
        Result<cache::KernelRef> built =
            cache_.buildAfterLookup(key, [&] { return compile(spec, knobs); });
        return built ? Result<void>() : Result<void>(built.error());
      });
  if (!started)
    return started.error();
  return Soon{meanwhile(wish, *unbuilt), true};
}

} // namespace attune
