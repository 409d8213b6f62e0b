// The report of `attune run`, as lines for people or as one JSON object.
#pragma once
#include "runtime/abi/KernelImage.h"
#include "runtime/sim/strict/Strict.h"
#include "tests/oracle/Compare.h"
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace attune::tool {

/// One launch and, if asked for, its comparison with the oracle.
struct CallReport {
  std::string label;
  double runMs = 0, checkMs = 0;
  std::optional<oracle::Comparison> out, lse;
};

/// Whether a cache had the kernel.
enum class CacheResult { Off, Hit, Miss };

struct CacheUse {
  CacheResult result = CacheResult::Off;
  std::string digest, directory; ///< of the entry
  std::string from;              ///< a hit: disk, base, store, process (another one's build)
  bool kept = false;             ///< a miss: it is on disk now
  std::string reason;            ///< off
};

struct RunReport {
  std::string spec;
  CacheUse cache;
  uint64_t seed = 0;
  bool checked = false;
  std::vector<std::string> notes;
  std::vector<Sidecar> kernels;
  std::vector<CallReport> calls;
  std::optional<std::vector<sim::strict::Finding>> findings; ///< of strict mode

  bool ok() const;
};

/// "vgpr 128  agpr 0  ..."
std::string resourcesText(const Resources &);

/// "hit: ..." and the like, and the same as JSON.
std::string cacheText(const CacheUse &);
nlohmann::ordered_json cacheJson(const CacheUse &);

std::string asText(const RunReport &);
std::string asJson(const RunReport &);
/// For a command that came to no report: {"ok": false, "error": ...}.
std::string errorAsJson(const Error &);

} // namespace attune::tool
