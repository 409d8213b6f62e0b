// How to get a tile that lies in registers one way to lie another way.
//
// Composing one layout with the other's inverse says, for every place (register, lane, wave), where
// its value has to go. Which bits move decides what it costs: register bits alone are a renaming
// and free; lane bit 5 or 4 against a register bit is v_permlane32_swap or v_permlane16_swap; small
// lane moves are DPP; anything else within a wave is ds_bpermute; a move between waves goes through
// LDS. findConversion compares the ways and returns the cheapest as data, from which a lowering
// emits instructions and a test can execute them.
//
// Elements are 32 bits wide, one to a register.
#pragma once
#include "compiler/layout/LinearLayout.h"

namespace attune::layout {

/// A cross-lane move inside 16 lanes, as the DPP control of a v_mov_b32.
struct DppMove {
  enum Control {
    QuadPerm,   ///< lane i of each four reads lane quad[i] of them
    HalfMirror, ///< row_half_mirror: reads lane i XOR 7
    RowRor8,    ///< row_ror:8: reads lane i XOR 8
    Mirror,     ///< row_mirror: reads lane i XOR 15
  };
  Control control = QuadPerm;
  int quad[4] = {0, 1, 2, 3};
};

struct ConversionStep {
  enum Kind {
    Rename,         ///< `fromRegister`; no instruction
    Permlane32Swap, ///< on each pair of registers that differ in `registerBit`, the one without it
                    ///< as vdst
    Permlane16Swap, ///< the same
    Dpp,            ///< `moves` of each register, in order
    Select,         ///< `source`, whose lanes all stay: v_cndmask between registers
    Bpermute, ///< `source`: a ds_bpermute for each register that a lane of the target may take
              ///< from, and selects
    Lds,      ///< write the tile in the old layout, read it in the new one
  };
  Kind kind = Rename;
  std::vector<int> fromRegister;           ///< Rename: register r becomes what fromRegister[r] was
  int registerBit = 0;                     ///< swaps
  std::vector<std::vector<DppMove>> moves; ///< Dpp: of each register, none if it stays
  LinearLayout source; ///< Select, Bpermute: (register, lane) -> (register, lane) it comes from
  int instructions = 0;
  int clocks = 0; ///< estimate for one wave, latency included
};

struct Conversion {
  std::vector<ConversionStep> steps;
  bool isFree() const { return clocks() == 0; }
  int clocks() const;
  std::string str() const; ///< "rename, 8 x permlane32_swap (160 clk)"
};

/// Both layouts map (register, lane, wave) to the same outputs, each element in one place and the
/// same number of registers, lanes and waves. An error says which of this does not hold.
Result<Conversion> findConversion(const LinearLayout &from, const LinearLayout &to);

/// The same without LDS, which may be in use: an error if a value changes its wave.
Result<Conversion> findWaveConversion(const LinearLayout &from, const LinearLayout &to);

} // namespace attune::layout
