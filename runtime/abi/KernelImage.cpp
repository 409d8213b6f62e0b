// The sidecar as JSON. Each struct's fields are named once, in a `describe` that runs in two
// directions: a Writer turns them into JSON, a Reader takes them out of JSON and checks them.
// Reading is strict: a missing, unknown, mistyped or out-of-range field is an error that names its
// path ("kernel.args[3].offset"), because a sidecar is read from disk and a launcher writes kernel
// arguments where it says.
#include "runtime/abi/KernelImage.h"
#include "runtime/abi/Digest.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

namespace attune {

namespace {

using Json = nlohmann::ordered_json;

constexpr int formatVersion = 1;

template <class Enum> using EnumNames = std::vector<std::pair<Enum, std::string_view>>;

const EnumNames<Storage> &namesOf(Storage) {
  static const EnumNames<Storage> names = {{Storage::Dense, "dense"}, {Storage::Varlen, "varlen"}};
  return names;
}
const EnumNames<LseKind> &namesOf(LseKind) {
  static const EnumNames<LseKind> names = {
      {LseKind::None, "none"}, {LseKind::Natural, "natural"}, {LseKind::Base2, "base2"}};
  return names;
}
const EnumNames<DType> &namesOf(DType) {
  static const EnumNames<DType> names = [] {
    EnumNames<DType> all;
    for (DType t : {DType::F32, DType::F16, DType::BF16, DType::I64, DType::I32, DType::I16,
                    DType::I8, DType::U8, DType::Bool})
      all.emplace_back(t, nameOf(t));
    return all;
  }();
  return names;
}

/// The struct a `describe` sees: const when it is being written.
template <class Io, class T> using Subject = std::conditional_t<Io::reading, T, const T>;

template <class Io> void describe(Io &io, Subject<Io, KernelArg> &a) {
  io("name", a.name), io("kind", a.kind), io("offset", a.offset), io("size", a.size);
}
template <class Io> void describe(Io &io, Subject<Io, CapturedTensor> &t) {
  io("name", t.name), io("dtype", t.dtype), io("dims", t.dims);
}
template <class Io> void describe(Io &io, Subject<Io, CapturedScalar> &s) {
  io("name", s.name), io("dtype", s.dtype);
}
template <class Io> void describe(Io &io, Subject<Io, ProblemShape> &p) {
  io("spec_name", p.specName), io("q_storage", p.qStorage), io("kv_storage", p.kvStorage);
  io("dtype", p.dtype), io("out_dtype", p.outDtype);
  io("num_q_heads", p.numQHeads), io("num_kv_heads", p.numKvHeads);
  io("head_dim", p.headDim), io("v_head_dim", p.vHeadDim);
  io("lse", p.lse), io("has_sink", p.hasSink), io("tensors", p.tensors), io("scalars", p.scalars);
}
template <class Io> void describe(Io &io, Subject<Io, Resources> &r) {
  io("vgpr", r.vgpr), io("agpr", r.agpr), io("sgpr", r.sgpr);
  io("lds_bytes", r.ldsBytes), io("scratch_bytes", r.scratchBytes);
  io("vgpr_spills", r.vgprSpills), io("sgpr_spills", r.sgprSpills), io("occupancy", r.occupancy);
}
template <class Io> void describe(Io &io, Subject<Io, GridFormula> &g) {
  io("block_m", g.blockM), io("workgroup_threads", g.workgroupThreads);
}
template <class Io> void describe(Io &io, Subject<Io, KernelReport> &k) {
  io("name", k.name), io("args", k.args), io("kernarg_bytes", k.kernargBytes);
  io("abi_fingerprint", k.abiFingerprint), io("grid", k.grid);
  io("workspace_bytes", k.workspaceBytes), io("resources", k.resources);
}
template <class Io> void describe(Io &io, Subject<Io, Sidecar> &s) {
  io("problem", s.problem), io("arch", s.arch), io("spec_digest", s.specDigest), io("plan", s.plan);
  io("llvm_version", s.llvmVersion), io("kernel", s.kernel), io("compile_ms", s.compileMs);
}

class Writer {
public:
  static constexpr bool reading = false;
  Json object = Json::object();

  template <class T> void operator()(const char *name, const T &value) {
    object[name] = json(value);
  }

private:
  template <class T> static Json json(const T &value) {
    if constexpr (std::is_enum_v<T>) {
      for (auto &[v, name] : namesOf(value))
        if (v == value)
          return std::string(name);
      return nullptr;
    } else if constexpr (std::is_floating_point_v<T>) {
      return std::isfinite(value) ? Json(value) : Json(0.0);
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return value;
    } else {
      Writer nested;
      describe(nested, value);
      return nested.object;
    }
  }
  template <class T> static Json json(const std::vector<T> &values) {
    Json list = Json::array();
    for (const T &v : values)
      list.push_back(json(v));
    return list;
  }
};

/// Reads one object. The first fault is kept in `fault` and everything after it is skipped.
class Reader {
public:
  static constexpr bool reading = true;

  Reader(const Json &object, std::string path, std::string &fault)
      : object_(object), path_(std::move(path)), fault_(fault) {
    if (!object_.is_object())
      fail(path_, "is not an object");
  }

  template <class T> void operator()(const char *name, T &out) {
    known_.push_back(name);
    if (!fault_.empty())
      return;
    auto it = object_.find(name);
    if (it == object_.end())
      return fail(join(name), "is missing");
    take(*it, join(name), out);
  }

  /// To be called after `describe`: whatever it did not name does not belong here.
  void refuseUnknown() {
    if (!fault_.empty())
      return;
    for (auto &item : object_.items())
      if (std::find(known_.begin(), known_.end(), item.key()) == known_.end())
        return fail(join(item.key()), "is not a field of this format");
  }

private:
  std::string join(std::string_view name) const {
    return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
  }
  void fail(const std::string &path, std::string_view what) {
    if (fault_.empty())
      fault_ = fmt::format("{} {}", path.empty() ? "the file" : path, what);
  }

  void take(const Json &j, const std::string &path, std::string &out) {
    if (!j.is_string())
      return fail(path, "is not a string");
    out = j.get<std::string>();
  }
  void take(const Json &j, const std::string &path, bool &out) {
    if (!j.is_boolean())
      return fail(path, "is not true or false");
    out = j.get<bool>();
  }
  void take(const Json &j, const std::string &path, double &out) {
    if (!j.is_number())
      return fail(path, "is not a number");
    out = j.get<double>();
  }
  template <class T> void takeInteger(const Json &j, const std::string &path, T &out) {
    constexpr uint64_t limit = std::numeric_limits<T>::max();
    if (!j.is_number_unsigned())
      return fail(path, "is not a non-negative integer");
    if (j.get<uint64_t>() > limit)
      return fail(path, fmt::format("is {}, above the limit {}", j.get<uint64_t>(), limit));
    out = T(j.get<uint64_t>());
  }
  template <class T> void takeEnum(const Json &j, const std::string &path, T &out) {
    std::string text, allowed;
    take(j, path, text);
    for (auto &[value, name] : namesOf(T{})) {
      if (name == text)
        out = value;
      allowed += (allowed.empty() ? "" : ", ") + std::string(name);
      if (name == text)
        return;
    }
    fail(path, fmt::format("is \"{}\", allowed: {}", text, allowed));
  }
  template <class T> void take(const Json &j, const std::string &path, T &out) {
    if constexpr (std::is_enum_v<T>) {
      takeEnum(j, path, out);
    } else if constexpr (std::is_integral_v<T>) {
      takeInteger(j, path, out);
    } else {
      Reader nested(j, path, fault_);
      describe(nested, out);
      nested.refuseUnknown();
    }
  }
  template <class T> void take(const Json &j, const std::string &path, std::vector<T> &out) {
    if (!j.is_array())
      return fail(path, "is not a list");
    out.assign(j.size(), T{});
    for (size_t i = 0; i < j.size() && fault_.empty(); ++i)
      take(j[i], fmt::format("{}[{}]", path, i), out[i]);
  }

  const Json &object_;
  std::string path_;
  std::string &fault_;
  std::vector<std::string_view> known_;
};

/// Bytes of an argument kind; 0 if there is no such kind.
uint32_t sizeOfKind(std::string_view kind) {
  if (kind == "ptr" || kind == "i64")
    return 8;
  return kind == "i32" || kind == "f32" ? 4 : 0;
}

/// What is wrong with the argument list, or "": a launcher writes at these offsets.
std::string argumentFault(const KernelReport &kernel) {
  for (size_t i = 0; i < kernel.args.size(); ++i) {
    const KernelArg &a = kernel.args[i];
    const uint32_t size = sizeOfKind(a.kind);
    const std::string path = fmt::format("kernel.args[{}] ({})", i, a.name);
    if (!size)
      return fmt::format("{}: kind is \"{}\", allowed: ptr, i64, i32, f32", path, a.kind);
    if (a.size != size)
      return fmt::format("{}: size is {}; {} takes {} bytes", path, a.size, a.kind, size);
    if (a.offset % size)
      return fmt::format("{}: offset {} is not a multiple of {}", path, a.offset, size);
    if (uint64_t(a.offset) + a.size > kernel.kernargBytes)
      return fmt::format("{}: offset {} + {} bytes is past kernarg_bytes = {}", path, a.offset,
                         a.size, kernel.kernargBytes);
  }
  return "";
}

} // namespace

std::string toJson(const Sidecar &sidecar) {
  Writer writer;
  writer("format", formatVersion);
  describe(writer, sidecar);
  // Names come from spec texts and file names: bytes that are not UTF-8 are replaced, not thrown
  // about.
  return writer.object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Sidecar> sidecarFromJson(const std::string &text) {
  auto failure = [](const std::string &what) {
    return Error{ErrorCode::InvalidArgument, "sidecar: " + what};
  };
  Json root = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded())
    return failure("the file is not JSON");
  std::string fault;
  Sidecar sidecar;
  Reader reader(root, "", fault);
  int version = 0;
  reader("format", version);
  if (fault.empty() && version != formatVersion)
    fault = fmt::format("format is {}, this version reads {}", version, formatVersion);
  describe(reader, sidecar);
  reader.refuseUnknown();
  if (fault.empty())
    fault = argumentFault(sidecar.kernel);
  if (!fault.empty())
    return failure(fault);
  return sidecar;
}

std::string abiFingerprint(const std::vector<KernelArg> &args) {
  Digest digest;
  for (const KernelArg &a : args)
    digest.bytes(fmt::format("{} {} {} {}\n", a.name, a.kind, a.offset, a.size));
  return digest.hex();
}

} // namespace attune
