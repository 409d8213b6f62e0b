// attune aot merge, show and verify.
#include "tools/attune/AotFiles.h"
#include "runtime/bundle/Embed.h"
#include "runtime/launch/File.h"
#include "tools/attune/CommandLine.h"
#include <fmt/format.h>
#include <sstream>

namespace attune::tool {

namespace {

std::vector<AotRow> rowsOf(const std::vector<bundle::Summary> &kernels) {
  std::vector<AotRow> rows;
  for (const bundle::Summary &kernel : kernels)
    rows.push_back({.label = kernel.label,
                    .digest = kernel.digest,
                    .arch = kernel.sidecar.arch,
                    .origin = "",
                    .reused = false,
                    .error = std::nullopt,
                    .codeBytes = kernel.objectBytes,
                    .sidecar = kernel.sidecar});
  return rows;
}

/// A path as ninja writes it into a response file: plain, or quoted as for a shell.
std::string unquoted(const std::string &line) {
  if (line.size() < 2 || line.front() != '\'' || line.back() != '\'')
    return line;
  constexpr std::string_view quote = "'\\''"; // a quote within quotes
  std::string path = line.substr(1, line.size() - 2);
  for (size_t at = 0; (at = path.find(quote, at)) != path.npos; ++at)
    path.replace(at, quote.size(), "'");
  return path;
}

Result<std::vector<bundle::Bundle>> openAll(const AotMerge &args) {
  std::vector<std::string> paths = args.bundles;
  if (!args.from.empty()) {
    auto bytes = readFile(args.from);
    if (!bytes)
      return bytes.error();
    std::istringstream lines(std::string(bytes->begin(), bytes->end()));
    for (std::string line; std::getline(lines, line);)
      if (!line.empty())
        paths.push_back(unquoted(line));
  }
  if (paths.empty())
    return Error{ErrorCode::InvalidArgument,
                 "merge: name the bundles, or a file of them by --from"};
  std::vector<bundle::Bundle> bundles;
  for (const std::string &path : paths) {
    auto one = bundle::Bundle::open(path);
    if (!one)
      return one.error();
    bundles.push_back(std::move(*one));
  }
  return bundles;
}

} // namespace

Result<AotTotal> writeOutput(const AotOutput &output, std::span<const uint8_t> bytes) {
  auto written = bundle::Bundle::fromMemory(bytes, output.path);
  if (!written)
    return written.error();
  AotTotal total{output.path, bytes.size(), written->objects()};
  std::vector<uint8_t> embedded;
  if (output.form == AotForm::C) {
    auto text = bundle::embedAsC(bytes, output.symbol);
    if (!text)
      return text.error();
    embedded.assign(text->begin(), text->end());
  } else if (output.form == AotForm::Object) {
    auto object = bundle::embedAsObject(bytes, output.symbol, bundle::hostMachine());
    if (!object)
      return object.error();
    embedded = std::move(*object);
  }
  if (!embedded.empty())
    bytes = embedded;
  total.bytes = bytes.size();
  if (auto ok = writeFile(output.path, bytes); !ok)
    return ok.error();
  return total;
}

int aotMergeCommand(const AotMerge &args) {
  auto bundles = openAll(args);
  if (!bundles)
    return fail(bundles.error());
  auto bytes = bundle::mergeBundles(*bundles);
  if (!bytes)
    return fail(bytes.error());
  auto total = writeOutput(args.output, *bytes);
  if (!total)
    return fail(total.error());
  auto merged = bundle::Bundle::fromMemory(*bytes);
  if (!merged)
    return fail(merged.error());
  fmt::print("{} kernels, {} code objects -> {}, {} bytes\n", merged->size(), merged->objects(),
             total->path, total->bytes);
  return exitOk;
}

int aotShowCommand(const AotShow &args) {
  auto opened = bundle::Bundle::open(args.bundle);
  if (!opened)
    return fail(opened.error());
  auto kernels = opened->list();
  if (!kernels)
    return fail(kernels.error());
  const AotTotal total{args.bundle, opened->fileBytes(), opened->objects()};
  const auto rows = rowsOf(*kernels);
  fmt::print("{}", args.json ? aotAsJson(rows, total) : aotAsText(rows, total));
  return exitOk;
}

int aotVerifyCommand(const AotVerify &args) {
  auto opened = bundle::Bundle::open(args.bundle);
  Result<void> ok = opened ? opened->verify() : Result<void>(opened.error());
  if (!ok) {
    fmt::print(stderr, "{}\n", ok.error().message);
    return ok.error().code == ErrorCode::NotFound ? exitRefused : exitFailed;
  }
  fmt::print("{}: {} kernels, {} bytes, whole\n", args.bundle, opened->size(), opened->fileBytes());
  return exitOk;
}

} // namespace attune::tool
