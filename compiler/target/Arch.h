// A chip as plain data; the rows are in Arch.def.
#pragma once
#include "runtime/abi/Result.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attune::target {

namespace detail {
enum FeatureIndex {
#define ARCH_FEATURE(enumerator, name) enumerator,
#include "compiler/target/Arch.def"
};
} // namespace detail

/// Bits of Arch::features.
enum Feature : uint32_t {
#define ARCH_FEATURE(enumerator, name) enumerator = 1u << detail::FeatureIndex::enumerator,
#include "compiler/target/Arch.def"
};

struct Arch {
  std::string_view name;
  int waveSize = 0;
  int simdsPerCu = 0;
  int maxWavesPerSimd = 0;
  int vgprs = 0;       ///< of one lane over all waves of a SIMD, arch and acc together
  int vgprGranule = 0; ///< a wave's VGPRs are rounded up to this
  int ldsBytes = 0;    ///< of a CU; one workgroup may have all of it
  int ldsGranule = 0;
  int ldsBanks = 0;
  uint32_t features = 0;

  bool has(Feature f) const { return (features & f) != 0; }
  /// Resident waves of a SIMD for a kernel with these registers a wave, LDS bytes and waves a
  /// workgroup; 0 if not even one workgroup fits. A CU that holds fewer waves than SIMDs counts
  /// as 1.
  int occupancy(int vgpr, int agpr, int lds, int waves) const;
};

/// An error lists the known names.
Result<Arch> archByName(std::string_view name);
const std::vector<Arch> &allArchs();

/// The features of `wanted` that the chip lacks, by name ("read_tr16").
std::vector<std::string> missingFeatures(const Arch &, uint32_t wanted);

} // namespace attune::target
