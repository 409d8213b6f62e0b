// What strict mode needs to know of an instruction, worked out once from its decoded form: which
// registers it reads and writes and in what role, what it produces, how long it takes, and how
// definedness flows through it.
//
// Registers are numbered as cells of one file: 0..511 the unified VGPR/AGPR rows, 512..639 the
// scalar registers by operand number (VCC, M0 and EXEC among them), 640 SCC.
#pragma once
#include "runtime/sim/Wave.h"
#include <array>
#include <string>

namespace attune::sim::strict {

inline constexpr unsigned kScalarCell = 512, kSccCell = 640, kCells = 641;

/// Roles of a register in an instruction: what the hazard tables distinguish.
enum class Use : uint8_t {
  Valu,        ///< vector source of a VALU instruction
  Trans,       ///< of a transcendental one
  DotC,        ///< accumulator of a dot product
  Dpp,         ///< read through DPP
  Swap,        ///< operand of a permlane swap
  LaneRead,    ///< v_readlane, v_readfirstlane
  MatrixAB,    ///< A, B, scale or index of a matrix product
  MatrixC,     ///< its C
  MatrixCSame, ///< its C, exactly the D of the producer
  Memory,      ///< address or data of a memory or LDS instruction
  ScalarValu,  ///< scalar source of a VALU instruction, lane masks too
  VccValu,     ///< the same, if it is VCC
  ZeroFlag,    ///< VCCZ or EXECZ as a source of a VALU instruction
  CarryIn,     ///< carry of v_addc, v_subb
  ScalarVmem,  ///< of a vector memory instruction
  LaneSelect,  ///< v_readlane, v_writelane
  DivFmas,     ///< VCC of v_div_fmas
  DppExec,     ///< EXEC of a DPP instruction
  LaneExec,    ///< EXEC of v_readlane, v_readfirstlane, v_writelane and the permlane swaps
  DmaM0,       ///< M0 of an LDS-DMA
  Scalar,      ///< read by the scalar unit or its memory
  ValuWrite,
  LoadWrite,
  MatrixWrite,
  ScalarWrite,
  HeldValu,   ///< VALU overwrites what an earlier instruction has not read for sure
  HeldMatrix, ///< a matrix product does
  Count
};

/// What wrote a register, as far as a reader may have to wait for it.
enum class Producer : uint8_t {
  None, ///< nothing to wait for but s_waitcnt
  Valu,
  Shifted, ///< VALU that moves its result to another place in the register: op_sel, SDWA
  Trans,
  Dot,
  Xdl2, ///< matrix products of 2, 4, 8, 16 passes
  Xdl4,
  Xdl8,
  Xdl16,
  Sgemm2, ///< of f32
  Sgemm8,
  Sgemm16,
  Dgemm4, ///< of f64
  Dgemm16,
  ValuScalar, ///< VALU writes a scalar register
  SaluScalar,
  WideStore,     ///< holds the data of a store of more than 8 bytes
  WideStoreSgpr, ///< of a buffer store with an offset in an SGPR
  Count
};

/// Wait states that a use must keep from a producer.
using HazardTable = std::array<std::array<uint8_t, size_t(Use::Count)>, size_t(Producer::Count)>;
extern const HazardTable kHazards;

/// How undefined bits get from sources to destinations.
enum class Flow : uint8_t {
  None,
  Lanes,   ///< each lane of the result from the same lane of all sources
  Halves,  ///< v_pk_*_f32, v_pk_mov: each dword from the dwords that op_sel names
  Dwords,  ///< v_mov_b64
  Carries, ///< 64-bit sums: the low dword does not depend on high ones
  Pair,    ///< v_cvt_pk_*, v_pack_b32_f16: a half from each source, so undefined if both are
  Shift,   ///< of 64 bits: what is shifted out does not matter
  Select,  ///< v_cndmask
  Compare, ///< to a lane mask
  ReadLane,
  FirstLane,
  WriteLane,
  Swap, ///< v_swap
  PermSwap16,
  PermSwap32,
  Matrix,
  Scalar,     ///< any undefined bit makes all of the result undefined
  BitAnd,     ///< s_and, s_andn2: a defined 0 decides
  BitMix,     ///< s_mov, s_not, s_or, s_xor: bit by bit
  ScalarPick, ///< s_cselect
  SaveExec,
  Branch, ///< the sources decide where to go
  Memory, ///< sources are addresses; results come when the access is issued
};

struct Span {
  uint16_t first = 0;
  uint8_t count = 0;
  Use use = Use::Valu;
  uint8_t source = 0; ///< number in Inst::src; 255: implicit
  bool agpr = false;  ///< named a_i
};

/// What kind of access a memory instruction is.
enum class Space : uint8_t { None, Scalar, Lds, Exchange, Buffer, Global, Flat, Scratch };

struct Facts {
  bool known = false;
  uint8_t reads = 0, writes = 0;
  uint8_t waitStates = 1;
  uint8_t passes = 0; ///< matrix products
  Producer vectorProducer = Producer::None, scalarProducer = Producer::None;
  Producer holder = Producer::None; ///< keeps reading a source for a while: C of a matrix product,
  uint8_t heldSource = 0;           ///< data of a store
  Flow flow = Flow::None;
  Space space = Space::None;
  bool allLanes = false;  ///< EXEC does not matter
  bool crossLane = false; ///< a lane may read others
  bool partial = false;   ///< writes part of each dword; the rest may stay undefined
  bool zeroes = false;    ///< a 0 in either of two sources makes the result 0
  bool store = false;     ///< a memory write or atomic
  bool atomic = false;
  bool device = false;   ///< sc1, or an atomic: coherent with other workgroups
  bool coherent = false; ///< with the waves of its own: sc0 too
  bool writesExec = false;
  Span read[10];
  Span write[4];
};

Facts factsOf(const Inst &, uint32_t accumOffset);
/// The same under s_set_gpr_idx: M0's index is added to the VGPR numbers that `enabled` (Wave's
/// vectorMode) names.
Facts movedFacts(const Facts &, uint32_t enabled, uint32_t index);
/// Does s_set_gpr_idx move this one's registers?
bool canMove(const Inst &);

/// "v12", "a3", "s4", "vcc_hi", "scc".
std::string cellName(unsigned cell, bool agpr, uint32_t accumOffset);

} // namespace attune::sim::strict
