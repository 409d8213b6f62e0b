// From JSON to plain data. What needs the buffers' contents or the code object is checked in
// Exec.cpp.
#include "runtime/exec/LaunchFile.h"
#include "runtime/exec/JsonFields.h"
#include "runtime/launch/File.h"
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

namespace attune::exec {

using nlohmann::json;

namespace {

struct KindRow {
  ArgKind kind;
  std::string_view name;
  uint32_t bytes;
};
constexpr KindRow kinds[] = {
#define ARG_KIND(ENUM, NAME, BYTES) {ArgKind::ENUM, NAME, BYTES},
#include "runtime/exec/ArgKinds.def"
};

constexpr uint64_t maxBuffer = uint64_t(1) << 46; // what sim::Memory can give out
constexpr uint32_t maxKernarg = 1u << 16;
constexpr uint32_t maxGrid = 0x7fffffff, maxBlock = 1024, maxLds = 160 * 1024;
constexpr size_t maxRank = 32; // numpy's
constexpr uint32_t scalarAlignment = 4;

const KindRow &rowOf(ArgKind kind) { return kinds[size_t(kind)]; }

template <class T> std::vector<uint8_t> bytesOf(T value) {
  std::vector<uint8_t> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

template <class T>
std::vector<uint8_t> wholeValue(Fields &fields, const json &value, std::string_view kind) {
  using Limits = std::numeric_limits<T>;
  bool fits = false;
  if (value.is_number_unsigned())
    fits = value.get<uint64_t>() <= uint64_t(Limits::max());
  else if (value.is_number_integer())
    fits = std::is_signed_v<T> && value.get<int64_t>() >= int64_t(Limits::min());
  if (!fits)
    fields.wrong("value", fmt::format("{} is not a whole number from {} to {}, as {} holds",
                                      shown(value), Limits::min(), Limits::max(), kind));
  return bytesOf(fits ? value.get<T>() : T());
}

template <class T>
std::vector<uint8_t> floatValue(Fields &fields, const json &value, std::string_view kind) {
  double number = 0;
  if (value.is_number())
    number = value.get<double>();
  else if (value == "nan")
    number = std::numeric_limits<double>::quiet_NaN();
  else if (value == "inf" || value == "-inf")
    number = (value == "inf" ? 1 : -1) * std::numeric_limits<double>::infinity();
  else
    fields.wrong("value",
                 fmt::format("{} is not a number, \"inf\", \"-inf\" or \"nan\"", shown(value)));
  T rounded = T(number);
  if (std::isinf(rounded) && !std::isinf(number))
    fields.wrong("value", fmt::format("{} does not fit {}, whose largest number is {}; write "
                                      "\"inf\" for infinity",
                                      shown(value), kind, std::numeric_limits<T>::max()));
  return bytesOf(rounded);
}

std::vector<uint8_t> hexValue(Fields &fields, const json &value) {
  auto bytes = value.is_string() ? hexBytes(value.get<std::string>()) : std::nullopt;
  if (!bytes || bytes->size() > maxKernarg) {
    fields.wrong("value", fmt::format("{} is not a string of 1 to {} bytes in hex, like \"00 1f\"",
                                      shown(value), maxKernarg));
    return {0};
  }
  return *bytes;
}

class Parser {
public:
  Parser(std::string_view text, const std::string &path) : problem_(path), text_(text) {
    file_.path = path;
    file_.folder = std::filesystem::path(path).parent_path().string();
  }

  Result<LaunchFile> parse() {
    if (auto root = parseJson(text_, problem_))
      readRoot(*root);
    if (problem_.error())
      return *problem_.error();
    return std::move(file_);
  }

private:
  void readRoot(const json &root) {
    Fields fields(root, "", "a launch file", problem_);
    file_.kernel = fields.text("kernel").value_or("");
    readExtents(fields, "grid", maxGrid, file_.grid);
    readExtents(fields, "block", maxBlock, file_.block);
    checkThreads(fields);
    file_.dynamicLds = uint32_t(fields.integer("dynamic_lds", 0, maxLds).value_or(0));
    const json *args = fields.find("args");
    if (!args)
      fields.missing("args", "\"args\": []");
    else if (!args->is_array())
      fields.wrong("args", fmt::format("{} is not a list", shown(*args)));
    else
      readArgs(*args);
    fields.finish();
  }

  void readExtents(Fields &fields, const char *key, uint32_t most, std::array<uint32_t, 3> &out) {
    if (!fields.has(key))
      fields.missing(key, fmt::format("\"{}\": [64, 1, 1]", key));
    auto list = fields.integers(key, 1, 3, 1, most);
    for (size_t i = 0; list && i < list->size(); ++i)
      out[i] = uint32_t((*list)[i]);
  }

  /// A dispatch packet holds each extent of the grid in threads, as 32 bits.
  void checkThreads(Fields &fields) {
    for (size_t i = 0; i < file_.grid.size(); ++i)
      if (const uint64_t most = std::numeric_limits<uint32_t>::max() / file_.block[i];
          file_.grid[i] > most)
        fields.wrong(fmt::format("grid[{}]", i),
                     fmt::format("{} workgroups of {} threads are more than the 2^32 - 1 threads "
                                 "that a dispatch holds; at most {}",
                                 file_.grid[i], file_.block[i], most));
  }

  void readArgs(const json &list) {
    for (size_t i = 0; i < list.size(); ++i) {
      std::string path = fmt::format("args[{}]", i);
      Arg arg;
      if (!readKind(list[i], path, arg))
        return;
      Fields fields(list[i], path, fmt::format("an argument of kind {}", nameOf(arg.kind)),
                    problem_);
      fields.find("kind");
      arg.name = fields.text("name").value_or("");
      if (arg.kind == ArgKind::Buffer)
        readBuffer(fields, arg);
      else
        readValue(fields, arg);
      place(fields, arg);
      fields.finish();
      file_.args.push_back(std::move(arg));
    }
    resolveNames(list);
    checkOverlaps();
  }

  bool readKind(const json &value, const std::string &path, Arg &arg) {
    std::vector<std::string_view> names;
    Fields fields(value, path, "an argument", problem_);
    auto kind = fields.text("kind");
    for (const KindRow &row : kinds) {
      names.push_back(row.name);
      if (row.name == kind) {
        arg.kind = row.kind;
        return true;
      }
    }
    if (!fields.has("kind"))
      fields.missing("kind", "\"kind\": \"i32\"");
    fields.wrong("kind", fmt::format("no kind is called {}; kinds: {}", kind.value_or("?"),
                                     fmt::join(names, ", ")));
    return false;
  }

  void readValue(Fields &fields, Arg &arg) {
    const json *value = fields.find("value");
    std::string_view kind = nameOf(arg.kind);
    if (!value) {
      fields.missing("value", arg.kind == ArgKind::Bytes ? "\"value\": \"00 1f\"" : "\"value\": 1");
      arg.value.resize(std::max(rowOf(arg.kind).bytes, 1u));
      return;
    }
    switch (arg.kind) {
    case ArgKind::I32:
      arg.value = wholeValue<int32_t>(fields, *value, kind);
      break;
    case ArgKind::U32:
      arg.value = wholeValue<uint32_t>(fields, *value, kind);
      break;
    case ArgKind::I64:
      arg.value = wholeValue<int64_t>(fields, *value, kind);
      break;
    case ArgKind::U64:
      arg.value = wholeValue<uint64_t>(fields, *value, kind);
      break;
    case ArgKind::F32:
      arg.value = floatValue<float>(fields, *value, kind);
      break;
    case ArgKind::F64:
      arg.value = floatValue<double>(fields, *value, kind);
      break;
    case ArgKind::Bytes:
      arg.value = hexValue(fields, *value);
      break;
    case ArgKind::Buffer: // readBuffer
      break;
    }
  }

  void readBuffer(Fields &fields, Arg &arg) {
    BufferSpec &b = arg.buffer;
    arg.value.resize(rowOf(ArgKind::Buffer).bytes);
    b.file = fields.text("file").value_or("");
    auto size = fields.integer("size", 1, maxBuffer), claim = fields.integer("claim", 1, maxBuffer);
    b.bytes = size ? *size : claim.value_or(0);
    bool file = fields.has("file"), fill = fields.has("fill"), same = fields.has("same_as");
    fields.text("same_as"); // resolved when all names are known
    readBase(fields, b);
    if (same && fields.has("base"))
      fields.wrong("base", "the buffer lies where its owner does; move base there");
    else if (same && (file || fields.has("size") || fields.has("claim")))
      fields.wrong("same_as", "the buffer has its owner's size and contents; remove file, size and "
                              "claim");
    else if (fields.has("size") && (file || fields.has("claim")))
      fields.wrong("size", "file says the size already; to make the buffer larger than the file, "
                           "use claim");
    else if (!same && !file && !fields.has("size") && !fields.has("claim"))
      fields.missing("size, file, claim or same_as", "\"size\": 4096");
    if (fill && !fields.has("size"))
      fields.wrong("fill", "fill goes with size; a file has contents, a claimed buffer is left "
                           "untouched, one that is the same as another has that one's");
    else if (fill)
      readFill(fields, b);
    b.at = fields.integer("at", 0, maxBuffer).value_or(0);
    readOutput(fields, b);
  }

  void readBase(Fields &fields, BufferSpec &b) {
    auto text = fields.text("base");
    if (!text)
      return;
    uint64_t address = 0;
    const char *digits = text->data() + 2, *end = text->data() + text->size();
    if (text->size() > 2 && text->starts_with("0x"))
      if (auto [stop, failed] = std::from_chars(digits, end, address, 16);
          failed == std::errc() && stop == end) {
        b.base = address;
        return;
      }
    fields.wrong("base",
                 fmt::format("\"{}\" is not an address in hex, like \"0x7f0000000000\"", *text));
  }

  void readFill(Fields &fields, BufferSpec &b) {
    const json &fill = *fields.find("fill");
    if (fill == "uninitialised")
      return;
    std::optional<std::vector<uint8_t>> pattern;
    if (fill.is_number_unsigned() && fill.get<uint64_t>() < 256)
      pattern = {fill.get<uint8_t>()};
    else if (fill.is_string())
      pattern = hexBytes(fill.get<std::string>());
    if (!pattern)
      return fields.wrong("fill", fmt::format("{} is not a byte from 0 to 255, bytes in hex like "
                                              "\"0000803f\", or \"uninitialised\"",
                                              shown(fill)));
    if (b.bytes % pattern->size())
      return fields.wrong("fill", fmt::format("a pattern of {} bytes does not divide the size, {}",
                                              pattern->size(), b.bytes));
    b.fill = *pattern;
  }

  void readOutput(Fields &fields, BufferSpec &b) {
    auto path = fields.text("out"), dtype = fields.text("dtype");
    auto shape = fields.integers("shape", 0, maxRank, 0, maxBuffer);
    if (!fields.has("out")) {
      for (const char *key : {"dtype", "shape"})
        if (fields.has(key))
          fields.wrong(key, "describes the output file; add \"out\", or remove it");
      return;
    }
    b.out = OutputSpec{path.value_or(""), {}, {}};
    if (fields.has("dtype") != fields.has("shape"))
      fields.wrong("out", "dtype and shape go together; give both or none");
    if (dtype && !(b.out->dtype = dtypeFromName(*dtype)))
      fields.wrong("dtype", fmt::format("no type is called {}; types: bf16, bool, f32, fp16, i16, "
                                        "i32, i64, i8, u8",
                                        *dtype));
    if (shape)
      b.out->shape = Shape(shape->begin(), shape->end());
  }

  /// The argument's offset: given, or the next one that its kind may have.
  void place(Fields &fields, Arg &arg) {
    uint32_t size = uint32_t(arg.value.size()), align = std::max(rowOf(arg.kind).bytes, 1u);
    uint32_t next = 0;
    if (!file_.args.empty()) {
      const Arg &last = file_.args.back();
      next = last.offset + uint32_t(last.value.size());
    }
    next = (next + align - 1) / align * align;
    auto given = fields.integer("offset", 0, maxKernarg);
    arg.offset = uint32_t(given.value_or(next));
    if (align > 1 && arg.offset % scalarAlignment)
      fields.wrong("offset",
                   fmt::format("{} is no multiple of {}, as scalar loads need; nearest: {}",
                               arg.offset, scalarAlignment,
                               arg.offset / scalarAlignment * scalarAlignment));
    if (arg.offset + size > maxKernarg)
      fields.wrong("offset", fmt::format("the argument ends at byte {}; kernel arguments have at "
                                         "most {}",
                                         arg.offset + size, maxKernarg));
  }

  void resolveNames(const json &list) {
    std::map<std::string, size_t> byName;
    for (size_t i = 0; i < file_.args.size(); ++i) {
      const std::string &name = file_.args[i].name;
      if (!name.empty() && !byName.emplace(name, i).second)
        problem_.add(fmt::format("args[{}].name", i),
                     fmt::format("args[{}] is called \"{}\" already", byName[name], name));
    }
    for (size_t i = 0; i < file_.args.size(); ++i) {
      Arg &arg = file_.args[i];
      if (arg.kind != ArgKind::Buffer || !list[i].contains("same_as") ||
          !list[i]["same_as"].is_string())
        continue;
      auto owner = byName.find(list[i]["same_as"].get<std::string>());
      if (owner != byName.end() && list[owner->second].value("kind", "") == "buffer" &&
          !list[owner->second].contains("same_as"))
        arg.buffer.sameAs = owner->second;
      else
        problem_.add(fmt::format("args[{}].same_as", i),
                     fmt::format("{} is not the name of a buffer with contents of its own; {}",
                                 shown(list[i]["same_as"]), ownerNames(list)));
    }
  }

  std::string ownerNames(const json &list) const {
    std::vector<std::string> names;
    for (size_t i = 0; i < file_.args.size(); ++i)
      if (file_.args[i].kind == ArgKind::Buffer && !file_.args[i].name.empty() &&
          !list[i].contains("same_as"))
        names.push_back(file_.args[i].name);
    return names.empty() ? "give one a \"name\"" : fmt::format("those: {}", fmt::join(names, ", "));
  }

  void checkOverlaps() {
    std::map<uint32_t, size_t> byOffset;
    for (size_t i = 0; i < file_.args.size(); ++i) {
      const Arg &arg = file_.args[i];
      auto [at, fresh] = byOffset.emplace(arg.offset, i);
      auto next = fresh ? std::next(at) : at;
      size_t other = file_.args.size();
      if (next != byOffset.end() && arg.offset + arg.value.size() > next->first)
        other = next->second;
      if (fresh && at != byOffset.begin())
        if (const Arg &before = file_.args[std::prev(at)->second];
            before.offset + before.value.size() > arg.offset)
          other = std::prev(at)->second;
      if (other < file_.args.size()) {
        const Arg &a = file_.args[other];
        problem_.add(fmt::format("args[{}].offset", i),
                     fmt::format("bytes {} to {} overlap args[{}], which has {} to {}", arg.offset,
                                 arg.offset + arg.value.size() - 1, other, a.offset,
                                 a.offset + a.value.size() - 1));
      }
    }
  }

  Problem problem_;
  std::string_view text_;
  LaunchFile file_;
};

} // namespace

std::string_view nameOf(ArgKind kind) { return rowOf(kind).name; }

Error LaunchFile::error(size_t arg, std::string_view key, std::string_view what,
                        ErrorCode code) const {
  return {code, fmt::format("{}: args[{}].{}: {}", path, arg, key, what)};
}

std::string LaunchFile::resolved(const std::string &file) const {
  return (std::filesystem::path(folder) / file).string();
}

Result<LaunchFile> parseLaunch(std::string_view text, const std::string &path) {
  return Parser(text, path).parse();
}

Result<LaunchFile> readLaunch(const std::string &path) {
  auto bytes = readFile(path);
  if (!bytes)
    return bytes.error();
  return parseLaunch({reinterpret_cast<const char *>(bytes->data()), bytes->size()}, path);
}

} // namespace attune::exec
