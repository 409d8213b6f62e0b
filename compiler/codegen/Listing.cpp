// The instructions of an object as text, each with the line it came from: LLVM's disassembler, and
// the line table that -g would give a debugger.
#include "compiler/codegen/Codegen.h"
#include "fmt/format.h"
#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Target/TargetMachine.h"
#include <map>

namespace attune::codegen {
namespace {

Error failed(std::string_view kernel, std::string what) {
  return Error{ErrorCode::Internal, fmt::format("kernel {}: listing: {}", kernel, what)};
}

/// Line by address in the text section; a row of the table holds up to the next one.
std::map<uint64_t, int> linesOf(const llvm::object::ObjectFile &object) {
  std::map<uint64_t, int> lines;
  auto dwarf = llvm::DWARFContext::create(object);
  for (const auto &unit : dwarf->compile_units())
    if (const auto *table = dwarf->getLineTableForUnit(unit.get()))
      for (const auto &row : table->Rows)
        lines[row.Address.Address] = row.EndSequence ? 0 : int(row.Line);
  return lines;
}

/// What it takes to print instructions of one machine.
struct Printer {
  explicit Printer(const llvm::TargetMachine &machine)
      : context(machine.getTargetTriple(), machine.getMCAsmInfo(), machine.getMCRegisterInfo(),
                machine.getMCSubtargetInfo()),
        decoder(machine.getTarget().createMCDisassembler(*machine.getMCSubtargetInfo(), context)),
        printer(machine.getTarget().createMCInstPrinter(
            machine.getTargetTriple(), 0, *machine.getMCAsmInfo(), *machine.getMCInstrInfo(),
            *machine.getMCRegisterInfo())),
        subtarget(*machine.getMCSubtargetInfo()) {}
  llvm::MCContext context;
  std::unique_ptr<llvm::MCDisassembler> decoder;
  std::unique_ptr<llvm::MCInstPrinter> printer;
  const llvm::MCSubtargetInfo &subtarget;
};

std::string textOf(Printer &p, const llvm::MCInst &inst, uint64_t pc) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  p.printer->printInst(&inst, pc, "", p.subtarget, stream);
  for (char &c : text)
    c = c == '\t' || c == '\n' ? ' ' : c;
  const size_t first = text.find_first_not_of(' '), last = text.find_last_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

} // namespace

Result<std::vector<ListingRow>> listObject(LlvmKernel &kernel, std::string_view object) {
  auto file = llvm::object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef(llvm::StringRef(object.data(), object.size()), "kernel.o"));
  if (!file)
    return failed(kernel.name(), llvm::toString(file.takeError()));
  Printer printer(kernel.machine());
  if (!printer.decoder || !printer.printer)
    return failed(kernel.name(), "this LLVM has no AMDGPU disassembler");
  const std::map<uint64_t, int> lines = linesOf(**file);
  std::vector<ListingRow> rows;
  for (const llvm::object::ELFSymbolRef symbol :
       llvm::cast<llvm::object::ELFObjectFileBase>(**file).symbols()) {
    if (symbol.getELFType() != llvm::ELF::STT_FUNC)
      continue;
    auto section = symbol.getSection();
    auto begin = symbol.getValue();
    if (!section || !begin)
      return failed(kernel.name(),
                    llvm::toString(section ? begin.takeError() : section.takeError()));
    auto contents = (*section)->getContents();
    if (!contents)
      return failed(kernel.name(), llvm::toString(contents.takeError()));
    llvm::ArrayRef<uint8_t> bytes(contents->bytes_begin(), contents->size());
    for (uint64_t pc = *begin, size = 0, end = pc + symbol.getSize(); pc < end; pc += size) {
      llvm::MCInst inst;
      if (printer.decoder->getInstruction(inst, size, bytes.slice(pc), pc, llvm::nulls()) !=
          llvm::MCDisassembler::Success)
        return failed(kernel.name(), fmt::format("no instruction at {:#x}", pc));
      auto line = lines.upper_bound(pc);
      rows.push_back({uint32_t(pc), textOf(printer, inst, pc),
                      line == lines.begin() ? 0 : std::prev(line)->second});
    }
  }
  return rows;
}

} // namespace attune::codegen
