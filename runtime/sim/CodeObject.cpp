#include "runtime/sim/CodeObject.h"
#include "runtime/abi/CodeObjectTarget.h"
#include "runtime/sim/MsgPack.h"
#include <algorithm>
#include <cstring>
#include <elf.h>
#include <fmt/format.h>

namespace attune::sim {
namespace {

constexpr uint16_t kMachineAmdgpu = 224;
constexpr uint8_t kAbiHsa = 64;
constexpr uint32_t kGfx950 = 0x4f;
constexpr uint32_t kNoteMetadata = 32;
constexpr uint32_t kRelocAbs64 = 3, kRelocRelative64 = 13;

Error bad(const std::string &what) { return {ErrorCode::InvalidArgument, "code object: " + what}; }

class ElfReader {
public:
  explicit ElfReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  Result<CodeObject> read();

private:
  template <class T> bool at(uint64_t offset, T &out) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T))
      return false;
    std::memcpy(&out, bytes_.data() + offset, sizeof(T));
    return true;
  }
  std::string stringAt(uint64_t offset) const {
    std::string s;
    while (offset < bytes_.size() && bytes_[offset])
      s += char(bytes_[offset++]);
    return s;
  }
  bool header(Error &error);
  bool segments(Error &error);
  bool sections(Error &error);
  void symbolTable(const Elf64_Shdr &);
  void relocations(const Elf64_Shdr &, const Elf64_Shdr &symbols);
  void notes(const Elf64_Phdr &);
  bool kernels(Error &error);
  bool descriptor(Kernel &, Error &error);
  bool image(uint64_t address, void *to, uint64_t bytes) const;

  std::span<const uint8_t> bytes_;
  Elf64_Ehdr ehdr_{};
  CodeObject object_;
  std::vector<uint8_t> metadata_;
};

bool ElfReader::header(Error &error) {
  if (!at(0, ehdr_) || std::memcmp(ehdr_.e_ident, ELFMAG, SELFMAG) != 0 ||
      ehdr_.e_ident[EI_CLASS] != ELFCLASS64 || ehdr_.e_ident[EI_DATA] != ELFDATA2LSB) {
    error = bad("not a 64-bit little-endian ELF file");
    return false;
  }
  if (ehdr_.e_machine != kMachineAmdgpu || ehdr_.e_ident[EI_OSABI] != kAbiHsa) {
    error = bad(fmt::format("ELF machine {} with ABI {}; an amdhsa code object has 224 and 64",
                            ehdr_.e_machine, ehdr_.e_ident[EI_OSABI]));
    return false;
  }
  uint8_t abi = ehdr_.e_ident[EI_ABIVERSION];
  if (abi < 2 || abi > 4) {
    error = bad(
        fmt::format("ABI version {} (code object v{}); v4, v5 and v6 are supported", abi, abi + 2));
    return false;
  }
  if (uint32_t mach = ehdr_.e_flags & 0xff; mach != kGfx950) {
    error = {ErrorCode::Unsupported, fmt::format("code object is for {}, the simulator runs gfx950",
                                                 processorOfFlags(mach))};
    return false;
  }
  if (ehdr_.e_type != ET_DYN) {
    error = bad("not linked (ELF type is not ET_DYN): run ld.lld -shared on it");
    return false;
  }
  return true;
}

bool ElfReader::segments(Error &error) {
  for (unsigned n = 0; n < ehdr_.e_phnum; ++n) {
    Elf64_Phdr p;
    if (!at(ehdr_.e_phoff + uint64_t(n) * ehdr_.e_phentsize, p) || p.p_offset > bytes_.size() ||
        p.p_filesz > bytes_.size() - p.p_offset || p.p_vaddr > 1u << 30 || p.p_memsz > 1u << 30) {
      error = bad(fmt::format("program header {} reaches outside the file", n));
      return false;
    }
    if (p.p_type == PT_NOTE)
      notes(p);
    if (p.p_type != PT_LOAD)
      continue;
    object_.segments.push_back({p.p_vaddr, p.p_offset, std::min(p.p_filesz, p.p_memsz)});
    object_.memoryBytes = std::max(object_.memoryBytes, p.p_vaddr + p.p_memsz);
    if (p.p_flags & PF_X) {
      object_.textOffset = p.p_vaddr;
      object_.textBytes = p.p_filesz;
    }
  }
  if (object_.textBytes == 0 || object_.textOffset % 4) {
    error = bad("no executable segment");
    return false;
  }
  return true;
}

void ElfReader::notes(const Elf64_Phdr &p) {
  uint64_t offset = p.p_offset, end = p.p_offset + p.p_filesz;
  Elf64_Nhdr note;
  while (offset + sizeof note <= end && at(offset, note)) {
    uint64_t name = offset + sizeof note;
    uint64_t desc = name + (uint64_t(note.n_namesz) + 3) / 4 * 4;
    uint64_t next = desc + (uint64_t(note.n_descsz) + 3) / 4 * 4;
    if (desc + note.n_descsz > end)
      return;
    if (note.n_type == kNoteMetadata && stringAt(name) == "AMDGPU")
      metadata_.assign(bytes_.begin() + desc, bytes_.begin() + desc + note.n_descsz);
    offset = next;
  }
}

bool ElfReader::sections(Error &error) {
  for (unsigned n = 0; n < ehdr_.e_shnum; ++n) {
    Elf64_Shdr s, link{};
    if (!at(ehdr_.e_shoff + uint64_t(n) * ehdr_.e_shentsize, s)) {
      error = bad(fmt::format("section header {} reaches outside the file", n));
      return false;
    }
    if (s.sh_type == SHT_DYNSYM || s.sh_type == SHT_SYMTAB)
      symbolTable(s);
    if (s.sh_type == SHT_RELA && s.sh_flags & SHF_ALLOC &&
        at(ehdr_.e_shoff + uint64_t(s.sh_link) * ehdr_.e_shentsize, link))
      relocations(s, link);
  }
  return true;
}

void ElfReader::symbolTable(const Elf64_Shdr &s) {
  Elf64_Shdr strings;
  if (!at(ehdr_.e_shoff + uint64_t(s.sh_link) * ehdr_.e_shentsize, strings))
    return;
  Elf64_Sym symbol;
  for (uint64_t k = 0; k + sizeof symbol <= s.sh_size && at(s.sh_offset + k, symbol);
       k += sizeof symbol) {
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS)
      continue;
    object_.symbols[stringAt(strings.sh_offset + symbol.st_name)] = symbol.st_value;
    uint64_t inText = symbol.st_value - object_.textOffset;
    if (symbol.st_value >= object_.textOffset && inText < object_.textBytes && inText % 4 == 0)
      object_.textStarts.push_back(uint32_t(inText));
  }
}

void ElfReader::relocations(const Elf64_Shdr &s, const Elf64_Shdr &symbols) {
  Elf64_Rela r;
  for (uint64_t k = 0; k + sizeof r <= s.sh_size && at(s.sh_offset + k, r); k += sizeof r) {
    uint32_t type = uint32_t(ELF64_R_TYPE(r.r_info));
    if (type == kRelocRelative64) {
      object_.relocations.push_back({r.r_offset, uint64_t(r.r_addend)});
    } else if (type == kRelocAbs64) {
      Elf64_Sym symbol;
      if (at(symbols.sh_offset + ELF64_R_SYM(r.r_info) * sizeof symbol, symbol))
        object_.relocations.push_back({r.r_offset, symbol.st_value + uint64_t(r.r_addend)});
    }
  }
}

/// Bytes of the loaded image before relocation.
bool ElfReader::image(uint64_t address, void *to, uint64_t bytes) const {
  for (const CodeObject::Segment &s : object_.segments)
    if (address >= s.address && address - s.address <= s.fileBytes &&
        bytes <= s.fileBytes - (address - s.address)) {
      std::memcpy(to, bytes_.data() + s.fileOffset + (address - s.address), bytes);
      return true;
    }
  return false;
}

bool ElfReader::descriptor(Kernel &k, Error &error) {
  uint8_t d[64];
  if (!image(k.descriptor, d, sizeof d)) {
    error = bad("the descriptor of kernel " + k.name + " lies outside the image");
    return false;
  }
  auto u32 = [&](int at) {
    uint32_t v;
    std::memcpy(&v, d + at, 4);
    return v;
  };
  int64_t entry;
  std::memcpy(&entry, d + 16, 8);
  uint32_t rsrc3 = u32(44), rsrc1 = u32(48), rsrc2 = u32(52), flags = u32(56);
  k.ldsBytes = u32(0);
  k.scratchBytes = u32(4);
  k.kernargBytes = u32(8);
  k.entry = k.descriptor + uint64_t(entry);
  k.vgprs = 8 * ((rsrc1 & 63) + 1);
  k.accumOffset = 4 * ((rsrc3 & 63) + 1);
  // MODE: rounding [3:0], denormals [7:4], DX10 clamp 8, IEEE 9, fp16 overflow 23.
  k.mode = (rsrc1 >> 12 & 0xff) | (rsrc1 >> 21 & 1) << 8 | (rsrc1 >> 23 & 1) << 9 |
           (rsrc1 >> 26 & 1) << 23;
  k.userSgprs = rsrc2 >> 1 & 31;
  for (int axis = 0; axis < 3; ++axis)
    k.workgroupId[axis] = rsrc2 >> (7 + axis) & 1;
  k.properties = uint16_t(flags);
  k.preloadLength = flags >> 16 & 127;
  k.preloadOffset = flags >> 23 & 511;
  k.dynamicStack = k.properties & DynamicStack;
  uint64_t inText = k.entry - object_.textOffset;
  if (k.entry < object_.textOffset || inText >= object_.textBytes || inText % 4) {
    error = bad("the entry of kernel " + k.name + " lies outside the text");
    return false;
  }
  object_.textStarts.push_back(uint32_t(inText));
  if (k.preloadLength && inText + 256 < object_.textBytes)
    object_.textStarts.push_back(uint32_t(inText + 256));
  if (k.properties & Wavefront32) {
    error = bad("kernel " + k.name + " is for waves of 32 lanes; gfx950 has 64");
    return false;
  }
  return true;
}

/// Kernels are the symbols "*.kd"; metadata, where there is any, adds what the descriptor does not
/// say.
bool ElfReader::kernels(Error &error) {
  MsgValue root;
  if (!metadata_.empty()) {
    Result<MsgValue> parsed = parseMsgPack(metadata_);
    if (!parsed) {
      error = parsed.error();
      return false;
    }
    root = std::move(*parsed);
  }
  const std::vector<MsgValue> none;
  const MsgValue *list = root.find("amdhsa.kernels");
  for (const auto &[name, value] : object_.symbols) {
    if (!name.ends_with(".kd"))
      continue;
    Kernel k;
    k.name = name.substr(0, name.size() - 3);
    k.descriptor = value;
    if (!descriptor(k, error))
      return false;
    for (const MsgValue &m : list ? list->array : none) {
      if (m.stringAt(".symbol") != name)
        continue;
      k.maxThreads = uint32_t(m.integerAt(".max_flat_workgroup_size", 0));
      k.kernargBytes = std::max(k.kernargBytes, uint32_t(m.integerAt(".kernarg_segment_size", 0)));
      const MsgValue *args = m.find(".args");
      for (const MsgValue &arg : args ? args->array : none) {
        auto offset = uint32_t(arg.integerAt(".offset", 0));
        auto size = uint32_t(arg.integerAt(".size", 0));
        if (std::string kind = arg.stringAt(".value_kind"); kind.starts_with("hidden_"))
          k.hidden.push_back({kind, offset, size});
        else
          k.args.push_back({offset, size});
      }
    }
    object_.kernels.push_back(std::move(k));
  }
  return true;
}

Result<CodeObject> ElfReader::read() {
  Error error;
  if (!header(error) || !segments(error) || !sections(error) || !kernels(error))
    return error;
  return std::move(object_);
}

} // namespace

Result<CodeObject> readCodeObject(std::span<const uint8_t> elf) { return ElfReader(elf).read(); }

} // namespace attune::sim
