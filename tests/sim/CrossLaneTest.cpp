// DPP controls, the permlane swaps and SDWA against hand-written rules.
#include "runtime/sim/CrossLane.h"
#include <catch2/catch.hpp>
#include <functional>

using namespace attune::sim;

namespace {

constexpr uint64_t kAllLanes = ~uint64_t(0);

/// Source by the rule of the ISA text; -1 for none.
void checkControl(unsigned control, const std::function<int(int)> &rule) {
  INFO("dpp_ctrl " << control);
  auto table = dppTable(control);
  REQUIRE(table);
  for (int l = 0; l < 64; ++l) {
    int source = rule(l);
    REQUIRE(bool(table->exists >> l & 1) == (source >= 0));
    if (source >= 0)
      REQUIRE(int(table->source[l]) == source);
  }
}

} // namespace

TEST_CASE("DPP source lanes of every control", "[crosslane]") {
  for (unsigned control : {0x00u, 0x1bu, 0xe4u, 0x4eu, 0xffu})
    checkControl(control, [=](int l) { return l / 4 * 4 + int(control >> (2 * (l % 4)) & 3); });
  for (unsigned n = 1; n < 16; ++n) {
    checkControl(0x100 + n, [=](int l) { return l % 16 + int(n) < 16 ? l + int(n) : -1; });
    checkControl(0x110 + n, [=](int l) { return l % 16 >= int(n) ? l - int(n) : -1; });
    checkControl(0x120 + n, [=](int l) { return l / 16 * 16 + (l % 16 + 16 - int(n)) % 16; });
  }
  for (unsigned n = 0; n < 16; ++n)
    checkControl(0x150 + n, [=](int l) { return l / 16 * 16 + int(n); });
  checkControl(0x130, [](int l) { return l < 63 ? l + 1 : -1; });
  checkControl(0x134, [](int l) { return (l + 1) % 64; });
  checkControl(0x138, [](int l) { return l - 1; });
  checkControl(0x13c, [](int l) { return (l + 63) % 64; });
  checkControl(0x140, [](int l) { return l / 16 * 16 + 15 - l % 16; });
  checkControl(0x141, [](int l) { return l / 8 * 8 + 7 - l % 8; });
  checkControl(0x142, [](int l) { return l / 16 * 16 - 1; });
  checkControl(0x143, [](int l) { return l >= 32 ? 31 : -1; });
}

TEST_CASE("undefined DPP controls are refused", "[crosslane]") {
  for (unsigned control : {0x100u, 0x110u, 0x120u, 0x131u, 0x139u, 0x144u, 0x14fu, 0x160u, 0x1ffu})
    CHECK_FALSE(dppTable(control));
}

TEST_CASE("DPP: invalid sources, masks and EXEC", "[crosslane]") {
  uint32_t in[64], out[64];
  for (unsigned l = 0; l < 64; ++l)
    in[l] = 100 + l;
  DppTable shl1 = *dppTable(0x101);
  // Without bound_ctrl the last lane of a row is not written, with it reads 0.
  CHECK(applyDpp(shl1, false, 15, 15, kAllLanes, in, out) == 0x7fff7fff7fff7fffu);
  CHECK(out[3] == 104);
  CHECK(applyDpp(shl1, true, 15, 15, kAllLanes, in, out) == kAllLanes);
  CHECK(out[15] == 0);
  // An inactive source is as good as none.
  CHECK(applyDpp(shl1, false, 15, 15, kAllLanes & ~uint64_t(4), in, out) ==
        (0x7fff7fff7fff7fffu & ~uint64_t(6)));
  CHECK(applyDpp(shl1, true, 15, 15, kAllLanes & ~uint64_t(4), in, out) ==
        (kAllLanes & ~uint64_t(4)));
  CHECK(out[1] == 0);
  // Row and bank masks leave lanes alone even with bound_ctrl.
  CHECK(applyDpp(shl1, true, 0b0010, 15, kAllLanes, in, out) == 0x00000000ffff0000u);
  CHECK(applyDpp(shl1, true, 15, 0b1001, kAllLanes, in, out) == 0xf00ff00ff00ff00fu);
  // In place.
  applyDpp(*dppTable(0x140), true, 15, 15, kAllLanes, in, in);
  CHECK(in[0] == 115);
  CHECK(in[31] == 116);
}

TEST_CASE("permlane swaps move every lane group (F88)", "[crosslane]") {
  uint32_t a[64], b[64];
  auto reset = [&] {
    for (unsigned l = 0; l < 64; ++l) {
      a[l] = l;
      b[l] = 100 + l;
    }
  };
  reset();
  permlane32Swap(a, b, kAllLanes);
  for (unsigned l = 0; l < 32; ++l) {
    CHECK(a[l] == l);
    CHECK(a[l + 32] == 100 + l);
    CHECK(b[l] == 32 + l);
    CHECK(b[l + 32] == 132 + l);
  }
  permlane32Swap(a, b, kAllLanes); // its own inverse
  for (unsigned l = 0; l < 64; ++l)
    CHECK((a[l] == l && b[l] == 100 + l));
  permlane16Swap(a, b, kAllLanes);
  for (unsigned l = 0; l < 64; ++l) {
    bool odd = l / 16 % 2;
    CHECK(a[l] == (odd ? 100 + l - 16 : l));
    CHECK(b[l] == (odd ? 100 + l : l + 16));
  }
  reset();
  permlane16Swap(a, b, 0xffffu); // only lanes 0..15 may be written
  CHECK(b[3] == 19);
  CHECK(a[19] == 19);
  CHECK(b[35] == 135);
}

TEST_CASE("SDWA selects and places bytes and words", "[crosslane]") {
  const uint32_t x = 0x81f27f04u;
  CHECK(sdwaSelect(x, SdwaSel::Byte0, false) == 0x04);
  CHECK(sdwaSelect(x, SdwaSel::Byte3, true) == 0xffffff81u);
  CHECK(sdwaSelect(x, SdwaSel::Word0, true) == 0x00007f04u);
  CHECK(sdwaSelect(x, SdwaSel::Word1, true) == 0xffff81f2u);
  CHECK(sdwaSelect(x, SdwaSel::Word1, false) == 0x000081f2u);
  CHECK(sdwaSelect(x, SdwaSel::Dword, true) == x);
  CHECK(sdwaMerge(0x11223344u, 0xabu, SdwaSel::Byte2, SdwaUnused::Preserve) == 0x11ab3344u);
  CHECK(sdwaMerge(0x11223344u, 0xabu, SdwaSel::Byte2, SdwaUnused::Pad) == 0x00ab0000u);
  CHECK(sdwaMerge(0x11223344u, 0xabu, SdwaSel::Byte1, SdwaUnused::SignExtend) == 0xffffab00u);
  CHECK(sdwaMerge(0x11223344u, 0x2bu, SdwaSel::Byte1, SdwaUnused::SignExtend) == 0x00002b00u);
  CHECK(sdwaMerge(0x11223344u, 0x9876u, SdwaSel::Word1, SdwaUnused::Preserve) == 0x98763344u);
  CHECK(sdwaMerge(0, 0x8001u, SdwaSel::Word0, SdwaUnused::SignExtend) == 0xffff8001u);
}

TEST_CASE("first active lane", "[crosslane]") {
  CHECK(firstLane(0) == 0);
  CHECK(firstLane(0x8000000000000000u) == 63);
  CHECK(firstLane(0x70) == 4);
}
