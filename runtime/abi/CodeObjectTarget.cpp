#include "runtime/abi/CodeObjectTarget.h"
#include <cstring>
#include <elf.h>
#include <fmt/format.h>
#include <optional>
#include <set>

namespace attune {
namespace {

constexpr uint16_t machineAmdgpu = 224;
constexpr uint8_t abiHsa = 64;
constexpr int oldestVersion = 4, newestVersion = 6; ///< EI_ABIVERSION is two less

/// e_flags since version 4: two bits for each feature.
constexpr uint32_t xnackShift = 8, srameccShift = 10, featureMask = 3, featureOff = 2,
                   featureOn = 3;

struct Processor {
  const char *name;
  uint32_t number;
  std::string_view members; ///< of a generic target: processors that run it, else empty
};
constexpr Processor processors[] = {
#define AMDGPU_PROCESSOR(NAME, NUMBER) {NAME, NUMBER, ""},
#define AMDGPU_GENERIC(NAME, NUMBER, MEMBERS) {NAME, NUMBER, MEMBERS},
#include "runtime/abi/Processors.def"
};

Error bad(const std::string &what) { return {ErrorCode::InvalidArgument, "code object: " + what}; }

FeatureState featureOf(uint32_t flags, uint32_t shift) {
  uint32_t bits = flags >> shift & featureMask;
  return bits == featureOn    ? FeatureState::On
         : bits == featureOff ? FeatureState::Off
                              : FeatureState::Unspecified;
}

std::string featureText(std::string_view name, FeatureState state) {
  if (state == FeatureState::Unspecified)
    return "";
  return fmt::format(":{}{}", name, state == FeatureState::On ? '+' : '-');
}

class ElfTables {
public:
  explicit ElfTables(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  template <class T> std::optional<T> at(uint64_t offset) const {
    if (!holds(offset, sizeof(T)))
      return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  bool holds(uint64_t offset, uint64_t bytes) const {
    return offset <= bytes_.size() && bytes <= bytes_.size() - offset;
  }

  /// Every program and section header, and what it points to, lies in the file.
  Result<void> check(const Elf64_Ehdr &h) const {
    if ((h.e_phnum && h.e_phentsize != sizeof(Elf64_Phdr)) ||
        (h.e_shnum && h.e_shentsize != sizeof(Elf64_Shdr)))
      return bad("its program or section headers have another size than ELF's");
    if (!holds(h.e_phoff, h.e_phnum * sizeof(Elf64_Phdr)))
      return cutOff("program header", 0);
    if (!holds(h.e_shoff, h.e_shnum * sizeof(Elf64_Shdr)))
      return cutOff("section header", 0);
    for (unsigned n = 0; n < h.e_phnum; ++n) {
      auto p = at<Elf64_Phdr>(h.e_phoff + n * sizeof(Elf64_Phdr));
      if (!p || !holds(p->p_offset, p->p_filesz))
        return cutOff("segment", n);
    }
    for (unsigned n = 0; n < h.e_shnum; ++n) {
      auto s = at<Elf64_Shdr>(h.e_shoff + n * sizeof(Elf64_Shdr));
      if (!s || (s->sh_type != SHT_NOBITS && !holds(s->sh_offset, s->sh_size)))
        return cutOff("section", n);
    }
    return {};
  }

  /// A NUL-terminated string; what is in the file of one that does not end.
  std::string stringAt(uint64_t offset) const {
    std::string text;
    while (offset < bytes_.size() && bytes_[offset])
      text += char(bytes_[offset++]);
    return text;
  }

private:
  Error cutOff(const char *what, unsigned number) const {
    return bad(fmt::format("cut off or damaged: {} {} is not within the file's {} bytes", what,
                           number, bytes_.size()));
  }
  std::span<const uint8_t> bytes_;
};

bool runsGeneric(const std::string &target, const std::string &processor) {
  for (const Processor &p : processors)
    if (p.name == target)
      return fmt::format(" {} ", p.members).find(fmt::format(" {} ", processor)) !=
             std::string::npos;
  return false;
}

/// The feature in which code and device differ, as the code has it ("xnack+"); empty: none.
std::string conflict(const TargetId &code, const TargetId &device) {
  auto differ = [](FeatureState code, FeatureState device) {
    return code != FeatureState::Unspecified && code != device;
  };
  if (differ(code.xnack, device.xnack))
    return featureText("xnack", code.xnack).substr(1);
  if (differ(code.sramecc, device.sramecc))
    return featureText("sramecc", code.sramecc).substr(1);
  return "";
}

} // namespace

std::string TargetId::text() const {
  return processor + featureText("sramecc", sramecc) + featureText("xnack", xnack);
}

Result<TargetId> parseTargetId(std::string_view text) {
  const Error wrong{ErrorCode::InvalidArgument,
                    fmt::format("\"{}\" is no target id such as gfx950:sramecc+:xnack-", text)};
  TargetId id;
  size_t end = text.find(':');
  id.processor = text.substr(0, end);
  if (!id.processor.starts_with("gfx") || id.processor.size() < 6 ||
      id.processor.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != std::string::npos)
    return wrong;
  while (end != std::string_view::npos) {
    std::string_view rest = text.substr(end + 1);
    size_t next = rest.find(':');
    std::string_view feature = rest.substr(0, next);
    end = next == std::string_view::npos ? next : end + 1 + next;
    if (!feature.ends_with('+') && !feature.ends_with('-'))
      return wrong;
    FeatureState state = feature.ends_with('+') ? FeatureState::On : FeatureState::Off;
    feature.remove_suffix(1);
    FeatureState *field = feature == "xnack"     ? &id.xnack
                          : feature == "sramecc" ? &id.sramecc
                                                 : nullptr;
    if (!field || *field != FeatureState::Unspecified)
      return wrong;
    *field = state;
  }
  return id;
}

std::string processorOfFlags(uint32_t flags) {
  for (const Processor &p : processors)
    if (p.number == (flags & 0xff))
      return p.name;
  return fmt::format("machine {:#x}", flags & 0xff);
}

Result<CodeObjectTarget> readCodeObjectTarget(std::span<const uint8_t> bytes) {
  ElfTables tables(bytes);
  auto h = tables.at<Elf64_Ehdr>(0);
  if (!h || std::memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != ELFCLASS64 ||
      h->e_ident[EI_DATA] != ELFDATA2LSB)
    return bad("not a 64-bit little-endian ELF file");
  if (h->e_machine != machineAmdgpu || h->e_ident[EI_OSABI] != abiHsa)
    return bad(fmt::format("ELF machine {} with ABI {}; an amdhsa code object has {} and {}",
                           h->e_machine, h->e_ident[EI_OSABI], machineAmdgpu, abiHsa));
  int version = h->e_ident[EI_ABIVERSION] + 2;
  if (version < oldestVersion || version > newestVersion)
    return bad(fmt::format("code object version {}; versions {} to {} are known", version,
                           oldestVersion, newestVersion));
  if (h->e_type != ET_DYN && h->e_type != ET_REL)
    return bad(fmt::format("ELF type {}; it is either linked (3) or relocatable (1)", h->e_type));
  if (auto whole = tables.check(*h); !whole)
    return whole.error();
  return CodeObjectTarget{.id = {.processor = processorOfFlags(h->e_flags),
                                 .sramecc = featureOf(h->e_flags, srameccShift),
                                 .xnack = featureOf(h->e_flags, xnackShift)},
                          .version = version,
                          .linked = h->e_type == ET_DYN};
}

Result<void> checkRunsOn(const CodeObjectTarget &code, const TargetId &device,
                         std::string_view name) {
  if (!code.linked)
    return bad("not linked (a relocatable object): run ld.lld -shared on it");
  if (code.id.processor != device.processor && !runsGeneric(code.id.processor, device.processor))
    return Error{ErrorCode::Unsupported,
                 fmt::format("the code object is for {}, {} is {}: build it for {}", code.id.text(),
                             name, device.text(), device.processor)};
  if (std::string feature = conflict(code.id, device); !feature.empty())
    return Error{ErrorCode::Unsupported,
                 fmt::format("the code object is for {}, {} is {}, without {}: build it for {}, "
                             "which runs under either state",
                             code.id.text(), name, device.text(), feature, device.processor)};
  return {};
}

Result<void> checkCodeObject(std::span<const uint8_t> bytes, const TargetId &device,
                             std::string_view name) {
  auto code = readCodeObjectTarget(bytes);
  return code ? checkRunsOn(*code, device, name) : code.error();
}

std::vector<std::string> kernelNames(std::span<const uint8_t> bytes) {
  constexpr std::string_view suffix = ".kd";
  ElfTables tables(bytes);
  std::set<std::string> names;
  auto h = tables.at<Elf64_Ehdr>(0);
  for (unsigned n = 0; h && n < h->e_shnum; ++n) {
    auto s = tables.at<Elf64_Shdr>(h->e_shoff + n * sizeof(Elf64_Shdr));
    if (!s || (s->sh_type != SHT_DYNSYM && s->sh_type != SHT_SYMTAB) ||
        !tables.holds(s->sh_offset, s->sh_size))
      continue;
    auto strings = tables.at<Elf64_Shdr>(h->e_shoff + s->sh_link * sizeof(Elf64_Shdr));
    for (uint64_t at = 0; strings && at + sizeof(Elf64_Sym) <= s->sh_size;
         at += sizeof(Elf64_Sym)) {
      auto symbol = tables.at<Elf64_Sym>(s->sh_offset + at);
      std::string name = tables.stringAt(strings->sh_offset + symbol->st_name);
      if (symbol->st_shndx != SHN_UNDEF && name.ends_with(suffix))
        names.insert(name.substr(0, name.size() - suffix.size()));
    }
  }
  return {names.begin(), names.end()};
}

} // namespace attune
