// What a code object says about its kernel: the AMDGPU metadata, a MessagePack document in a note.
// Assembly text has the same document as YAML.
//
//   amdhsa.kernels: [ { .name, .kernarg_segment_size, .vgpr_count, ..., .args: [ { .offset, .size,
//   .value_kind } ] } ]
#include "compiler/codegen/Codegen.h"
#include "fmt/format.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/Object/ELF.h"

namespace attune::codegen {
namespace {

using llvm::msgpack::Document;

Error malformed(std::string_view what) {
  return Error{ErrorCode::Internal, fmt::format("code object: {}", what)};
}

/// The bytes of the metadata note.
Result<std::string> findNote(const std::vector<uint8_t> &codeObject) {
  const llvm::StringRef bytes(reinterpret_cast<const char *>(codeObject.data()), codeObject.size());
  auto elf = llvm::object::ELF64LEFile::create(bytes);
  if (!elf)
    return malformed(llvm::toString(elf.takeError()));
  auto segments = elf->program_headers();
  if (!segments)
    return malformed(llvm::toString(segments.takeError()));
  for (const auto &segment : *segments) {
    if (segment.p_type != llvm::ELF::PT_NOTE)
      continue;
    llvm::Error error = llvm::Error::success();
    for (const auto &note : elf->notes(segment, error))
      if (note.getName() == "AMDGPU" && note.getType() == llvm::ELF::NT_AMDGPU_METADATA) {
        llvm::consumeError(std::move(error));
        return note.getDescAsStringRef(segment.p_align).str();
      }
    if (error)
      return malformed(llvm::toString(std::move(error)));
  }
  return malformed("it has no AMDGPU metadata note");
}

/// An unsigned field of a kernel; absent counts are zero, as the metadata format defines.
uint64_t number(llvm::msgpack::MapDocNode &map, llvm::StringRef key) {
  auto it = map.find(key);
  return it != map.end() && it->second.getKind() == llvm::msgpack::Type::UInt ? it->second.getUInt()
                                                                              : 0;
}

/// A string field; "" if absent.
std::string text(llvm::msgpack::MapDocNode &map, llvm::StringRef key) {
  auto it = map.find(key);
  return it != map.end() && it->second.getKind() == llvm::msgpack::Type::String
             ? it->second.getString().str()
             : "";
}

Resources readResources(llvm::msgpack::MapDocNode &kernel) {
  Resources resources;
  // gfx90a and later have one file for both kinds, and .vgpr_count counts all of it.
  resources.agpr = static_cast<int>(number(kernel, ".agpr_count"));
  resources.vgpr = static_cast<int>(number(kernel, ".vgpr_count")) - resources.agpr;
  resources.sgpr = static_cast<int>(number(kernel, ".sgpr_count"));
  resources.ldsBytes = static_cast<int>(number(kernel, ".group_segment_fixed_size"));
  resources.scratchBytes = static_cast<int>(number(kernel, ".private_segment_fixed_size"));
  resources.vgprSpills = static_cast<int>(number(kernel, ".vgpr_spill_count"));
  resources.sgprSpills = static_cast<int>(number(kernel, ".sgpr_spill_count"));
  return resources;
}

Result<KernelInfo> readDocument(Document &document) {
  if (!document.getRoot().isMap())
    return malformed("its metadata is not a map");
  llvm::msgpack::DocNode kernels = document.getRoot().getMap()["amdhsa.kernels"];
  if (!kernels.isArray() || kernels.getArray().size() != 1 || !kernels.getArray()[0].isMap())
    return malformed("its metadata does not describe exactly one kernel");
  llvm::msgpack::MapDocNode &kernel = kernels.getArray()[0].getMap();

  KernelInfo info;
  info.name = text(kernel, ".name");
  if (info.name.empty())
    return malformed("its kernel has no name");
  info.kernargBytes = static_cast<uint32_t>(number(kernel, ".kernarg_segment_size"));
  info.maxWorkgroupThreads = static_cast<int>(number(kernel, ".max_flat_workgroup_size"));
  info.resources = readResources(kernel);
  if (llvm::msgpack::DocNode args = kernel[".args"]; args.isArray())
    for (llvm::msgpack::DocNode &arg : args.getArray())
      if (arg.isMap())
        info.args.push_back({text(arg.getMap(), ".name"), "",
                             static_cast<uint32_t>(number(arg.getMap(), ".offset")),
                             static_cast<uint32_t>(number(arg.getMap(), ".size"))});
  return info;
}

} // namespace

Result<KernelInfo> readKernel(const std::vector<uint8_t> &codeObject) {
  Result<std::string> note = findNote(codeObject);
  if (!note)
    return note.error();
  Document document;
  if (!document.readFromBlob(*note, /*Multi=*/false))
    return malformed("its metadata note is not MessagePack");
  return readDocument(document);
}

Result<KernelInfo> readIsa(std::string_view isa) {
  constexpr std::string_view begin = "\t.amdgpu_metadata\n", end = "\t.end_amdgpu_metadata\n";
  const size_t from = isa.find(begin), to = isa.find(end);
  if (from == isa.npos || to == isa.npos || to < from)
    return malformed("its assembly text has no AMDGPU metadata");
  Document document;
  if (!document.fromYAML(isa.substr(from + begin.size(), to - from - begin.size())))
    return malformed("its metadata is not YAML");
  return readDocument(document);
}

} // namespace attune::codegen
