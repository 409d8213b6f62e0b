// Reads and writes golden/.
#include "tools/attune/GoldenFolder.h"
#include "tools/attune/GoldenReport.h"
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fmt/chrono.h>
#include <fmt/format.h>

namespace attune::tool {

namespace fs = std::filesystem;

namespace {

std::string_view textOf(const Bytes &bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

std::span<const uint8_t> bytesOf(const std::string &text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

Result<Described> readSpec(const std::string &recordFile, const std::string &textFile) {
  auto record = readFile(recordFile);
  if (!record)
    return record.error();
  auto golden = Golden::parse(textOf(*record));
  if (!golden)
    return Error{golden.error().code, fmt::format("{}: {}", recordFile, golden.error().message)};
  Described kept{std::move(*golden), {}};
  if (auto packed = readFile(textFile))
    if (auto texts = unpackTexts(*packed))
      kept.texts = textsOf(kept.golden, std::move(*texts));
  return kept;
}

} // namespace

std::string GoldenFolder::inFolder(const std::string &name) const {
  return (fs::path(folder_) / name).string();
}

std::string GoldenFolder::recordFile(const std::string &spec) const {
  return inFolder(fmt::format("{}.{}.golden", spec, arch_));
}

std::string GoldenFolder::textFile(const std::string &spec) const {
  return inFolder(fmt::format("{}.{}.ir.zst", spec, arch_));
}

Result<std::map<std::string, Described>> GoldenFolder::read() const {
  std::map<std::string, Described> kept;
  const std::string ending = fmt::format(".{}.golden", arch_);
  std::error_code absent; // no folder yet: no golden files
  for (fs::directory_iterator it(folder_, absent), end; !absent && it != end;
       it.increment(absent)) {
    std::string name = it->path().filename().string();
    if (!name.ends_with(ending))
      continue;
    std::string spec = name.substr(0, name.size() - ending.size());
    auto described = readSpec(recordFile(spec), textFile(spec));
    if (!described)
      return described.error();
    kept.emplace(spec, std::move(*described));
  }
  return kept;
}

Result<void> GoldenFolder::write(const std::string &spec, const Described &now) const {
  std::error_code failed; // shows when writing
  fs::create_directories(folder_, failed);
  auto old = readFile(textFile(spec));
  auto kept = old ? unpackTexts(*old) : Result<Fields>(old.error());
  if (!kept || *kept != now.texts) {
    auto packed = packTexts(now.texts);
    if (!packed)
      return packed.error();
    if (auto ok = writeFile(textFile(spec), *packed); !ok)
      return ok;
  }
  return writeFile(recordFile(spec), bytesOf(now.golden.str()));
}

Result<void> GoldenFolder::remove(const std::string &spec) const {
  for (const std::string &file : {textFile(spec), recordFile(spec)}) {
    std::error_code failed;
    fs::remove(file, failed);
    if (failed)
      return Error{ErrorCode::Io, fmt::format("{}: {}", file, failed.message())};
  }
  return {};
}

Result<void> GoldenFolder::log(const Blessing &blessing) const {
  std::string path = inFolder("LOG.md");
  std::string text =
      "# Why golden files changed\n\nWritten by `attune golden bless`, newest last.\n\n";
  if (auto old = readFile(path))
    text = textOf(*old);
  else if (old.error().code != ErrorCode::NotFound)
    return old.error();
  std::vector<std::string> specs;
  for (const Change &change : blessing.changes)
    if (change.verdict != Verdict::Same)
      specs.push_back(change.spec);
  std::string breaches = breachesInLine(blessing.changes);
  std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  text += fmt::format("- {:%Y-%m-%d} {} ({}): {} [{}]{}\n", fmt::gmtime(now), blessing.cause, arch_,
                      blessing.reason, fmt::join(specs, ", "),
                      breaches.empty() ? "" : " over budget: " + breaches);
  return writeFile(path, bytesOf(text));
}

} // namespace attune::tool
