// Writing: kernels in the order of their keys, each code object once, numbers only.
#include "runtime/bundle/Bundle.h"
#include "runtime/bundle/Format.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <type_traits>

namespace attune::bundle {

namespace {

using Bytes = std::vector<uint8_t>;

/// Gathers rows and bodies; offsets are relative until finish() knows how long the tables are.
class Writer {
public:
  Result<void> add(const RawDigest &key, const Entry &entry) {
    auto fields = cache::parseKey(entry.keyText);
    const auto buildFree = fields ? buildFreeDigest(*fields) : std::nullopt;
    if (!buildFree)
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("{}: its key names nothing but who built it", entry.label)};
    auto object = objectNumber(entry.image.codeObject);
    if (!object)
      return object.error();
    Sidecar sidecar = entry.image.sidecar;
    sidecar.compileMs = 0;
    const std::string json = toJson(sidecar);
    Bytes texts;
    for (const std::string *text : {&entry.keyText, &entry.label, &json})
      texts.insert(texts.end(), text->begin(), text->end());
    auto frame = packed(texts);
    if (!frame)
      return frame.error();
    Bytes record;
    put(record, RecordHead{digestOf(textOf(entry.image.codeObject)), uint32_t(entry.keyText.size()),
                           uint32_t(entry.label.size()), uint32_t(json.size()), 0});
    record.insert(record.end(), frame->begin(), frame->end());
    put(record, digestOf(textOf(record)));
    rows_.push_back({key, *buildFree, records_.size(), uint32_t(record.size()), *object});
    records_.insert(records_.end(), record.begin(), record.end());
    return {};
  }

  Bytes finish() {
    const Tables tables(rows_.size(), objectRows_.size());
    Header header{};
    std::memcpy(header.magic, magic.data(), magic.size());
    header.version = formatVersion;
    header.kernels = rows_.size();
    header.objects = objectRows_.size();
    header.fileBytes = tables.end + records_.size() + objects_.size() + sizeof(RawDigest);
    Bytes out;
    out.reserve(header.fileBytes);
    put(out, header);
    for (KernelRow row : rows_)
      row.offset += tables.end, put(out, row);
    for (uint32_t kernel : buildFreeOrder())
      put(out, kernel);
    out.resize(tables.objectRows);
    for (ObjectRow row : objectRows_)
      row.offset += tables.end + records_.size(), put(out, row);
    header.indexCrc = crcOfIndex(out);
    std::memcpy(out.data(), &header, sizeof(header));
    out.insert(out.end(), records_.begin(), records_.end());
    out.insert(out.end(), objects_.begin(), objects_.end());
    put(out, digestOf(textOf(out)));
    return out;
  }

private:
  Result<uint32_t> objectNumber(const Bytes &object) {
    if (object.size() > mostObjectBytes)
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("a code object of {} bytes; a bundle takes up to {}", object.size(),
                               mostObjectBytes)};
    auto [known, isNew] = numbers_.emplace(digestOf(textOf(object)), uint32_t(objectRows_.size()));
    if (!isNew)
      return known->second;
    auto frame = packed(object);
    if (!frame)
      return frame.error();
    objectRows_.push_back({objects_.size(), frame->size(), object.size()});
    objects_.insert(objects_.end(), frame->begin(), frame->end());
    return known->second;
  }

  std::vector<uint32_t> buildFreeOrder() const {
    std::vector<uint32_t> order(rows_.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return std::pair(rows_[a].buildFree, a) < std::pair(rows_[b].buildFree, b);
    });
    return order;
  }

  std::vector<KernelRow> rows_;
  std::vector<ObjectRow> objectRows_;
  std::map<RawDigest, uint32_t> numbers_; ///< code object -> its row
  Bytes records_, objects_;
};

} // namespace

Result<Bytes> writeBundle(std::vector<Entry> entries) {
  std::map<RawDigest, const Entry *> sorted;
  for (const Entry &entry : entries)
    sorted.emplace(digestOf(entry.keyText), &entry);
  Writer writer;
  for (const auto &[key, entry] : sorted)
    if (auto ok = writer.add(key, *entry); !ok)
      return ok.error();
  return writer.finish();
}

Result<Bytes> mergeBundles(std::span<const Bundle> bundles) {
  std::vector<Entry> all;
  for (const Bundle &bundle : bundles)
    for (uint32_t kernel = 0; kernel < bundle.size(); ++kernel) {
      auto entry = bundle.load(kernel);
      if (!entry)
        return entry.error();
      all.push_back(std::move(*entry));
    }
  return writeBundle(std::move(all));
}

} // namespace attune::bundle
