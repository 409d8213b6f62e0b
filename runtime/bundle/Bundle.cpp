// Reading: every offset is checked against the file before it is followed.
#include "runtime/bundle/Bundle.h"
#include "runtime/abi/Digest.h"
#include "runtime/bundle/Format.h"
#include "runtime/bundle/MappedFile.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace attune::bundle {

/// The parts of one kernel's record, whose digest has been checked.
struct Bundle::Record {
  KernelRow row;
  RawDigest objectDigest;
  std::string key, label, sidecar;
};

Error Bundle::damaged(std::string what) const {
  return {ErrorCode::Io, fmt::format("{}: {}", name_, what)};
}

template <class T> T Bundle::at(uint64_t offset) const {
  T value;
  std::memcpy(&value, bytes_.data() + offset, sizeof(T));
  return value;
}

KernelRow Bundle::row(uint32_t kernel) const {
  return at<KernelRow>(sizeof(Header) + uint64_t(kernel) * sizeof(KernelRow));
}

Result<Bundle> Bundle::open(const std::string &path) {
  auto file = mapFile(path);
  if (!file)
    return file.error();
  Bundle bundle(file->bytes, path);
  bundle.mapping_ = std::move(file->owner);
  if (auto ok = bundle.checkIndex(); !ok)
    return ok.error();
  return bundle;
}

Result<Bundle> Bundle::fromMemory(std::span<const uint8_t> bytes, std::string name) {
  Bundle bundle(bytes, std::move(name));
  if (auto ok = bundle.checkIndex(); !ok)
    return ok.error();
  return bundle;
}

Result<void> Bundle::checkIndex() {
  if (bytes_.size() < sizeof(Header) + sizeof(RawDigest))
    return damaged(fmt::format("{} bytes, less than any bundle has", bytes_.size()));
  const auto header = at<Header>(0);
  if (std::string_view(header.magic, sizeof(header.magic)) != magic)
    return damaged("does not begin like a bundle of kernels");
  if (header.version != formatVersion)
    return damaged(fmt::format("is of format {}, this version reads format {}; build it again "
                               "with attune aot",
                               header.version, formatVersion));
  if (header.fileBytes != bytes_.size())
    return damaged(fmt::format("has {} bytes, its head says {}", bytes_.size(), header.fileBytes));
  const Tables tables(std::min(header.kernels, mostKernels), std::min(header.objects, mostKernels));
  if (header.kernels > mostKernels || header.objects > mostKernels ||
      tables.end > bytes_.size() - sizeof(RawDigest) ||
      crcOfIndex(bytes_.first(tables.end)) != header.indexCrc)
    return damaged("its index is damaged");
  kernels_ = uint32_t(header.kernels);
  objects_ = uint32_t(header.objects);
  return {};
}

namespace {

/// The first of `count` digests in order that is not below `wanted`.
template <class DigestAt>
uint32_t lowerBound(uint32_t count, const RawDigest &wanted, DigestAt digestAt) {
  uint32_t low = 0, high = count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (digestAt(middle) < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

} // namespace

std::optional<uint32_t> Bundle::find(std::string_view keyDigest) const {
  const auto wanted = digestFromHex(keyDigest);
  if (!wanted)
    return std::nullopt;
  const auto keyAt = [&](uint32_t kernel) { return row(kernel).key; };
  const uint32_t kernel = lowerBound(kernels_, *wanted, keyAt);
  return kernel < kernels_ && keyAt(kernel) == *wanted ? std::optional(kernel) : std::nullopt;
}

std::optional<uint32_t> Bundle::findAnyBuild(const cache::KeyFields &fields) const {
  const auto wanted = buildFreeDigest(fields);
  if (!wanted || kernels_ == 0)
    return std::nullopt;
  const uint64_t order = Tables(kernels_, objects_).order;
  const auto kernelAt = [&](uint32_t place) { // a forged table may name a kernel that is not there
    return std::min(at<uint32_t>(order + place * sizeof(uint32_t)), kernels_ - 1);
  };
  const auto digestAt = [&](uint32_t place) { return row(kernelAt(place)).buildFree; };
  const uint32_t place = lowerBound(kernels_, *wanted, digestAt);
  if (place == kernels_ || digestAt(place) != *wanted)
    return std::nullopt;
  return kernelAt(place);
}

namespace {

/// How many words stand in one text and not in the other.
size_t wordsApart(std::string_view a, std::string_view b) {
  auto wordsOf = [](std::string_view text) {
    std::vector<std::string_view> words;
    for (size_t from = 0; from < text.size();) {
      const size_t end = std::min(text.find_first_of(" \n,=(){}[]:", from), text.size());
      if (end > from)
        words.push_back(text.substr(from, end - from));
      from = end + 1;
    }
    std::sort(words.begin(), words.end());
    return words;
  };
  const auto left = wordsOf(a), right = wordsOf(b);
  std::vector<std::string_view> apart;
  std::set_symmetric_difference(left.begin(), left.end(), right.begin(), right.end(),
                                std::back_inserter(apart));
  return apart.size();
}

std::string_view valueOf(const cache::KeyFields &fields, std::string_view name) {
  for (const auto &[key, value] : fields)
    if (key == name)
      return value;
  return {};
}

} // namespace

std::optional<Nearest> Bundle::nearest(const cache::KeyFields &fields) const {
  std::optional<Nearest> best;
  std::pair<size_t, size_t> bestDistance;
  for (uint32_t kernel = 0; kernel < kernels_; ++kernel) {
    auto found = record(kernel);
    if (!found)
      continue; // this is for a message about another kernel
    auto other = cache::parseKey(found->key);
    if (!other)
      continue;
    auto differing = cache::differingFields(fields, *other);
    std::pair<size_t, size_t> distance(differing.size(), 0);
    for (const std::string &name : differing)
      distance.second += wordsApart(valueOf(fields, name), valueOf(*other, name));
    if (!best || distance < bestDistance) {
      best = Nearest{kernel, std::move(differing)};
      bestDistance = distance;
    }
  }
  return best;
}

Result<Bundle::Record> Bundle::record(uint32_t kernel) const {
  if (kernel >= kernels_)
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{}: has {} kernels, there is no number {}", name_, kernels_, kernel)};
  Record r;
  r.row = row(kernel);
  const auto bad = [&](std::string_view what) {
    return damaged(fmt::format("kernel {}: {}", hexOf(r.row.key).substr(0, 12), what));
  };
  const uint64_t bytes = r.row.bytes;
  if (r.row.object >= objects_ || r.row.offset > bytes_.size() ||
      bytes > bytes_.size() - r.row.offset || bytes < sizeof(RecordHead) + sizeof(RawDigest))
    return bad("its record is not in the file");
  const auto all = bytes_.subspan(r.row.offset, bytes - sizeof(RawDigest));
  if (digestOf(textOf(all)) != at<RawDigest>(r.row.offset + all.size()))
    return bad("its record is damaged");
  const auto head = at<RecordHead>(r.row.offset);
  const uint64_t parts = uint64_t(head.keyBytes) + head.labelBytes + head.sidecarBytes;
  const auto texts =
      parts <= mostRecordBytes ? unpacked(all.subspan(sizeof(RecordHead)), parts) : std::nullopt;
  if (!texts)
    return bad("its record is damaged");
  const auto text = textOf(*texts);
  r.objectDigest = head.object;
  r.key = text.substr(0, head.keyBytes);
  r.label = text.substr(head.keyBytes, head.labelBytes);
  r.sidecar = text.substr(head.keyBytes + head.labelBytes);
  if (digestOf(r.key) != r.row.key)
    return bad("its record is that of another key");
  return r;
}

Result<std::vector<uint8_t>> Bundle::object(const Record &r) const {
  const auto row = at<ObjectRow>(Tables(kernels_, objects_).objectRows +
                                 uint64_t(r.row.object) * sizeof(ObjectRow));
  const auto bad = [&] { return damaged(fmt::format("{}: its code object is damaged", r.label)); };
  if (row.offset > bytes_.size() || row.packedBytes > bytes_.size() - row.offset ||
      row.bytes > mostObjectBytes)
    return bad();
  auto code = unpacked(bytes_.subspan(row.offset, row.packedBytes), row.bytes);
  if (!code || digestOf(textOf(*code)) != r.objectDigest)
    return bad();
  return std::move(*code);
}

Result<Sidecar> Bundle::sidecarOf(const Record &record) const {
  auto sidecar = sidecarFromJson(record.sidecar);
  if (!sidecar)
    return damaged(fmt::format("{}: {}", record.label, sidecar.error().message));
  return sidecar;
}

Result<Entry> Bundle::load(uint32_t kernel) const {
  auto found = record(kernel);
  if (!found)
    return found.error();
  auto sidecar = sidecarOf(*found);
  if (!sidecar)
    return sidecar.error();
  auto code = object(*found);
  if (!code)
    return code.error();
  return Entry{found->key, found->label, KernelImage{std::move(*code), std::move(*sidecar)}};
}

Result<Summary> Bundle::describe(uint32_t kernel) const {
  auto found = record(kernel);
  if (!found)
    return found.error();
  auto sidecar = sidecarOf(*found);
  if (!sidecar)
    return sidecar.error();
  const auto row = at<ObjectRow>(Tables(kernels_, objects_).objectRows +
                                 uint64_t(found->row.object) * sizeof(ObjectRow));
  return Summary{.digest = hexOf(found->row.key),
                 .keyText = found->key,
                 .label = found->label,
                 .sidecar = std::move(*sidecar),
                 .object = found->row.object,
                 .objectBytes = row.bytes,
                 .packedBytes = row.packedBytes};
}

Result<std::vector<Summary>> Bundle::list() const {
  std::vector<Summary> all;
  for (uint32_t kernel = 0; kernel < kernels_; ++kernel) {
    auto one = describe(kernel);
    if (!one)
      return one.error();
    all.push_back(std::move(*one));
  }
  return all;
}

Result<void> Bundle::verify() const {
  for (uint32_t kernel = 0; kernel < kernels_; ++kernel)
    if (auto entry = load(kernel); !entry)
      return entry.error();
  const uint64_t body = bytes_.size() - sizeof(RawDigest);
  if (digestOf(textOf(bytes_.first(body))) != at<RawDigest>(body))
    return damaged("its digest does not match its bytes");
  return {};
}

} // namespace attune::bundle
