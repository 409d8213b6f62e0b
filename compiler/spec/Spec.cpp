#include "compiler/spec/Spec.h"
#include "compiler/spec/Parser.h"
#include "compiler/spec/Sema.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace attune::spec {

namespace {

const AttentionDecl *chooseAttention(const AstFile &file, const Options &options,
                                     Diagnostics &diags) {
  std::vector<std::string> names;
  for (const AttentionDecl &a : file.attentions) {
    if (std::find(names.begin(), names.end(), a.name.name) != names.end())
      diags.error({&file.source, a.name.range},
                  fmt::format("attention {} is defined twice", a.name.name));
    names.push_back(a.name.name);
  }
  if (names.empty()) {
    if (diags.empty())
      diags.error({&file.source, {1, 1, 1}}, "the file defines no attention",
                  "write attention NAME { q, kv : … }.");
    return nullptr;
  }
  if (options.attention.empty())
    return &file.attentions[0];
  for (const AttentionDecl &a : file.attentions)
    if (a.name.name == options.attention)
      return &a;
  diags.error({&file.source, file.attentions[0].name.range},
              fmt::format("there is no attention `{}`", options.attention),
              joinHelp(didYouMean(options.attention, names),
                       fmt::format("the file defines {}.", commaList(names))));
  return nullptr;
}

Error toError(Diagnostics &diags, std::string_view text) {
  std::vector<Diagnostic> list = diags.take();
  bool onlyWishes =
      std::all_of(list.begin(), list.end(), [](const Diagnostic &d) { return d.unsupported; });
  std::string message = render(list, text);
  if (list.size() >= Diagnostics::kMaxErrors)
    message += fmt::format("(only the first {} errors are shown)\n", list.size());
  return {onlyWishes ? ErrorCode::Unsupported : ErrorCode::InvalidSpec, std::move(message)};
}

} // namespace

Result<Model> parseSpec(std::string_view text, const Options &options) {
  Diagnostics diags;
  std::unique_ptr<AstFile> file = parseFile(options.fileName, std::string(text), diags);
  bool complete = diags.empty();
  std::vector<std::unique_ptr<AstFile>> imports;
  FunctionTable functions = collectFunctions(*file, imports, diags);
  const AttentionDecl *attention = chooseAttention(*file, options, diags);
  if (!attention)
    return toError(diags, text);
  Model model = checkAttention(*file, *attention, functions, options.parameters, complete, diags);
  if (!diags.empty())
    return toError(diags, text);
  return model;
}

Result<Model> parseSpecFile(const std::string &path, const Options &options) {
  std::optional<std::string> text = readText(path);
  if (!text) {
    std::error_code ignored;
    return Error{
        ErrorCode::NotFound,
        std::filesystem::exists(path, ignored)
            ? fmt::format("{}: is no readable file of at most {} bytes", path, kMaxTextBytes)
            : fmt::format("{}: no such file", path)};
  }
  Options named = options;
  named.fileName = path;
  return parseSpec(*text, named);
}

std::string renderAt(const Model &model, const std::string &place, std::string message,
                     std::string help) {
  auto found = model.places.find(place);
  if (found == model.places.end())
    return joinHelp(message, help);
  Diagnostic d;
  d.file = model.fileName;
  d.range = found->second;
  d.message = std::move(message);
  d.help = std::move(help);
  return render({d}, readText(model.fileName).value_or(""));
}

} // namespace attune::spec
