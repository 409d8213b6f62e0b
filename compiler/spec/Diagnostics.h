// Collecting what is wrong with a spec, and saying it so that the person can act.
//
// Every part of the front end reports into one Diagnostics and goes on, so that a run shows several
// faults at once. A diagnostic points at a Location: a file (the spec, an import or a built-in) and
// a range in it.
#pragma once
#include "compiler/spec/Spec.h"
#include <string>
#include <string_view>
#include <vector>

namespace attune::spec {

/// One text that was read: the spec itself or an import. Must outlive everything that points into
/// it.
struct SourceFile {
  std::string name;
  std::string text;
};

struct Location {
  const SourceFile *file = nullptr;
  SourceRange range;
};

class Diagnostics {
public:
  static constexpr size_t kMaxErrors = 20;

  void error(const Location &, std::string message, std::string help = "");
  /// A legal wish that this version can't grant.
  void unsupported(const Location &, std::string message, std::string help = "");

  bool empty() const { return list_.empty(); }
  bool full() const { return list_.size() >= kMaxErrors; }
  /// In reading order, by file then line then column.
  std::vector<Diagnostic> take();

private:
  void add(const Location &, std::string message, std::string help, bool unsupported);
  std::vector<Diagnostic> list_;
};

/// Line number `line` (from 1) of a text, without its end.
std::string_view lineOf(std::string_view text, int line);

/// "did you mean `window`?" for the nearest of `choices`, or "" if none is near enough.
std::string didYouMean(std::string_view name, const std::vector<std::string> &choices);

/// Two sentences of help as one text; either may be empty.
std::string joinHelp(std::string_view a, std::string_view b);

/// "a, b, c"
std::string commaList(const std::vector<std::string> &);

} // namespace attune::spec
