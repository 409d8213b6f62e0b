// From instruction words to Inst, by our own table (Gfx950.def) and the field layouts of the gfx9
// encodings:
//
//   SOP2     10 op:7@23 sdst:7@16 ssrc1:8@8 ssrc0:8
//   SOPK     1011 op:5@23 sdst:7@16 simm16
//   SOP1     101111101 sdst:7@16 op:8@8 ssrc0:8
//   SOPC     101111110 op:7@16 ssrc1:8@8 ssrc0:8
//   SOPP     101111111 op:7@16 simm16
//   SMEM     110000 op:8@18 imm@17 soe@14 sdata:7@6 sbase:6      | soffset:7@25 offset:21
//   VOP2     0 op:6@25 vdst:8@17 vsrc1:8@9 src0:9
//   VOP1     0111111 vdst:8@17 op:8@9 src0:9
//   VOPC     0111110 op:8@17 vsrc1:8@9 src0:9
//   VOP3     110100 op:10@16 clamp@15 op_sel:4@11 abs:3@8 (or sdst:7@8) vdst:8   | neg:3@29
//   omod:2@27 src2 src1 src0: 9 each VOP3P    110100111 op:7@16 clamp@15 op_sel_hi2@14 op_sel:3@11
//   neg_hi:3@8 vdst:8 | neg:3@29 op_sel_hi:2@27 src2 src1 src0 MAI      as VOP3P: acc_cd@15
//   abid:4@11 cbsz:3@8 vdst:8       | blgp:3@29 acc:2@27 src2 src1 src0 DS       110110 acc@25
//   op:8@17 gds@16 offset1:8@8 offset0:8  | vdst:8@24 data1:8@16 data0:8@8 addr:8 FLAT     110111
//   sc1@25 op:7@18 nt@17 sc0@16 seg:2@14 sve@13 offset:13  | vdst:8@24 acc@23 saddr:7@16 data:8@8
//   addr:8 MUBUF    111000 op:7@18 nt@17 lds@16 sc1@15 sc0@14 idxen@13 offen@12 offset:12 |
//   soffset:8@24 acc@23 srsrc:5@16 vdata:8@8 vaddr:8
//
// A source of 249 or 250 is followed by an SDWA or DPP dword, 255 by a literal. An MFMA with scales
// is 16 bytes: a VOP3P word pair with opcode 0x2c that holds the scale operands, then the MFMA.
//
// Text may hold data. What the table or a field rule refuses becomes an Inst that faults when it is
// executed, naming its words and the reason; nothing is refused at decode time.
#pragma once
#include "runtime/sim/Instruction.h"
#include "runtime/sim/Notes.h"
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace attune::sim {

/// Row of the opcode table, -1 if there is none.
int findOpcode(Format, uint32_t code);

/// Decodes the instruction at words[0]. `words` reaches to the end of the text. Never fails: see
/// above.
Inst decode(std::span<const uint32_t> words, uint32_t pc);

struct DecodedText {
  std::vector<Inst> code;
  std::vector<int32_t>
      indexOfDword; ///< index in `code` of the instruction that starts at each dword, or -1
  std::shared_ptr<Notes> notes = std::make_shared<Notes>();
};

/// Decodes a whole text section. `starts` are byte offsets at which an instruction surely starts
/// (symbols): decoding that ran out of step over data is brought back there. Branch targets become
/// indices.
DecodedText decodeText(std::span<const uint32_t> words, std::span<const uint32_t> starts);

/// Why an instruction that the decoder refused cannot be executed; empty for a good one.
std::string refusal(const Inst &, std::span<const uint32_t> words);

/// Handler of refused instructions.
void refused(Wave &, const Inst &);

} // namespace attune::sim
