// Conversions, executed instruction by instruction on a toy register file: whatever findConversion
// returns must bring every value to its place. The instructions' meaning is written here from their
// ISA description.
#include "compiler/layout/Conversion.h"
#include "compiler/layout/Fragment.h"
#include "tests/layout/Support.h"

using namespace attune::layout;
using namespace attune::layout::test;

namespace {

/// value[wave][register][lane]
class Machine {
public:
  Machine(const LinearLayout &from, const LinearLayout &to) : from_(from), to_(to) {
    value_.assign(from.inSize("wave"), File(from.inSize("register"), Row(from.inSize("lane"))));
    each([&](uint32_t w, uint32_t r, uint32_t l) { value_[w][r][l] = element(from_, r, l, w); });
  }

  void run(const ConversionStep &step) {
    if (step.kind == ConversionStep::Lds)
      return throughLds();
    for (File &file : value_)
      run(step, file);
  }

  /// Values that are not where the target layout has them.
  int misplaced() const {
    int count = 0;
    each([&](uint32_t w, uint32_t r, uint32_t l) {
      count += value_[w][r][l] != element(to_, r, l, w);
    });
    return count;
  }

private:
  using Row = std::vector<uint64_t>;
  using File = std::vector<Row>;

  template <class F> void each(F f) const {
    for (uint32_t w = 0; w < uint32_t(from_.inSize("wave")); ++w)
      for (uint32_t r = 0; r < uint32_t(from_.inSize("register")); ++r)
        for (uint32_t l = 0; l < uint32_t(from_.inSize("lane")); ++l)
          f(w, r, l);
  }

  /// The element's number, by the order of the outputs of `from`.
  uint64_t element(const LinearLayout &layout, uint32_t r, uint32_t l, uint32_t w) const {
    uint64_t number = 0;
    for (const Dim &d : from_.outs())
      number = number << d.bits | layout.at(d.name, {{"register", r}, {"lane", l}, {"wave", w}});
    return number;
  }

  void throughLds() {
    std::vector<uint64_t> lds(uint64_t(1) << from_.inBits());
    each([&](uint32_t w, uint32_t r, uint32_t l) {
      lds[element(from_, r, l, w)] = value_[w][r][l];
    });
    each([&](uint32_t w, uint32_t r, uint32_t l) { value_[w][r][l] = lds[element(to_, r, l, w)]; });
  }

  static void run(const ConversionStep &step, File &file) {
    switch (step.kind) {
    case ConversionStep::Rename: {
      const File old = file;
      for (size_t r = 0; r < file.size(); ++r)
        file[r] = old[step.fromRegister[r]];
      return;
    }
    case ConversionStep::Permlane32Swap:
      return permlaneSwap(file, step, 32);
    case ConversionStep::Permlane16Swap:
      return permlaneSwap(file, step, 16);
    case ConversionStep::Dpp:
      for (size_t r = 0; r < file.size(); ++r)
        for (const DppMove &move : step.moves[r])
          dpp(file[r], move);
      return;
    case ConversionStep::Select:
    case ConversionStep::Bpermute:
      return gather(file, step);
    case ConversionStep::Lds:
      return;
    }
  }

  /// vdst's lanes with the bit set change places with vsrc's lanes without it.
  static void permlaneSwap(File &file, const ConversionStep &step, size_t laneBit) {
    int pairs = 0;
    for (size_t vdst = 0; vdst < file.size(); ++vdst) {
      if (vdst >> step.registerBit & 1)
        continue;
      const size_t vsrc = vdst | size_t(1) << step.registerBit;
      for (size_t l = 0; l < file[vdst].size(); ++l)
        if (l & laneBit)
          std::swap(file[vdst][l], file[vsrc][l ^ laneBit]);
      ++pairs;
    }
    CHECK(pairs == step.instructions);
  }

  static void dpp(Row &row, const DppMove &move) {
    const Row old = row;
    for (size_t l = 0; l < row.size(); ++l) {
      switch (move.control) {
      case DppMove::QuadPerm:
        row[l] = old[(l & ~size_t(3)) + move.quad[l & 3]];
        break;
      case DppMove::HalfMirror:
        row[l] = old[(l & ~size_t(7)) + 7 - (l & 7)];
        break;
      case DppMove::RowRor8:
        row[l] = old[(l & ~size_t(15)) + ((l - 8) & 15)];
        break;
      case DppMove::Mirror:
        row[l] = old[(l & ~size_t(15)) + 15 - (l & 15)];
        break;
      }
    }
  }

  /// One ds_bpermute (or none) for each source register of a target register, then selects by lane.
  static void gather(File &file, const ConversionStep &step) {
    const File old = file;
    for (uint32_t r = 0; r < file.size(); ++r)
      for (uint32_t l = 0; l < file[r].size(); ++l) {
        const uint32_t from = step.source.at("lane", {{"register", r}, {"lane", l}});
        if (step.kind == ConversionStep::Select)
          REQUIRE(from == l);
        file[r][l] = old[step.source.at("register", {{"register", r}, {"lane", l}})][from];
      }
  }

  LinearLayout from_, to_;
  std::vector<File> value_;
};

/// Finds, executes and checks; returns the conversion's text.
std::string converted(const LinearLayout &from, const LinearLayout &to) {
  auto conversion = findConversion(from, to);
  INFO(from.str() << " to " << to.str() << ": "
                  << (conversion ? conversion->str() : conversion.error().message));
  REQUIRE(conversion);
  Machine machine(from, to);
  for (const ConversionStep &step : conversion->steps)
    machine.run(step);
  CHECK(machine.misplaced() == 0);
  return conversion->str();
}

std::string converted(std::string_view from, std::string_view to) {
  return converted(parsed(from), parsed(to));
}

} // namespace

TEST_CASE("the bits that move decide the instruction") {
  CHECK(converted("row=(r0,r1,l5,r2,r3) col=(l0..l4)", "row=(r0,r1,l5,r2,r3) col=(l0..l4)") ==
        "nothing");
  CHECK(converted("row=(r0,r1,l5,r2,r3) col=(l0..l4)", "row=(r2,r0,l5,r3,r1) col=(l0..l4)") ==
        "rename (0 clk)");
  CHECK(converted("row=(r0,r1,l5,r2,r3) col=(l0..l4)", "row=(r0^r2,r1,l5,r2,r3) col=(l0..l4)") ==
        "rename (0 clk)");
  // Lane bit 5 against a register bit: an accumulator as an operand with its keys in order.
  CHECK(converted("row=(r0,r1,l5,r3,r2) col=(l0..l4)", "row=(r0,r1,r3,l5,r2) col=(l0..l4)") ==
        "8 x permlane32_swap (160 clk)");
  CHECK(converted("row=(r0,r1,l5,r2,r3) col=(l0..l4)", "row=(r0,r1,r2,l5,r3) col=(l0..l4)") ==
        "rename, 8 x permlane32_swap, rename (160 clk)");
  // Lane bit 4 likewise.
  CHECK(converted("row=(r0,l4) col=(l0..l3,l5)", "row=(l4,r0) col=(l0..l3,l5)") ==
        "1 x permlane16_swap (20 clk)");
  // Lanes of a quad, and of eight and sixteen.
  CHECK(converted("col=(l0..l5) row=(r0)", "col=(l1,l0,l2..l5) row=(r0)") == "2 x dpp (8 clk)");
  CHECK(converted("col=(l0..l5) row=(r0)", "col=(l0^r0,l1..l5) row=(r0)") == "1 x dpp (4 clk)");
  CHECK(converted("col=(l0..l5) row=(r0)", "col=(l0,l1,l2^r0,l3..l5) row=(r0)") ==
        "2 x dpp (8 clk)");
  CHECK(converted("col=(l0..l5) row=(r0)", "col=(l0..l2,l3^r0,l4,l5) row=(r0)") ==
        "1 x dpp (4 clk)");
  // A register chosen by the lane: no lane moves, so selects do.
  CHECK(converted("col=(l0..l5) row=(r0)", "col=(l0..l5) row=(r0^l3)") == "2 x select (8 clk)");
  // Other lane moves.
  CHECK(converted("col=(l0..l5)", "col=(l3,l1,l2,l0,l4,l5)") == "1 x bpermute (58 clk)");
  // Between waves.
  CHECK(converted("row=(r0,w0) col=(l0..l5)", "row=(w0,r0) col=(l0..l5)") == "2 x lds (144 clk)");
  CHECK(converted("row=(r0,w0) col=(l0..l5)", "row=(r0,w0) col=(l1,l0,l2..l5)") ==
        "2 x dpp (8 clk)");
}

TEST_CASE("lane bits 4 and 5 change places by way of a register") {
  const std::string text = converted("row=(r0,r1) col=(l0..l5)", "row=(r0,r1) col=(l0..l3,l5,l4)");
  // Three swaps of two registers cost 120; four ds_bpermute and their latency cost 82.
  CHECK(text == "4 x bpermute (82 clk)");
}

TEST_CASE("random bit permutations are carried out") {
  std::mt19937 random(11);
  for (int registers : {0, 1, 2, 4})
    for (int i = 0; i < 60; ++i) {
      const std::vector<Dim> ins = {{"register", registers}, {"lane", 6}},
                             outs = {{"tile", registers + 6}};
      converted(randomBitPermutation(random, ins, outs), randomBitPermutation(random, ins, outs));
    }
}

TEST_CASE("any random bijection is carried out") {
  std::mt19937 random(12);
  for (int waves : {0, 1})
    for (int i = 0; i < 60; ++i) {
      const std::vector<Dim> ins = {{"register", 3}, {"lane", 6}, {"wave", waves}},
                             outs = {{"row", 4}, {"col", 5 + waves}};
      converted(randomBijection(random, ins, outs), randomBijection(random, ins, outs));
    }
}

TEST_CASE("maps one elementary step apart are carried out by that step's kind") {
  std::mt19937 random(13);
  const std::vector<Dim> ins = {{"register", 3}, {"lane", 6}}, outs = {{"tile", 9}};
  for (int i = 0; i < 40; ++i) {
    const LinearLayout from = randomBijection(random, ins, outs);
    // The same place map in front of it, so that only registers, or only a lane and a register,
    // differ.
    const LinearLayout registersOnly = randomBijection(random, {{"register", 3}}, {{"register", 3}})
                                           .product(LinearLayout::identity("lane", "lane", 6));
    auto free = findConversion(from, registersOnly.then(from));
    REQUIRE(free);
    CHECK(free->isFree());
    const LinearLayout swapped = parsed("register=(r0,l5,r2) lane=(l0..l4,r1)");
    auto swap = findConversion(from, swapped.then(from));
    REQUIRE(swap);
    CHECK(swap->clocks() == 80);
    converted(from, swapped.then(from));
  }
}

TEST_CASE("tiles go to and from memory by permlane swaps, whatever their size") {
  const MmaShape mma{32, 32, 16, 8};
  // As lowering sees 16-bit elements: pairs of them, so that a row bit and a register bit are less.
  const LinearLayout operand = parsed("row=(r0,r1,l5) col=(l0..l4)"),
                     rounded = parsed("row=(r0,l5,r1,r2) col=(l0..l4)"),
                     accumulator = *fragmentLayout(mma, Operand::Accumulator);
  struct Tile {
    const LinearLayout &atom;
    int bytes, swaps;
  };
  for (const Tile &tile : {Tile{operand, 2, 1}, Tile{rounded, 2, 2}, Tile{accumulator, 4, 1}})
    for (int rowBits = 5 - (tile.bytes == 2); rowBits <= 8; ++rowBits) {
      const LinearLayout from = tile.atom.product(
          LinearLayout::identity("register", "row", rowBits - tile.atom.outBits("row")));
      // Words of 4 bytes either way: a chunk is four of them.
      const LinearLayout to = sectorLayout(rowBits, 5, 4);
      INFO(from.str() << " -> " << to.str());
      auto conversion = findWaveConversion(from, to);
      REQUIRE(conversion);
      int swaps = 0;
      for (const ConversionStep &step : conversion->steps) {
        const bool isSwap = step.kind == ConversionStep::Permlane16Swap ||
                            step.kind == ConversionStep::Permlane32Swap;
        CHECK((isSwap || step.kind == ConversionStep::Rename));
        swaps += isSwap;
      }
      CHECK(swaps == tile.swaps);
      Machine machine(from, to);
      for (const ConversionStep &step : conversion->steps)
        machine.run(step);
      CHECK(machine.misplaced() == 0);
      // A sector is four lanes' chunks, and sixteen lanes apart they are of one row.
      for (uint32_t lane = 0; lane < 64; ++lane) {
        CHECK(to.at("row", {{"lane", lane}}) == ((lane >> 5 & 1) + 2 * (lane >> 4 & 1)) * 4);
        CHECK(to.at("col", {{"lane", lane}}) == (lane & 15));
      }
    }
  const LinearLayout between = parsed("row=(r0,w0) col=(l0..l5)");
  auto refused = findWaveConversion(between, parsed("row=(w0,r0) col=(l0..l5)"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("values change their wave") != std::string::npos);
}

TEST_CASE("layouts of different tiles or shapes have no conversion") {
  auto fault = [](std::string_view a, std::string_view b) {
    auto result = findConversion(parsed(a), parsed(b));
    REQUIRE_FALSE(result);
    return result.error().message;
  };
  CHECK(fault("row=(r0,l0)", "row=(l0)") ==
        "no conversion from row=(r0,l0) to row=(l0): 1 against 0 bits of register");
  CHECK(fault("row=(r0,l0)", "col=(r0,l0)") ==
        "no conversion from row=(r0,l0) to col=(r0,l0): the tiles differ in row");
  CHECK(fault("row=(r0,l0)", "row=(r0,r0) free=(l0)") ==
        "no conversion from row=(r0,l0) to row=(r0,r0) free=(l0): row=(r0,r0) free=(l0) does not "
        "hold each element once");
  CHECK(
      fault("row=(r0,s0)", "row=(r0,s0)") ==
      "no conversion from row=(r0,s0) to row=(r0,s0): input step is none of register, lane, wave");
}
