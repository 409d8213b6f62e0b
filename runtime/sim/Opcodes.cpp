// The opcode table as an array, and the index by (format, opcode) that the decoder looks rows up
// in.
#include "runtime/sim/Decoder.h"
#include "runtime/sim/Ops.h"
#include <array>

namespace attune::sim {

const OpcodeInfo kOpcodes[] = {
#define SIM_OP(handler, mnemonic, format, code, signature, flags)                                  \
  {mnemonic, Format::format, code, signature, flags, handler},
#include "runtime/sim/Gfx950.def"
#undef SIM_OP
};
const uint32_t kOpcodeCount = std::size(kOpcodes);

namespace {
constexpr int kFormats = int(Format::MUBUF) + 1;
constexpr int kCodes = 1024;

struct Index {
  std::array<std::array<int16_t, kCodes>, kFormats> row;
  Index() {
    for (auto &format : row)
      format.fill(-1);
    for (uint32_t n = 0; n < kOpcodeCount; ++n)
      add(kOpcodes[n], int16_t(n));
  }
  void add(const OpcodeInfo &op, int16_t n) {
    row[int(op.format)][op.code] = n;
    // VOP1, VOP2 and VOPC have a second encoding in the space of VOP3.
    if (op.flags & NoVop3)
      return;
    if (op.format == Format::VOPC)
      row[int(Format::VOP3)][op.code] = n;
    else if (op.format == Format::VOP2)
      row[int(Format::VOP3)][0x100 + op.code] = n;
    else if (op.format == Format::VOP1)
      row[int(Format::VOP3)][0x140 + op.code] = n;
  }
};
} // namespace

int findOpcode(Format format, uint32_t code) {
  static const Index index;
  return code < kCodes ? index.row[int(format)][code] : -1;
}

} // namespace attune::sim
