// What was measured on gfx950 by changing one thing, against what the model says of the same
// change: the rows of gfx950-timing.md section 5. docs/timing.md shows the table that
// ablationTable() prints, and a test holds it to that.
#pragma once
#include <span>
#include <string>

namespace timingtest {

struct Ablation {
  const char *row; ///< number in gfx950-timing.md section 5
  const char *what;
  const char *unit; ///< of both values: "clk", "%", "x" for a ratio
  double published;
  double within; ///< relative; a row outside 5 % is a miss and says why
  const char *note;
  double (*model)();
};

std::span<const Ablation> ablations();
/// Rows of a Markdown table, a line each.
std::string ablationTable();

} // namespace timingtest
