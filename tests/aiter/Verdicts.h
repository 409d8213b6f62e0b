// Judges what strict mode finds in AITER's code objects by the table of classes, Verdicts.def.
//
//   Verdicts verdicts;                       // every launch is watched while it lives
//   fmhaV3Samples();                         // kernels that have all classes between them
//   CHECK(verdicts.unjudged().empty());
//   CHECK(verdicts.neverFound().empty());
#pragma once
#include "runtime/sim/strict/Strict.h"
#include <set>
#include <string>
#include <vector>

namespace aitertest {

/// The class of a finding in `file` ("mla/x.co"); "" if it belongs to none.
std::string verdictOn(const std::string &file, const attune::sim::strict::Finding &);

class Verdicts {
public:
  Verdicts();
  ~Verdicts();
  Verdicts(const Verdicts &) = delete;
  Verdicts &operator=(const Verdicts &) = delete;

  /// The one that lives, or null.
  static Verdicts *current();
  void judge(const std::string &file, const attune::sim::strict::Finding &);

  /// The findings of no class.
  const std::vector<std::string> &unjudged() const { return unjudged_; }
  /// The classes without a finding.
  std::vector<std::string> neverFound() const;
  /// Was this class found in this code object? With `pc`: at that instruction, in conflict with
  /// that at `otherPc`.
  bool found(const std::string &file, const std::string &verdict, uint32_t pc = 0,
             uint32_t otherPc = 0) const;

private:
  std::vector<std::string> unjudged_;
  struct Site {
    std::string file, verdict;
    uint32_t pc, otherPc;
    auto operator<=>(const Site &) const = default;
  };
  std::set<Site> sites_;
};

// Launches of few kernels of each family, chosen so that every class is found.
void fmhaV3Samples();
void fmhaV4Samples();
void mlaSamples();
void mlaV4Samples();
void paSamples();

} // namespace aitertest
