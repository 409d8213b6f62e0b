// One numpy array: the header's dict literal and the raw elements after it.
#include "runtime/launch/Npz.h"
#include <cctype>
#include <cstring>
#include <fmt/format.h>
#include <optional>

namespace attune {

namespace {

constexpr std::string_view magic = "\x93NUMPY";
/// Where header and data meet is a multiple of this, so that the data can be mapped.
constexpr size_t headerAlignment = 64;
constexpr size_t maxRank = 32; // numpy's own limit

struct DescrName {
  std::string_view descr;
  DType dtype;
};
/// The first name of a dtype is the one that is written.
constexpr DescrName descrNames[] = {
    {"<f4", DType::F32},  {"<f2", DType::F16}, {"<u2", DType::BF16}, {"<V2", DType::BF16},
    {"|V2", DType::BF16}, {"<i8", DType::I64}, {"<i4", DType::I32},  {"<i2", DType::I16},
    {"|i1", DType::I8},   {"|u1", DType::U8},  {"|b1", DType::Bool},
};

struct Header {
  std::string descr;
  bool fortran = false;
  Shape shape;
};

/// Just enough of Python's literals: a dict of strings, booleans and a tuple of integers.
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  std::optional<Header> parse() {
    Header header;
    bool sawDescr = false, sawOrder = false, sawShape = false;
    if (!take('{'))
      return std::nullopt;
    while (!take('}')) {
      auto key = string();
      if (!key || !take(':'))
        return std::nullopt;
      bool ok = false;
      if (*key == "descr")
        ok = sawDescr = takeDescr(header.descr);
      else if (*key == "fortran_order")
        ok = sawOrder = boolean(header.fortran);
      else if (*key == "shape")
        ok = sawShape = tuple(header.shape);
      if (!ok)
        return std::nullopt;
      if (!take(',') && !peek('}'))
        return std::nullopt;
    }
    if (!sawDescr || !sawOrder || !sawShape)
      return std::nullopt;
    return header;
  }

private:
  void space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])))
      ++at_;
  }
  bool peek(char c) {
    space();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool take(char c) {
    if (!peek(c))
      return false;
    ++at_;
    return true;
  }
  std::optional<std::string> string() {
    char quote = peek('\'') ? '\'' : '"';
    if (!take(quote))
      return std::nullopt;
    size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos)
      return std::nullopt;
    std::string value(text_.substr(at_, end - at_));
    at_ = end + 1;
    return value;
  }
  /// A structured array has a list here; it is refused later, by its text.
  bool takeDescr(std::string &out) {
    if (peek('[')) {
      out = "a structured type";
      size_t end = text_.find(']', at_);
      at_ = end == std::string_view::npos ? text_.size() : end + 1;
      return true;
    }
    auto value = string();
    out = value.value_or("");
    return value.has_value();
  }
  bool boolean(bool &out) {
    space();
    for (auto [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        out = value;
        return true;
      }
    return false;
  }
  bool tuple(Shape &out) {
    if (!take('('))
      return false;
    while (!take(')')) {
      int64_t value = 0;
      if (out.size() == maxRank || !integer(value))
        return false;
      out.push_back(value);
      if (!take(',') && !peek(')'))
        return false;
    }
    return true;
  }
  bool integer(int64_t &out) {
    space();
    size_t first = at_;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
      if (__builtin_mul_overflow(out, 10, &out) ||
          __builtin_add_overflow(out, text_[at_] - '0', &out))
        return false;
      ++at_;
    }
    take('L'); // Python 2 wrote long integers so
    return at_ > first;
  }

  std::string_view text_;
  size_t at_ = 0;
};

Error bad(std::string_view name, std::string what) {
  return {ErrorCode::Io, fmt::format("{}: {}", name, what)};
}

Result<DType> dtypeOf(std::string_view descr, std::string_view name) {
  for (const DescrName &d : descrNames)
    if (d.descr == descr)
      return d.dtype;
  std::string help = "readable types are float32, float16, bf16 as uint16, int64, int32, int16, "
                     "int8, uint8 and bool, little-endian";
  if (descr == "<f8")
    help = "save it as float32 (numpy: x.astype('float32'))";
  else if (descr == "<u4" || descr == "<u8")
    help = "save it as int32 or int64";
  return Error{ErrorCode::Unsupported, fmt::format("{}: element type {}; {}", name, descr, help)};
}

/// Bytes that the elements take, or nothing if that number does not fit.
std::optional<uint64_t> byteSize(const Shape &shape, DType dtype) {
  uint64_t bytes = sizeOf(dtype);
  for (int64_t extent : shape)
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes))
      return std::nullopt;
  return bytes;
}

Shape fortranStrides(const Shape &shape) {
  Shape strides(shape.size(), 1);
  for (size_t d = 1; d < shape.size(); ++d)
    strides[d] = strides[d - 1] * std::max<int64_t>(shape[d - 1], 1);
  return strides;
}

struct Split {
  std::string_view header;
  std::span<const uint8_t> data;
};

Result<Split> splitHeader(std::span<const uint8_t> bytes, std::string_view name) {
  if (bytes.size() < magic.size() + 4 || std::memcmp(bytes.data(), magic.data(), magic.size()) != 0)
    return bad(name, "not a .npy file");
  int version = bytes[6];
  size_t lengthBytes = version == 1 ? 2 : 4;
  if (version < 1 || version > 3)
    return bad(name, fmt::format(".npy version {}; versions 1 to 3 exist", version));
  size_t start = 8 + lengthBytes;
  if (bytes.size() < start)
    return bad(name, "the .npy header is cut short");
  size_t length = 0;
  for (size_t i = 0; i < lengthBytes; ++i)
    length |= static_cast<size_t>(bytes[8 + i]) << (8 * i);
  if (length > bytes.size() - start)
    return bad(name, "the .npy header is cut short");
  return Split{{reinterpret_cast<const char *>(bytes.data()) + start, length},
               bytes.subspan(start + length)};
}

} // namespace

Result<HostTensor> parseNpy(std::span<const uint8_t> bytes, std::string_view name) {
  auto split = splitHeader(bytes, name);
  if (!split)
    return split.error();
  auto header = HeaderParser(split->header).parse();
  if (!header)
    return bad(name, "the .npy header is not a dict of descr, fortran_order and shape");
  auto dtype = dtypeOf(header->descr, name);
  if (!dtype)
    return dtype.error();
  auto size = byteSize(header->shape, *dtype);
  if (!size || *size != split->data.size())
    return bad(name,
               fmt::format("{} needs {} bytes, the file has {}", describe(*dtype, header->shape),
                           size ? std::to_string(*size) : "too many", split->data.size()));
  HostTensor tensor{*dtype, header->shape, packedStrides(header->shape), 0, {}};
  tensor.storage.assign(split->data.begin(), split->data.end());
  if (!header->fortran)
    return tensor;
  tensor.strides = fortranStrides(tensor.shape);
  return toPacked(tensor);
}

Bytes formatNpy(const HostTensor &tensor) {
  std::string_view descr;
  for (const DescrName &d : descrNames)
    if (d.dtype == tensor.dtype && descr.empty())
      descr = d.descr;
  std::string shape;
  for (int64_t extent : tensor.shape)
    shape += fmt::format("{},", extent);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  size_t prefix = magic.size() + 4;
  size_t used = prefix + header.size() + 1;
  header.append((headerAlignment - used % headerAlignment) % headerAlignment, ' ');
  header += '\n';
  std::string text(magic);
  for (size_t byte : {size_t(1), size_t(0), header.size() & 0xFF, header.size() >> 8})
    text += static_cast<char>(byte); // version 1.0, length of the header
  text += header;
  Bytes out(text.begin(), text.end());
  HostTensor packed = toPacked(tensor);
  out.insert(out.end(), packed.storage.begin(), packed.storage.end());
  return out;
}

} // namespace attune
