// A decoded instruction. The decoder turns each code object into an array of these once; execution
// is then
//
//   const Inst &inst = code[wave.ip++];
//   inst.run(wave, inst);
//
// Facts about an opcode (mnemonic, format, operand shapes, flags) come from its row in Gfx950.def;
// `opcode` is the number of that row. Operand shapes are written as a signature
// "destinations=sources", one letter an operand:
//   h 16 bits   p two times 16 bits   w 32 bits   a 32 bits, always in an AGPR
//   d 64-bit float   q 64-bit integer   m 64-bit lane mask in an SGPR pair
//   3 4 6 8 g x   3, 4, 6, 8, 16, 32 dwords
// "w=www" is v_fma_f32, "wm=ww" v_add_co_u32. The letter decides how many registers an operand
// takes and which bits an inline constant such as 1.0 stands for.
#pragma once
#include <cstdint>
#include <string_view>

namespace attune::sim {

struct Wave;
struct Inst;
using Handler = void (*)(Wave &, const Inst &);

enum class Format : uint8_t {
  SOP1,
  SOP2,
  SOPC,
  SOPK,
  SOPP,
  SMEM,
  VOP1,
  VOP2,
  VOPC,
  VOP3,
  VOP3P,
  MAI,
  DS,
  FLAT,
  GLOBAL,
  SCRATCH,
  MUBUF
};

enum OpFlags : uint32_t {
  None = 0,
  ReadsDst =
      1 << 0, ///< the destination is a source too, appended as the last one (v_fmac, v_writelane)
  Carry = 1 << 1,      ///< the short form reads VCC as its last source
  HasLiteral = 1 << 2, ///< always followed by a 32-bit literal that is an operand
  NoVop3 = 1 << 3,     ///< no VOP3 form
  Approx = 1 << 4,     ///< result may differ from hardware in the last bits
  Sdst = 1 << 5,       ///< destination is an SGPR although the format's is a VGPR
  VopcX = 1 << 6,      ///< v_cmpx: writes EXEC as well
  Branch = 1 << 7,     ///< simm16 is a branch target
  ReadsVcc = 1 << 8,   ///< v_div_fmas
  HalfDst = 1 << 9,    ///< 16-bit result goes to the half that op_sel[3] names and keeps the other;
                       ///< else it is 0
  MemU8 = 1 << 10,     ///< memory element is a byte, zero-extended
  MemI8 = 1 << 11,
  MemU16 = 1 << 12,
  MemI16 = 1 << 13,
  D16 = 1 << 14,   ///< loads the low half, keeps the high one
  D16Hi = 1 << 15, ///< loads or stores the high half
  St64 = 1 << 16,  ///< ds_read2st64: offsets count 64 elements
  Atomic = 1 << 17,
  LdsDma = 1 << 18, ///< memory to LDS; no register destination
};
constexpr OpFlags operator|(OpFlags a, OpFlags b) { return OpFlags(uint32_t(a) | uint32_t(b)); }

/// One row of Gfx950.def.
struct OpcodeInfo {
  std::string_view mnemonic;
  Format format;
  uint16_t code; ///< value of the format's opcode field
  std::string_view signature;
  OpFlags flags;
  Handler run;
};

enum class OperandKind : uint8_t {
  None,
  Sgpr,
  Vgpr,
  Agpr,
  Inline,  ///< inline constant or special scalar source; index is the 9-bit source code
  Literal, ///< Inst::literal
};

struct Operand {
  OperandKind kind = OperandKind::None;
  uint8_t dwords = 0;
  uint16_t index = 0;
};

enum InstFlags : uint16_t {
  SourceModified =
      1, ///< some of neg, abs, op_sel, DPP, SDWA is not the default: the plain path is not enough
  ResultModified = 2, ///< clamp, omod, destination selection
  Dpp = 4,            ///< `ext` is the DPP dword, `dppBase` of src[0]
  Sdwa = 8,           ///< `ext` is the SDWA dword
  Sc0 = 16,           ///< atomics: return the old value
  Offen = 32,
  Idxen = 64,
  ToLds = 128,  ///< memory to LDS, no register destination
  Vaddr = 256,  ///< flat, global, scratch: VGPR address present
  Scaled = 512, ///< MFMA with scale operands src[3], src[4]
};

/// One line of the host's cache.
struct alignas(64) Inst {
  Handler run = nullptr;
  uint16_t opcode = 0; ///< row of the table
  uint16_t flags = 0;
  uint32_t pc = 0; ///< byte offset in the text section
  Operand dst, sdst, src[5];
  uint32_t literal = 0; ///< literal operand, simm16, truth table, or index of the branch target
  int32_t offset = 0;   ///< memory offset; DS: offset0 | offset1 << 8
  uint8_t words = 1;    ///< length in dwords
  uint8_t neg = 0;      ///< bit n: source n. MAI: blgp
  uint8_t abs = 0;      ///< VOP3P: neg_hi. MAI: cbsz
  uint8_t opSel = 0;    ///< bit n: source n takes its high half; bit 3: destination. MAI: abid
  uint8_t opSelHi = 0;  ///< VOP3P only
  uint8_t omod = 0;
  bool clamp = false;
  uint8_t memBytes = 0; ///< bytes of memory that one lane (or the scalar load) accesses
  uint32_t ext = 0; ///< DPP or SDWA dword; s_setreg_imm32: the value; MAI with scales: scale bytes
                    ///< of A, B (2 bits each)
};
static_assert(sizeof(Inst) == 64);

/// Number of rows of the table and access to them.
extern const OpcodeInfo kOpcodes[];
extern const uint32_t kOpcodeCount;

/// Dwords of an operand with this signature letter; 0 for an unknown letter.
constexpr uint8_t dwordsOf(char letter) {
  switch (letter) {
  case 'a':
  case 'h':
  case 'p':
  case 'w':
    return 1;
  case 'd':
  case 'q':
  case 'm':
    return 2;
  case '3':
    return 3;
  case '4':
    return 4;
  case '6':
    return 6;
  case '8':
    return 8;
  case 'g':
    return 16;
  case 'x':
    return 32;
  default:
    return 0;
  }
}

} // namespace attune::sim
