// What was measured on gfx950 by changing one thing, against what the model says of the same
// change: the rows of gfx950-timing.md section 5. docs/timing.md shows these rows with the values
// of the model, and a test holds it to them.
#pragma once
#include <span>
#include <string>

namespace timingtest {

struct Ablation {
  const char *row; ///< number in gfx950-timing.md section 5
  const char *what;
  const char *unit; ///< of both values: "clk", "%", "x" for a ratio
  double published;
  double within; ///< relative; a row that may be off by more than 5 % says why
  const char *note;
  double (*model)();
};

std::span<const Ablation> ablations();
/// The line of docs/timing.md.
std::string ablationLine(const Ablation &, double model);

} // namespace timingtest
