#include "compiler/spec/Imports.h"
#include "compiler/spec/Builtins.h"
#include "compiler/spec/Parser.h"
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <set>

namespace attune::spec {

std::optional<std::string> readText(const std::string &path) {
  std::error_code code;
  if (path.find('\0') != std::string::npos || !std::filesystem::is_regular_file(path, code))
    return std::nullopt;
  std::uintmax_t size = std::filesystem::file_size(path, code);
  if (code || size > kMaxTextBytes)
    return std::nullopt;
  std::ifstream in(path, std::ios::binary);
  std::string text(size_t(size), '\0');
  if (!in.read(text.data(), std::streamsize(size)))
    return std::nullopt;
  return text;
}

namespace {

class Importer {
public:
  Importer(std::vector<std::unique_ptr<AstFile>> &loaded, Diagnostics &diags)
      : loaded_(loaded), diags_(diags) {}

  FunctionTable run(const AstFile &root) {
    seen_.insert(root.source.name);
    std::vector<const AstFile *> work = {&root};
    while (!work.empty() && !diags_.full()) {
      const AstFile *file = work.back();
      work.pop_back();
      define(*file);
      for (const AstName &import : file->imports)
        if (const AstFile *next = load(*file, import))
          work.push_back(next);
    }
    return std::move(functions_);
  }

private:
  void define(const AstFile &file) {
    for (const FnDecl &fn : file.fns) {
      Location at{&file.source, fn.name.range};
      if (isLanguageName(fn.name.name)) {
        diags_.error(at, fmt::format("`{}` is a name of the language", fn.name.name),
                     "choose another name.");
        continue;
      }
      auto [it, isNew] = functions_.try_emplace(fn.name.name, Function{&fn, &file});
      if (!isNew)
        diags_.error(at, fmt::format("fn {} is defined twice", fn.name.name),
                     fmt::format("the other is at {}:{}.", it->second.file->source.name,
                                 it->second.decl->name.range.line));
    }
  }

  const AstFile *load(const AstFile &from, const AstName &import) {
    std::string path = (std::filesystem::path(from.source.name).parent_path() / import.name)
                           .lexically_normal()
                           .string();
    std::optional<std::string> text = readText(path);
    if (!text) {
      path = "lib/" + import.name;
      for (const LibraryFile &file : libraryFiles())
        if (file.name == import.name)
          text = std::string(file.text);
    }
    if (!text) {
      reportMissing(from, import);
      return nullptr;
    }
    if (!seen_.insert(path).second)
      return nullptr;
    loaded_.push_back(parseFile(path, std::move(*text), diags_));
    const AstFile &file = *loaded_.back();
    if (!file.attentions.empty())
      diags_.error({&from.source, import.range},
                   fmt::format("{} defines attention {}", path, file.attentions[0].name.name),
                   "an import brings functions; move them to a file of their own.");
    return &file;
  }

  void reportMissing(const AstFile &from, const AstName &import) {
    std::vector<std::string> names;
    for (const LibraryFile &file : libraryFiles())
      names.emplace_back(file.name);
    diags_.error(
        {&from.source, import.range}, fmt::format("there is no readable file \"{}\"", import.name),
        joinHelp(didYouMean(import.name, names),
                 fmt::format("imports are looked up beside the file, then in the library: {}.",
                             commaList(names))));
  }

  std::vector<std::unique_ptr<AstFile>> &loaded_;
  Diagnostics &diags_;
  std::set<std::string> seen_;
  FunctionTable functions_;
};

} // namespace

FunctionTable collectFunctions(const AstFile &root, std::vector<std::unique_ptr<AstFile>> &loaded,
                               Diagnostics &diags) {
  return Importer(loaded, diags).run(root);
}

} // namespace attune::spec
