// The code object as a loader reads it that knows nothing of us: ELF header, symbols, kernel
// descriptor, metadata note and the bytes around the instructions, each against the AMDGPU ABI
// (LLVM's AMDGPUUsage, "Code Object" and "Kernel Descriptor") and against what clang writes.
#include "compiler/include/attune/Compiler.h"
#include "compiler/spec/Spec.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/Object/ELF.h"
#include <catch2/catch.hpp>
#include <cstring>
#include <map>

using namespace attune;

namespace {

using Elf = llvm::object::ELF64LEFile;

constexpr uint32_t endProgram = 0xBF810000, noOperation = 0xBF800000;

struct Symbol {
  uint64_t address = 0, size = 0;
  unsigned type = 0, binding = 0, visibility = 0;
};

/// What a loader finds in one code object.
struct Loaded {
  Sidecar sidecar;
  std::vector<uint8_t> bytes;
  llvm::ELF::Elf64_Ehdr header{};
  std::map<std::string, Symbol> symbols; ///< of .dynsym
  std::vector<unsigned> sectionTypes;
  uint64_t textAddress = 0, textOffset = 0, textSize = 0, textAlign = 0, rodataAddress = 0,
           rodataOffset = 0;
  llvm::msgpack::Document note;

  template <class T> T at(uint64_t offset) const {
    T value;
    REQUIRE(offset + sizeof(T) <= bytes.size());
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
  }
  const Symbol &kernel() const { return symbols.at(sidecar.kernel.name); }
  const Symbol &descriptor() const { return symbols.at(sidecar.kernel.name + ".kd"); }
  /// A field of the kernel descriptor.
  template <class T> T field(uint64_t byte) const {
    return at<T>(rodataOffset + descriptor().address - rodataAddress + byte);
  }
  uint32_t word(uint64_t address) const { return at<uint32_t>(textOffset + address - textAddress); }
  llvm::msgpack::MapDocNode &kernelMap() {
    return note.getRoot().getMap()["amdhsa.kernels"].getArray()[0].getMap();
  }
};

uint32_t bits(uint32_t word, int low, int count) { return word >> low & ((1u << count) - 1); }

template <class T> T must(llvm::Expected<T> value) {
  bool ok = bool(value);
  REQUIRE(ok);
  return *value;
}

void readSections(Loaded &l, const Elf &elf) {
  for (const auto &section : must(elf.sections())) {
    l.sectionTypes.push_back(section.sh_type);
    llvm::StringRef name = must(elf.getSectionName(section));
    if (name == ".text") {
      l.textAddress = section.sh_addr, l.textOffset = section.sh_offset;
      l.textSize = section.sh_size, l.textAlign = section.sh_addralign;
    }
    if (name == ".rodata")
      l.rodataAddress = section.sh_addr, l.rodataOffset = section.sh_offset;
    if (section.sh_type == llvm::ELF::SHT_DYNSYM)
      for (const auto &s : must(elf.symbols(&section)))
        l.symbols[must(s.getName(must(elf.getStringTableForSymtab(section)))).str()] = {
            s.st_value, s.st_size, s.getType(), s.getBinding(), s.getVisibility()};
    if (section.sh_type == llvm::ELF::SHT_NOTE) {
      llvm::Error error = llvm::Error::success();
      for (const auto &note : elf.notes(section, error))
        if (note.getName() == "AMDGPU")
          REQUIRE(l.note.readFromBlob(note.getDescAsStringRef(section.sh_addralign), false));
      bool failed = bool(error);
      REQUIRE_FALSE(failed);
    }
  }
}

Loaded load(const std::string &text) {
  auto model = spec::parseSpec(text, {.fileName = "test.attn", .parameters = {}, .attention = {}});
  auto compiler = Compiler::create();
  INFO((model ? "" : model.error().message));
  REQUIRE(model);
  REQUIRE(compiler);
  auto image = compiler->compile(*model);
  REQUIRE(image);
  Loaded l;
  l.sidecar = image->sidecar;
  l.bytes = image->codeObject;
  l.header = l.at<llvm::ELF::Elf64_Ehdr>(0);
  auto elf = must(Elf::create({reinterpret_cast<const char *>(l.bytes.data()), l.bytes.size()}));
  readSections(l, elf);
  return l;
}

const char *const specs[] = {
    R"(attention dense {
  q, kv : bf16[batch, seq, 4 / 2, 64]
  mask = causal
})",
    R"(attention all {
  q, kv : fp16[tokens, 14 / 2, 128]
  out : f32
  tensor bias : bf16[heads, q, k]
  tensor doc : i32[tokens] nondecreasing
  scalar cap : f32
  scalar wide : i32
  score = softcap(s, cap) + bias[h, qi, k]
  mask = document(doc) && window(wide)
  sink : f32[heads]
  lse : f32 base2
})"};

} // namespace

TEST_CASE("The ELF header is that of clang's code objects for the chip, version 6") {
  for (const char *spec : specs) {
    Loaded l = load(spec);
    CHECK(l.header.e_ident[llvm::ELF::EI_CLASS] == llvm::ELF::ELFCLASS64);
    CHECK(l.header.e_ident[llvm::ELF::EI_DATA] == llvm::ELF::ELFDATA2LSB);
    CHECK(l.header.e_ident[llvm::ELF::EI_OSABI] == llvm::ELF::ELFOSABI_AMDGPU_HSA);
    CHECK(l.header.e_ident[llvm::ELF::EI_ABIVERSION] == llvm::ELF::ELFABIVERSION_AMDGPU_HSA_V6);
    CHECK(l.header.e_machine == llvm::ELF::EM_AMDGPU);
    CHECK(l.header.e_type == llvm::ELF::ET_DYN);
    CHECK(l.header.e_flags ==
          (llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX950 | llvm::ELF::EF_AMDGPU_FEATURE_XNACK_ANY_V4 |
           llvm::ELF::EF_AMDGPU_FEATURE_SRAMECC_ANY_V4));
    for (unsigned type : l.sectionTypes) // it loads anywhere as it is
      CHECK((type != llvm::ELF::SHT_REL && type != llvm::ELF::SHT_RELA));
  }
}

TEST_CASE(
    "The kernel and its descriptor are the only symbols, of the types and places of the ABI") {
  for (const char *spec : specs) {
    Loaded l = load(spec);
    CHECK(l.symbols.size() == 2 + l.symbols.count(""));
    CHECK(l.kernel().type == llvm::ELF::STT_FUNC);
    CHECK(l.descriptor().type == llvm::ELF::STT_OBJECT);
    CHECK(l.descriptor().size == 64);
    CHECK(l.descriptor().address % 64 == 0);
    for (const Symbol &s : {l.kernel(), l.descriptor()}) {
      CHECK(s.binding == llvm::ELF::STB_GLOBAL);
      CHECK(s.visibility == llvm::ELF::STV_PROTECTED);
    }
    CHECK(l.kernel().address % 256 == 0);
    CHECK(l.textAlign >= 256);
    CHECK(l.descriptor().address + l.field<uint64_t>(16) == l.kernel().address);
  }
}

TEST_CASE("The code ends, and the 16 cache lines that a prefetch may touch behind it are code") {
  for (const char *spec : specs) {
    Loaded l = load(spec);
    uint64_t end = l.kernel().address + l.kernel().size, textEnd = l.textAddress + l.textSize;
    CHECK(l.word(end - 4) == endProgram);
    CHECK(textEnd - end >= 16 * 64);
    for (uint64_t at = end; at < textEnd; at += 4)
      CHECK(l.word(at) == noOperation);
  }
}

TEST_CASE("The kernel descriptor states what the kernel needs and nothing else") {
  for (const char *spec : specs) {
    Loaded l = load(spec);
    const KernelReport &k = l.sidecar.kernel;
    CHECK(l.field<uint32_t>(0) == static_cast<uint32_t>(k.resources.ldsBytes));
    CHECK(l.field<uint32_t>(4) == 0); // no scratch
    CHECK(l.field<uint32_t>(8) == k.kernargBytes);
    uint32_t rsrc3 = l.field<uint32_t>(44), rsrc1 = l.field<uint32_t>(48),
             rsrc2 = l.field<uint32_t>(52);
    int registers = k.resources.vgpr + k.resources.agpr;
    int granted = static_cast<int>(bits(rsrc1, 0, 6) + 1) * 8;
    CHECK(granted >= registers);
    CHECK(granted < registers + 8);
    CHECK(static_cast<int>(bits(rsrc3, 0, 6) + 1) * 4 >= k.resources.vgpr); // where AGPRs begin
    CHECK(bits(rsrc3, 16, 1) == 0);  // waves of a workgroup share a CU and its LDS
    CHECK(bits(rsrc1, 10, 2) == 0);  // priority
    CHECK(bits(rsrc1, 12, 4) == 0);  // round to nearest even, all types
    CHECK(bits(rsrc1, 16, 4) == 15); // denormals kept, all types
    CHECK(bits(rsrc1, 20, 1) == 0);  // not privileged
    CHECK(bits(rsrc1, 21, 1) == 1);  // clamping of a NaN gives 0
    CHECK(bits(rsrc1, 23, 1) == 0);  // a maximum is one instruction, see openKernel
    CHECK(bits(rsrc1, 26, 1) == 0);  // fp16 overflows to infinity
    CHECK(bits(rsrc2, 0, 1) == 0);   // no scratch
    CHECK(bits(rsrc2, 1, 5) == 2);   // s[0:1]: the arguments; s2: the workgroup's number in x
    CHECK(bits(rsrc2, 7, 3) == 1);
    CHECK(bits(rsrc2, 10, 3) == 0);                        // v0: the thread's number in x
    CHECK(bits(rsrc2, 15, 9) == 0);                        // LDS is what the first field says
    CHECK((bits(rsrc2, 13, 2) | bits(rsrc2, 24, 7)) == 0); // no exceptions
    CHECK(l.field<uint16_t>(56) == 1u << 3);               // the argument pointer alone; wave64
    CHECK(l.field<uint16_t>(58) == 0);                     // arguments are loaded, not preloaded
  }
}

TEST_CASE("The metadata lists every argument with the name, offset and size of the sidecar") {
  for (const char *spec : specs) {
    Loaded l = load(spec);
    const KernelReport &k = l.sidecar.kernel;
    auto &kernel = l.kernelMap();
    auto number = [&](llvm::msgpack::MapDocNode &map, const char *key) {
      INFO(key);
      REQUIRE(map.find(key) != map.end());
      return static_cast<int64_t>(map[key].getUInt());
    };
    CHECK(kernel[".name"].getString() == k.name);
    CHECK(kernel[".symbol"].getString() == k.name + ".kd");
    CHECK(number(kernel, ".kernarg_segment_size") == k.kernargBytes);
    CHECK(number(kernel, ".kernarg_segment_align") == 8);
    CHECK(number(kernel, ".group_segment_fixed_size") == k.resources.ldsBytes);
    CHECK(number(kernel, ".private_segment_fixed_size") == 0);
    CHECK(number(kernel, ".wavefront_size") == 64);
    CHECK(number(kernel, ".max_flat_workgroup_size") == k.grid.workgroupThreads);
    CHECK(number(kernel, ".sgpr_count") == k.resources.sgpr);
    CHECK(number(kernel, ".vgpr_count") == k.resources.vgpr + k.resources.agpr);
    CHECK(number(kernel, ".agpr_count") == k.resources.agpr);
    CHECK(number(kernel, ".uniform_work_group_size") == 1);
    CHECK_FALSE(kernel[".uses_dynamic_stack"].getBool());
    auto args = kernel[".args"].getArray();
    REQUIRE(args.size() == k.args.size()); // nothing hidden
    for (size_t i = 0; i < args.size(); ++i) {
      auto &arg = args[i].getMap();
      INFO(k.args[i].name);
      CHECK(arg[".name"].getString() == k.args[i].name);
      CHECK(number(arg, ".offset") == k.args[i].offset);
      CHECK(number(arg, ".size") == k.args[i].size);
      bool pointer = k.args[i].kind == "ptr";
      CHECK(arg[".value_kind"].getString() == (pointer ? "global_buffer" : "by_value"));
      if (pointer)
        CHECK(arg[".address_space"].getString() == "global");
    }
    auto &root = l.note.getRoot().getMap();
    CHECK(root["amdhsa.target"].getString() == "amdgcn-amd-amdhsa--gfx950");
    CHECK(root["amdhsa.version"].getArray()[0].getUInt() == 1);
    CHECK(root["amdhsa.version"].getArray()[1].getUInt() == 2);
  }
}
