// Seven sections of ELF, and lines of numbers.
#include "runtime/bundle/Embed.h"
#include "runtime/bundle/Format.h"
#include <algorithm>
#include <cstring>
#include <elf.h>
#include <fmt/format.h>

namespace attune::bundle {

namespace {

using Bytes = std::vector<uint8_t>;

constexpr size_t alignment = 16;

struct Machine {
  std::string_view name;
  uint16_t elf;
};
constexpr Machine machines[] = {{"aarch64", EM_AARCH64}, {"x86_64", EM_X86_64}};

Result<void> checkSymbol(std::string_view symbol) {
  auto legal = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  if (!symbol.empty() && !(symbol[0] >= '0' && symbol[0] <= '9') &&
      std::all_of(symbol.begin(), symbol.end(), legal))
    return {};
  return Error{
      ErrorCode::InvalidArgument,
      fmt::format("symbol \"{}\": a name of C is made of letters, digits and '_', and does "
                  "not begin with a digit",
                  symbol)};
}

/// A string table: names with their offsets.
struct Strings {
  std::string text = std::string(1, '\0');
  uint32_t add(std::string_view name) {
    const auto at = uint32_t(text.size());
    text += name;
    text += '\0';
    return at;
  }
};

struct Section {
  uint32_t type;
  uint64_t flags = 0, alignment = 1;
  uint32_t link = 0, info = 0;
  uint64_t entryBytes = 0;
};

class ObjectFile {
public:
  explicit ObjectFile(uint16_t machine) : out_(sizeof(Elf64_Ehdr)), sections_(1) {
    std::memcpy(head_.e_ident, ELFMAG, SELFMAG);
    head_.e_ident[EI_CLASS] = ELFCLASS64;
    head_.e_ident[EI_DATA] = ELFDATA2LSB;
    head_.e_ident[EI_VERSION] = EV_CURRENT;
    head_.e_type = ET_REL;
    head_.e_machine = machine;
    head_.e_version = EV_CURRENT;
    head_.e_ehsize = sizeof(Elf64_Ehdr);
    head_.e_shentsize = sizeof(Elf64_Shdr);
  }

  void section(std::string_view name, const Section &section, std::span<const uint8_t> bytes) {
    sectionNamed(names_.add(name), section, bytes);
  }
  void section(std::string_view name, const Section &section, std::string_view text) {
    sectionNamed(names_.add(name), section, bytesOf(text));
  }

  Bytes finish() {
    const uint32_t own = names_.add(".shstrtab");
    sectionNamed(own, {.type = SHT_STRTAB}, bytesOf(names_.text));
    out_.resize((out_.size() + 7) / 8 * 8);
    head_.e_shoff = out_.size();
    head_.e_shnum = uint16_t(sections_.size());
    head_.e_shstrndx = uint16_t(sections_.size() - 1);
    for (const Elf64_Shdr &header : sections_)
      put(out_, header);
    std::memcpy(out_.data(), &head_, sizeof(head_));
    return std::move(out_);
  }

private:
  static std::span<const uint8_t> bytesOf(std::string_view text) {
    return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
  }

  void sectionNamed(uint32_t name, const Section &section, std::span<const uint8_t> bytes) {
    out_.resize((out_.size() + section.alignment - 1) / section.alignment * section.alignment);
    Elf64_Shdr header{};
    header.sh_name = name;
    header.sh_type = section.type;
    header.sh_flags = section.flags;
    header.sh_offset = out_.size();
    header.sh_size = bytes.size();
    header.sh_link = section.link;
    header.sh_info = section.info;
    header.sh_addralign = section.alignment;
    header.sh_entsize = section.entryBytes;
    out_.insert(out_.end(), bytes.begin(), bytes.end());
    sections_.push_back(header);
  }

  Bytes out_;
  std::vector<Elf64_Shdr> sections_;
  Elf64_Ehdr head_{};
  Strings names_;
};

} // namespace

std::string_view hostMachine() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "";
#endif
}

Result<Bytes> embedAsObject(std::span<const uint8_t> bundle, std::string_view symbol,
                            std::string_view machine) {
  if (auto ok = checkSymbol(symbol); !ok)
    return ok.error();
  const auto row = std::find_if(std::begin(machines), std::end(machines),
                                [&](const Machine &m) { return m.name == machine; });
  if (row == std::end(machines))
    return Error{
        ErrorCode::Unsupported,
        fmt::format("no object files for machine \"{}\": aarch64 and x86_64 are known; a C "
                    "array is for any",
                    machine)};
  // One read-only section: the bundle, then its size.
  Bytes data(bundle.begin(), bundle.end());
  data.resize((data.size() + 7) / 8 * 8);
  const uint64_t sizeAt = data.size(), size = bundle.size();
  put(data, size);
  Strings names;
  constexpr uint16_t dataSection = 1, stringSection = 3;
  constexpr unsigned char global = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
  const uint32_t bytesName = names.add(symbol);
  const uint32_t sizeName = names.add(std::string(symbol) + "_size");
  Bytes symbols(sizeof(Elf64_Sym));
  put(symbols, Elf64_Sym{bytesName, global, STV_DEFAULT, dataSection, 0, size});
  put(symbols, Elf64_Sym{sizeName, global, STV_DEFAULT, dataSection, sizeAt, sizeof(size)});

  ObjectFile file(row->elf);
  file.section(".rodata", {.type = SHT_PROGBITS, .flags = SHF_ALLOC, .alignment = alignment}, data);
  file.section(".symtab",
               {.type = SHT_SYMTAB,
                .alignment = 8,
                .link = stringSection,
                .info = 1, // the first global symbol
                .entryBytes = sizeof(Elf64_Sym)},
               symbols);
  file.section(".strtab", {.type = SHT_STRTAB}, names.text);
  file.section(".note.GNU-stack", {.type = SHT_PROGBITS}, std::string_view());
  return file.finish();
}

Result<std::string> embedAsC(std::span<const uint8_t> bundle, std::string_view symbol) {
  if (auto ok = checkSymbol(symbol); !ok)
    return ok.error();
  constexpr size_t perLine = 20;
  std::string text = fmt::format("/* A bundle of attention kernels, written by attune aot. */\n"
                                 "#ifdef __cplusplus\nextern \"C\" {{\n#endif\n"
                                 "extern const unsigned char {0}[];\n"
                                 "extern const unsigned long long {0}_size;\n"
                                 "const unsigned long long {0}_size = {1}ull;\n"
                                 "__attribute__((aligned({2}))) const unsigned char {0}[] = {{\n",
                                 symbol, bundle.size(), alignment);
  auto out = std::back_inserter(text);
  for (size_t i = 0; i < bundle.size(); ++i)
    fmt::format_to(out, "{},{}", bundle[i],
                   i % perLine == perLine - 1 || i + 1 == bundle.size() ? "\n" : "");
  return text + "};\n#ifdef __cplusplus\n}\n#endif\n";
}

} // namespace attune::bundle
