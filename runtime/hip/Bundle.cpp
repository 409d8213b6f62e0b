#include "runtime/hip/Bundle.h"
#include <algorithm>
#include <cstring>
#include <elf.h>
#include <fmt/format.h>
#include <string_view>
#include <vector>

namespace attune::hip {

namespace {

constexpr std::string_view bundleMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view compressedMagic = "CCOB";
constexpr std::string_view processor = "gfx950";
constexpr uint64_t maxEntries = 4096, maxId = 4096;

Error bad(const std::string &what) { return {ErrorCode::InvalidArgument, what}; }

class Image {
public:
  Image(const void *bytes, size_t limit)
      : bytes_(static_cast<const uint8_t *>(bytes)), limit_(limit) {}
  template <class T> std::optional<T> at(uint64_t offset) const {
    if (offset > limit_ || limit_ - offset < sizeof(T))
      return std::nullopt;
    T value;
    std::memcpy(&value, bytes_ + offset, sizeof value);
    return value;
  }
  std::optional<std::string_view> text(uint64_t offset, uint64_t bytes) const {
    if (offset > limit_ || bytes > limit_ - offset)
      return std::nullopt;
    return std::string_view(reinterpret_cast<const char *>(bytes_ + offset), bytes);
  }
  bool startsWith(std::string_view magic) const { return text(0, magic.size()) == magic; }
  std::optional<std::span<const uint8_t>> part(uint64_t offset, uint64_t bytes) const {
    auto found = text(offset, bytes);
    if (!found)
      return std::nullopt;
    return std::span(bytes_ + offset, bytes);
  }

private:
  const uint8_t *bytes_;
  size_t limit_;
};

/// The bytes that an ELF file's headers speak of.
std::optional<uint64_t> elfBytes(const Image &image) {
  auto header = image.at<Elf64_Ehdr>(0);
  if (!header)
    return std::nullopt;
  uint64_t end = header->e_shoff + uint64_t(header->e_shnum) * header->e_shentsize;
  for (unsigned n = 0; n < header->e_shnum; ++n) {
    auto section = image.at<Elf64_Shdr>(header->e_shoff + uint64_t(n) * header->e_shentsize);
    if (!section)
      return std::nullopt;
    if (section->sh_type != SHT_NOBITS)
      end = std::max(end, section->sh_offset + section->sh_size);
  }
  for (unsigned n = 0; n < header->e_phnum; ++n) {
    auto segment = image.at<Elf64_Phdr>(header->e_phoff + uint64_t(n) * header->e_phentsize);
    if (!segment)
      return std::nullopt;
    end = std::max(end, segment->p_offset + segment->p_filesz);
  }
  return end;
}

/// "hipv4-amdgcn-amd-amdhsa--gfx950:xnack-" is for gfx950; a host entry and gfx9502 are not.
bool isForUs(std::string_view id) {
  size_t at = id.rfind("--");
  if (!id.starts_with("hip") || at == std::string_view::npos)
    return false;
  std::string_view target = id.substr(at + 2);
  return target.substr(0, target.find(':')) == processor;
}

Result<std::span<const uint8_t>> fromBundle(const Image &image) {
  auto count = image.at<uint64_t>(bundleMagic.size());
  if (!count || *count > maxEntries)
    return bad("offload bundle: the number of entries is cut off or wrong");
  std::vector<std::string> others;
  uint64_t at = bundleMagic.size() + 8;
  for (uint64_t n = 0; n < *count; ++n) {
    auto offset = image.at<uint64_t>(at), size = image.at<uint64_t>(at + 8);
    auto length = image.at<uint64_t>(at + 16);
    auto id = length && *length <= maxId ? image.text(at + 24, *length) : std::nullopt;
    if (!offset || !size || !id)
      return bad(fmt::format("offload bundle: entry {} of {} is cut off", n, *count));
    at += 24 + *length;
    if (!isForUs(*id)) {
      others.emplace_back(*id);
      continue;
    }
    auto part = image.part(*offset, *size);
    return part ? Result(*part) : bad("offload bundle: the code object reaches outside it");
  }
  return Error{ErrorCode::NotFound,
               fmt::format("offload bundle: no code object for {}; it has: {}; compile with "
                           "--offload-arch={}",
                           processor, fmt::join(others, ", "), processor)};
}

} // namespace

Result<std::span<const uint8_t>> findCodeObject(const void *bytes, size_t limit) {
  Image image(bytes, limit);
  if (image.startsWith(bundleMagic))
    return fromBundle(image);
  if (image.startsWith(compressedMagic))
    return Error{ErrorCode::Unsupported,
                 "the offload bundle is compressed, which this library does not read; compile with "
                 "--no-offload-compress"};
  if (!image.startsWith(std::string_view(ELFMAG, SELFMAG)))
    return bad("neither a code object (ELF) nor a clang offload bundle");
  auto size = elfBytes(image);
  auto part = size ? image.part(0, *size) : std::nullopt;
  return part ? Result(*part) : bad("the code object (ELF) is cut off");
}

std::optional<uint64_t> symbolBytes(std::span<const uint8_t> codeObject, const std::string &name) {
  Image image(codeObject.data(), codeObject.size());
  auto header = image.at<Elf64_Ehdr>(0);
  for (unsigned n = 0; header && n < header->e_shnum; ++n) {
    auto table = image.at<Elf64_Shdr>(header->e_shoff + uint64_t(n) * header->e_shentsize);
    if (!table || (table->sh_type != SHT_DYNSYM && table->sh_type != SHT_SYMTAB))
      continue;
    auto strings =
        image.at<Elf64_Shdr>(header->e_shoff + uint64_t(table->sh_link) * header->e_shentsize);
    for (uint64_t at = 0; strings && at + sizeof(Elf64_Sym) <= table->sh_size;
         at += sizeof(Elf64_Sym)) {
      auto symbol = image.at<Elf64_Sym>(table->sh_offset + at);
      if (symbol && symbol->st_shndx != SHN_UNDEF &&
          image.text(strings->sh_offset + symbol->st_name, name.size() + 1) ==
              std::string_view(name.c_str(), name.size() + 1))
        return symbol->st_size;
    }
  }
  return std::nullopt;
}

} // namespace attune::hip
