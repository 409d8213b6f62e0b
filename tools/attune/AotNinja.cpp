// Every edge names its kernel by spec, parameters and knobs, and by --only the key that it had when
// the file was written: if the spec or the compiler has changed since, the edge is refused and does
// not build another kernel under the old name.
#include "tools/attune/AotNinja.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace attune::tool {

namespace fs = std::filesystem;

namespace {

/// In a command, for the shell and then for ninja.
std::string word(const std::string &text) {
  std::string out = "'";
  for (char c : text)
    out += c == '\'' ? "'\\''" : c == '$' ? "$$" : std::string(1, c);
  return out + "'";
}

/// In a list of paths.
std::string pathWord(const std::string &text) {
  std::string out;
  for (char c : text) {
    if (c == '$' || c == ' ' || c == ':')
      out += '$';
    out += c;
  }
  return out;
}

std::string absolute(const std::string &path) {
  return fs::absolute(path).lexically_normal().string();
}

std::string kernelArguments(const AotJob &job) {
  const CompileRequest &request = job.request;
  std::string text =
      fmt::format("{} --arch {}", word(absolute(request.fileName)), word(request.arch));
  if (!request.attention.empty())
    text += " --attention " + word(request.attention);
  for (const auto &[name, value] : request.parameters)
    text += " --set " + word(name + "=" + value);
  for (const auto &[name, value] : request.knobs)
    text += " --knob " + word(name + "=" + value);
  return text + " --only " + job.key.digest();
}

/// The command that writes the build file again.
std::string emitArguments(const AotBuild &build) {
  std::string text;
  for (const std::string &input : build.inputs)
    text += word(absolute(input)) + " ";
  text += fmt::format("--arch {}", word(fmt::format("{}", fmt::join(build.archs, ","))));
  if (!build.attention.empty())
    text += " --attention " + word(build.attention);
  for (const auto &[name, value] : build.parameters)
    text += " --set " + word(name + "=" + value);
  for (const auto &[name, value] : build.knobs)
    text += " --knob " + word(name + "=" + value);
  return text;
}

} // namespace

Result<std::string> aotNinja(const std::string &command, const AotBuild &build,
                             const std::vector<AotJob> &jobs) {
  const fs::path file = absolute(build.output.path), folder = file.parent_path();
  const std::string parts = (folder / "kernels").string();
  for (const std::string &path : {file.string(), command})
    if (path.find('\n') != path.npos)
      return Error{ErrorCode::InvalidArgument,
                   "--emit ninja: a path with a line break cannot be written"};
  std::string text =
      fmt::format("# Written by attune aot. One edge per kernel; the last one merges them.\n"
                  "ninja_required_version = 1.7\n"
                  "attune = {0}\n"
                  "parts = {1}\n"
                  "rule kernel\n"
                  "  command = $attune aot $kernel -j 1 --work {1}/work -o $out > $out.txt\n"
                  "  description = kernel $name\n"
                  "rule merge\n"
                  "  command = $attune aot merge --from $out.rsp -o $out\n"
                  "  description = merge $out\n"
                  "  rspfile = $out.rsp\n"
                  "  rspfile_content = $in_newline\n"
                  "rule emit\n"
                  "  command = $attune aot $again --emit ninja -o $out\n"
                  "  generator = 1\n",
                  word(command), word(parts));
  std::set<std::string> sources;
  std::vector<std::string> bundles;
  for (const AotJob &job : jobs) {
    const std::string spec = absolute(job.request.fileName);
    const std::string out = fmt::format("{}/{}.attune", parts, job.key.digest());
    sources.insert(pathWord(spec));
    bundles.push_back(pathWord(out));
    text += fmt::format("build {}: kernel {}\n  kernel = {}\n  name = {}\n", pathWord(out),
                        pathWord(spec), kernelArguments(job), word(job.label));
  }
  std::sort(bundles.begin(), bundles.end());
  const std::string whole = pathWord((folder / "kernels.attune").string());
  for (const std::string &input : build.inputs)
    sources.insert(pathWord(absolute(input)));
  text += fmt::format("build {}: merge {}\n", whole, fmt::join(bundles, " "));
  // By the name that ninja -C knows it by: ninja remakes only the file that it reads.
  text += fmt::format("build {}: emit {}\n  again = {}\ndefault {}\n",
                      pathWord(file.filename().string()), fmt::join(sources, " "),
                      emitArguments(build), whole);
  return text;
}

} // namespace attune::tool
