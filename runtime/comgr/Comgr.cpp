#include "runtime/comgr/Comgr.h"
#include "runtime/abi/SharedLibrary.h"
#include "runtime/process/Child.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <functional>
#include <mutex>
#include <set>
#include <sstream>

namespace attune {
namespace {

const std::string candidates[] = {"libamd_comgr.so.3", "libamd_comgr.so.2", "libamd_comgr.so"};
constexpr size_t oldestMajor = 2, newestMajor = 3;
constexpr std::string_view isaPrefix = "amdgcn-amd-amdhsa--";

enum DataKind : int { Log = 5, Relocatable = 7, Executable = 8 };

/// AMD_COMGR_ACTION_LINK_RELOCATABLE_TO_EXECUTABLE: comgr 3 dropped two actions before it.
constexpr int linkAction(size_t major) { return major >= 3 ? 7 : 9; }

const TimeLimit timeLimit{std::chrono::seconds(30), ""}; ///< of one call; a link takes milliseconds

using Bytes = std::vector<uint8_t>;

/// The answer of a child: a byte that says which of the two it is, then the bytes, or the error's
/// code in another byte and its text.
constexpr char answerBytes = 'b', answerError = 'e';

std::string toAnswer(const Result<Bytes> &result) {
  std::string text;
  if (result)
    text.append(1, answerBytes).append(result->begin(), result->end());
  else
    text.append(1, answerError).append(1, char(result.error().code)).append(result.error().message);
  return text;
}

Result<Bytes> fromAnswer(const std::string &text) {
  if (text[0] == answerError)
    return Error{ErrorCode(text[1]), text.substr(2)};
  return Bytes(text.begin() + 1, text.end());
}

/// What `work` returns, from a child: given a damaged object comgr may crash.
Result<Bytes> isolated(const std::string &what, const std::function<Result<Bytes>()> &work) {
  Result<Child> child = Child::fork([&] { return toAnswer(work()); });
  Result<std::string> answer =
      child ? callChild(std::move(*child), "", timeLimit) : Result<std::string>(child.error());
  if (!answer)
    return Error{ErrorCode::Device, fmt::format("{} {}", what, answer.error().message)};
  return fromAnswer(*answer);
}

/// One kernel a line: the numbers, then the name.
Bytes toBytes(const std::vector<KernelMetadata> &kernels) {
  std::string text;
  for (const KernelMetadata &k : kernels)
    text += fmt::format("{} {} {} {} {} {} {} {}\n", k.kernargBytes, k.vgprs, k.agprs, k.sgprs,
                        k.ldsBytes, k.scratchBytes, k.maxThreads, k.name);
  return {text.begin(), text.end()};
}

std::vector<KernelMetadata> fromBytes(const Bytes &bytes) {
  std::istringstream in(std::string(bytes.begin(), bytes.end()));
  std::vector<KernelMetadata> kernels;
  KernelMetadata k;
  while (in >> k.kernargBytes >> k.vgprs >> k.agprs >> k.sgprs >> k.ldsBytes >> k.scratchBytes >>
         k.maxThreads) {
    in.get(); // the space before the name
    std::getline(in, k.name);
    kernels.push_back(k);
  }
  return kernels;
}

std::mutex &comgrMutex() {
  static std::mutex mutex;
  return mutex;
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\0'))
    text.pop_back();
  return text;
}

} // namespace

struct Comgr::Api {
#define COMGR_FUNCTION(NAME, RESULT, PARAMETERS) RESULT(*NAME) PARAMETERS = nullptr;
#include "runtime/comgr/ComgrApi.def"
  std::string library;
  size_t major = 0, minor = 0;
};

/// comgr's objects, given back in the order against that of their making. After the first call that
/// fails the others do nothing; `failed` says which it was.
class Comgr::Objects {
public:
  explicit Objects(const Comgr &comgr) : comgr_(comgr), api_(*comgr.api_) {}
  ~Objects() {
    for (auto at = made_.rbegin(); at != made_.rend(); ++at)
      at->release(at->handle);
  }
  Objects(const Objects &) = delete;

  uint64_t data(DataKind kind, std::span<const uint8_t> bytes) {
    uint64_t handle = keep(api_.release_data, "create_data",
                           [&](uint64_t *out) { return api_.create_data(kind, out); });
    check("set_data", [&] {
      return api_.set_data(handle, bytes.size(), reinterpret_cast<const char *>(bytes.data()));
    });
    check("set_data_name", [&] { return api_.set_data_name(handle, "kernel.o"); });
    return handle;
  }
  uint64_t set() { return keep(api_.destroy_data_set, "create_data_set", api_.create_data_set); }
  uint64_t info() {
    return keep(api_.destroy_action_info, "create_action_info", api_.create_action_info);
  }
  uint64_t metadata(uint64_t data) {
    return keep(api_.destroy_metadata, "get_data_metadata",
                [&](uint64_t *out) { return api_.get_data_metadata(data, out); });
  }
  uint64_t item(uint64_t list, size_t index) {
    return keep(api_.destroy_metadata, "index_list_metadata",
                [&](uint64_t *out) { return api_.index_list_metadata(list, index, out); });
  }
  /// Of a map; 0 if it has no such key, which is no failure.
  uint64_t value(uint64_t map, const char *key) {
    uint64_t handle = 0;
    if (error_ || api_.metadata_lookup(map, key, &handle) != 0)
      return 0;
    made_.push_back({api_.destroy_metadata, handle});
    return handle;
  }
  std::string text(uint64_t node) {
    size_t bytes = 0;
    if (!node || error_ || api_.get_metadata_string(node, &bytes, nullptr) != 0)
      return "";
    std::string text(bytes, '\0');
    return api_.get_metadata_string(node, &bytes, text.data()) == 0 ? trimmed(text) : "";
  }
  int number(uint64_t node) {
    std::string digits = text(node);
    int value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
  }
  /// The first result of a kind, as bytes; empty if there is none.
  std::vector<char> result(uint64_t set, DataKind kind) {
    size_t count = 0, bytes = 0;
    if (api_.action_data_count(set, kind, &count) != 0 || count == 0)
      return {};
    uint64_t handle = 0;
    if (api_.action_data_get_data(set, kind, 0, &handle) != 0)
      return {};
    made_.push_back({api_.release_data, handle});
    if (api_.get_data(handle, &bytes, nullptr) != 0)
      return {};
    std::vector<char> out(bytes);
    return api_.get_data(handle, &bytes, out.data()) == 0 ? out : std::vector<char>();
  }

  template <class Body> void check(const char *call, const Body &body) {
    if (error_)
      return;
    if (int status = body())
      error_ = comgr_.failure(status, call);
  }
  const std::optional<Error> &error() const { return error_; }

private:
  template <class Make>
  uint64_t keep(int (*release)(uint64_t), const char *call, const Make &make) {
    uint64_t handle = 0;
    check(call, [&] { return make(&handle); });
    if (!error_)
      made_.push_back({release, handle});
    return handle;
  }
  struct Made {
    int (*release)(uint64_t);
    uint64_t handle;
  };
  const Comgr &comgr_;
  const Api &api_;
  std::vector<Made> made_;
  std::optional<Error> error_;
};

Result<Comgr> Comgr::open(const std::string &file) {
  auto library = SharedLibrary::openRocm(file, Variable::ATTUNE_COMGR_LIBRARY, candidates);
  if (!library)
    return library.error();
  auto api = std::make_shared<Api>();
  api->library = library->path();
  std::string missing;
#define COMGR_FUNCTION(NAME, RESULT, PARAMETERS)                                                   \
  api->NAME = library->function<RESULT(*) PARAMETERS>("amd_comgr_" #NAME);                         \
  if (!api->NAME)                                                                                  \
    missing += " amd_comgr_" #NAME;
#include "runtime/comgr/ComgrApi.def"
  if (!missing.empty())
    return Error{ErrorCode::Unsupported,
                 fmt::format("{} is no comgr of version {} to {}: it lacks{}", api->library,
                             oldestMajor, newestMajor, missing)};
  api->get_version(&api->major, &api->minor);
  Comgr comgr;
  comgr.api_ = api;
  if (api->major < oldestMajor || api->major > newestMajor)
    return Error{ErrorCode::Unsupported, fmt::format("{}: comgr {} to {} are known", comgr.name(),
                                                     oldestMajor, newestMajor)};
  if (auto read = comgr.readProcessors(); !read)
    return read.error();
  return comgr;
}

std::string Comgr::name() const {
  return fmt::format("comgr {}.{} ({})", api_->major, api_->minor, api_->library);
}

Error Comgr::failure(int status, const std::string &call) const {
  const char *text = nullptr;
  api_->status_string(status, &text);
  return {ErrorCode::Device,
          fmt::format("{}: amd_comgr_{}: {}", name(), call, text ? text : "unknown error")};
}

Result<void> Comgr::readProcessors() {
  size_t count = 0;
  if (int status = api_->get_isa_count(&count))
    return failure(status, "get_isa_count");
  std::set<std::string> found;
  for (size_t i = 0; i < count; ++i) {
    const char *isa = nullptr;
    if (int status = api_->get_isa_name(i, &isa))
      return failure(status, "get_isa_name");
    std::string_view id = isa;
    if (id.starts_with(isaPrefix))
      id.remove_prefix(isaPrefix.size());
    found.emplace(id.substr(0, id.find(':')));
  }
  processors_.assign(found.begin(), found.end());
  return {};
}

bool Comgr::knows(const std::string &processor) const {
  return std::ranges::binary_search(processors_, processor);
}

Result<CodeObjectTarget> Comgr::accept(std::span<const uint8_t> bytes) const {
  auto target = readCodeObjectTarget(bytes);
  if (target && !knows(target->id.processor))
    return Error{ErrorCode::Unsupported,
                 fmt::format("comgr {}.{} knows no {}; it knows: {} ({})", api_->major, api_->minor,
                             target->id.processor, fmt::join(processors_, ", "), api_->library)};
  return target;
}

Result<std::vector<uint8_t>> Comgr::link(std::span<const uint8_t> relocatable) const {
  auto target = accept(relocatable);
  if (!target)
    return target.error();
  if (target->linked)
    return Error{ErrorCode::InvalidArgument, "code object: it is linked already"};
  std::lock_guard lock(comgrMutex());
  return isolated(fmt::format("{} linking for {}", name(), target->id.text()),
                  [&] { return linkHere(relocatable, target->id); });
}

Result<std::vector<uint8_t>> Comgr::linkHere(std::span<const uint8_t> relocatable,
                                             const TargetId &id) const {
  Objects objects(*this);
  uint64_t input = objects.set(), output = objects.set(), info = objects.info();
  uint64_t data = objects.data(Relocatable, relocatable);
  std::string isa = std::string(isaPrefix) + id.text();
  objects.check("data_set_add", [&] { return api_->data_set_add(input, data); });
  objects.check("action_info_set_isa_name",
                [&] { return api_->action_info_set_isa_name(info, isa.c_str()); });
  objects.check("action_info_set_logging",
                [&] { return api_->action_info_set_logging(info, true); });
  if (objects.error())
    return *objects.error();
  objects.check("do_action",
                [&] { return api_->do_action(linkAction(api_->major), info, input, output); });
  std::vector<char> linked = objects.result(output, Executable);
  if (objects.error() || linked.empty()) {
    std::vector<char> log = objects.result(output, Log);
    return Error{ErrorCode::Device, fmt::format("{} does not link this object for {}: {}", name(),
                                                id.text(), trimmed({log.begin(), log.end()}))};
  }
  return std::vector<uint8_t>(linked.begin(), linked.end());
}

Result<std::vector<KernelMetadata>> Comgr::kernels(std::span<const uint8_t> codeObject) const {
  auto target = accept(codeObject);
  if (!target)
    return target.error();
  std::lock_guard lock(comgrMutex());
  auto read = isolated(name() + " reading metadata", [&]() -> Result<Bytes> {
    auto kernels = kernelsHere(codeObject, target->linked);
    return kernels ? Result<Bytes>(toBytes(*kernels)) : kernels.error();
  });
  return read ? Result<std::vector<KernelMetadata>>(fromBytes(*read)) : read.error();
}

Result<std::vector<KernelMetadata>> Comgr::kernelsHere(std::span<const uint8_t> codeObject,
                                                       bool linked) const {
  Objects objects(*this);
  uint64_t root = objects.metadata(objects.data(linked ? Executable : Relocatable, codeObject));
  uint64_t list = objects.value(root, "amdhsa.kernels");
  size_t count = 0;
  if (list)
    objects.check("get_metadata_list_size",
                  [&] { return api_->get_metadata_list_size(list, &count); });
  std::vector<KernelMetadata> kernels;
  for (size_t i = 0; i < count && !objects.error(); ++i) {
    uint64_t map = objects.item(list, i);
    auto number = [&](const char *key) { return objects.number(objects.value(map, key)); };
    kernels.push_back({.name = objects.text(objects.value(map, ".name")),
                       .kernargBytes = number(".kernarg_segment_size"),
                       .vgprs = number(".vgpr_count"),
                       .agprs = number(".agpr_count"),
                       .sgprs = number(".sgpr_count"),
                       .ldsBytes = number(".group_segment_fixed_size"),
                       .scratchBytes = number(".private_segment_fixed_size"),
                       .maxThreads = number(".max_flat_workgroup_size")});
  }
  if (objects.error())
    return *objects.error();
  return kernels;
}

} // namespace attune
