// One spec against its golden: what moved, where it began and what it cost.
//
//   verdict     the kind of difference, of which there is one a spec
//   stages      those whose hash moved, in pipeline order; the first is where the change began
//   line        the first differing line of that stage
//   amounts     resources and instruction counts, then and now
//   breaches    amounts that are worse than Budget.def lets pass
//
// It needs no compiler: both sides are data.
#pragma once
#include "tools/attune/GoldenText.h"
#include <map>

namespace attune::tool {

/// Both sides of one spec. Without `now` the spec is gone or, with a refusal, does not compile.
struct Entry {
  std::optional<Described> kept, now;
  std::string refusal;
};
using Entries = std::map<std::string, Entry>; ///< by spec

enum class Verdict {
  Same,
  Moved,
  NoGolden, ///< a spec without a golden
  NoSpec,   ///< a golden without a spec
  NoText,   ///< nothing moved, but the text is missing, damaged or of another record
  Refused,  ///< the spec does not compile
};
std::string_view verdictName(Verdict); ///< "same", "moved", "no golden", ...

struct Amount {
  std::string name, kept, now; ///< "-" where a side has none
  bool moved() const { return kept != now; }
};

struct Breach {
  std::string name;
  int64_t kept = 0, now = 0;
  int slackPercent = 0;
  std::string str() const; ///< "vgpr 128 -> 168"
};

struct Change {
  std::string spec;
  Verdict verdict = Verdict::Same;
  std::string refusal;
  std::vector<std::string> stages;
  std::optional<LineChange> line;
  std::vector<Amount> amounts; ///< resources, "instructions", then "instructions.CLASS"
  std::vector<Amount> origins; ///< arch, llvm, plan: those that differ
  std::vector<Breach> breaches;
  std::string keptLlvm, nowLlvm; ///< empty where there is no such side

  /// Another LLVM made the golden than runs now.
  bool llvmMoved() const { return !keptLlvm.empty() && !nowLlvm.empty() && keptLlvm != nowLlvm; }
};

Change compare(const std::string &spec, const Entry &);
std::vector<Change> compareAll(const Entries &);

/// Which cause explains a change: spec, llvm or compiler.
std::string_view causeOf(const Change &);
/// An error that names the changes which `cause` does not explain, and their own.
Result<void> checkCause(std::string_view cause, const std::vector<Change> &);

} // namespace attune::tool
