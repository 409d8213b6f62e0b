// Look-up and occupancy of chips.
#include "compiler/target/Arch.h"
#include <algorithm>
#include <fmt/format.h>

namespace attune::target {

namespace {

/// A CU has this many barriers; a workgroup of more than one wave takes one.
constexpr int barriersPerCu = 16;

constexpr int roundUp(int value, int granule) { return (value + granule - 1) / granule * granule; }

} // namespace

const std::vector<Arch> &allArchs() {
  static const std::vector<Arch> archs = {
#define ARCH(...) Arch{__VA_ARGS__},
#include "compiler/target/Arch.def"
  };
  return archs;
}

Result<Arch> archByName(std::string_view name) {
  std::vector<std::string_view> known;
  for (const Arch &a : allArchs()) {
    if (a.name == name)
      return a;
    known.push_back(a.name);
  }
  return Error{ErrorCode::InvalidArgument,
               fmt::format("arch is '{}'; known: {}", name, fmt::join(known, ", "))};
}

int Arch::occupancy(int vgpr, int agpr, int lds, int waves) const {
  // AGPRs begin at a multiple of four behind the VGPRs, in the same file.
  const int registers =
      std::max(vgprGranule, roundUp((agpr ? roundUp(vgpr, 4) : vgpr) + agpr, vgprGranule));
  const int wavesPerSimd = std::min(maxWavesPerSimd, vgprs / registers);
  int workgroups = wavesPerSimd * simdsPerCu / waves;
  if (lds > 0)
    workgroups = std::min(workgroups, ldsBytes / roundUp(lds, ldsGranule));
  if (waves > 1)
    workgroups = std::min(workgroups, barriersPerCu);
  return (workgroups * waves + simdsPerCu - 1) / simdsPerCu;
}

std::vector<std::string> missingFeatures(const Arch &arch, uint32_t wanted) {
  std::vector<std::string> missing;
#define ARCH_FEATURE(enumerator, name)                                                             \
  if ((wanted & enumerator) && !arch.has(enumerator))                                              \
    missing.emplace_back(name);
#include "compiler/target/Arch.def"
  return missing;
}

} // namespace attune::target
