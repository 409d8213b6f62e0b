// From one file to all functions it can use: imports are looked up beside the importing file, then
// in the library of specs/lib that is embedded in the binary. A file is read once, however often it
// is imported.
#pragma once
#include "compiler/spec/Ast.h"
#include <map>
#include <memory>
#include <optional>
#include <span>

namespace attune::spec {

struct Function {
  const FnDecl *decl = nullptr;
  const AstFile *file = nullptr;
};

using FunctionTable = std::map<std::string, Function>;

/// Reads what `root` imports, directly or not, into `loaded` and collects the functions of all.
FunctionTable collectFunctions(const AstFile &root, std::vector<std::unique_ptr<AstFile>> &loaded,
                               Diagnostics &);

/// A file of specs/lib as embedded at build time (Library.cpp, made by CMake).
struct LibraryFile {
  std::string_view name, text;
};
std::span<const LibraryFile> libraryFiles();

/// The whole of a regular file of at most kMaxTextBytes, or nothing.
std::optional<std::string> readText(const std::string &path);

} // namespace attune::spec
