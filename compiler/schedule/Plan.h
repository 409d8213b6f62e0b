// How a kernel is built: a Plan names every choice of the schedule and why it was made. It never
// holds a formula of the attention (that is the spec's Model and the attn dialect); the attn
// dialect never holds a tile size.
#pragma once
#include "compiler/layout/Fragment.h"
#include "compiler/target/Arch.h"
#include "runtime/abi/KernelImage.h"
#include "runtime/abi/Result.h"
#include <string>
#include <utility>
#include <vector>

namespace attune::schedule {

struct Plan {
  int waves = 4;      ///< waves of a workgroup; each owns qPerWave query rows
  int qPerWave = 32;  ///< columns of the S^T accumulator of a wave
  int kvTile = 64;    ///< keys of a kv tile
  int stages = 2;     ///< K and V buffers in LDS
  int wavesPerEu = 2; ///< occupancy asked of the register allocator
  std::vector<std::pair<std::string, std::string>> reasons; ///< knob, why; for explain

  int blockM() const { return waves * qPerWave; }
  layout::MmaShape mma() const { return {32, 32, 16, 8}; } ///< the matrix instruction of the family
  int ldsBytes(const ProblemShape &) const;
  std::string
  str() const; ///< "waves=4 kv_tile=64 stages=2 ...", sorted by name; part of the cache key
};

/// Chooses a plan, honouring `knobs` (name, value) from the spec's schedule block or the command
/// line. Refuses what no plan can do (head_dim, dtype, LDS) with the limit and the nearest legal
/// choice.
Result<Plan> choosePlan(const ProblemShape &, const target::Arch &,
                        const std::vector<std::pair<std::string, std::string>> &knobs);

} // namespace attune::schedule
