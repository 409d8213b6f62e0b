// The door of compiler/spec: text in, a checked Model out, or diagnostics a person can act on.
#pragma once
#include "compiler/spec/Model.h"
#include "runtime/abi/Result.h"
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace attune::spec {

/// Several can come out of one run; all are errors unless `warning`.
struct Diagnostic {
  std::string file;
  SourceRange range;
  std::string message; ///< what is wrong, with the limit
  std::string help;    ///< what is allowed, the nearest legal choice
  bool warning = false;
  bool unsupported = false; ///< the wish is legal, this version can't grant it
  std::string
      sourceLine; ///< the line itself, when it is not of the text given to render (an import)
};

/// "file:line:col: error: message", the source line, a caret line and the help, as in
/// docs/spec-language.md.
std::string render(const std::vector<Diagnostic> &, std::string_view text);

struct Options {
  std::string fileName = "<spec>";
  std::map<std::string, std::string> parameters; ///< --set name=value
  std::string attention; ///< which attention of the file; empty: the only one (or the first)
};

/// Parses and checks one file. On failure the Error's message is the rendered diagnostics (code
/// InvalidSpec or Unsupported). Imports are looked up beside the file, then in the built-in library
/// (specs/lib, embedded).
Result<Model> parseSpec(std::string_view text, const Options &);

/// The same from a file.
Result<Model> parseSpecFile(const std::string &path, const Options &);

/// Shows a refusal of a later layer at a place of the spec, as parseSpec shows its own: `place` is
/// a key of Model::places. Reads Model::fileName again for the line; a place or file that is not
/// there is left out.
std::string renderAt(const Model &, const std::string &place, std::string message,
                     std::string help = "");

} // namespace attune::spec
