// A kernel's instructions beside the tile dialect they came from.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace attune {

struct ListingRow {
  uint32_t pc = 0;  ///< bytes from the start of the text section, as the simulator counts
  std::string isa;  ///< in the assembler's syntax
  int tileLine = 0; ///< of Listing::tile, from 1; 0: the instruction belongs to no line
};

struct Listing {
  std::string tile; ///< the kernel in the tile dialect, as `attune compile --emit tile` prints it
  std::vector<ListingRow> rows;
};

} // namespace attune
