#include "runtime/compile/KernelKey.h"
#include <algorithm>
#include <cctype>
#include <cstring>
#include <fmt/format.h>

namespace attune {
namespace {

/// Knobs as one text. A name or value may hold any byte, so each has its length.
std::string knobText(const spec::Model &model, const Knobs &overrides) {
  std::map<std::string, std::string> knobs(model.schedule.begin(), model.schedule.end());
  for (const auto &[name, value] : overrides)
    knobs[name] = value;
  std::string text;
  for (const auto &[name, value] : knobs)
    text += fmt::format("{}:{}={}:{} ", name.size(), name, value.size(), value);
  return text;
}

/// As a shell takes it: in quotes where it needs them.
std::string word(const std::string &text) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("+,-./:=@_", c);
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain))
    return text;
  std::string quoted = "'";
  for (char c : text)
    quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

} // namespace

std::string kernelArguments(const spec::Model &model, const Parameters &parameters,
                            const std::string &arch, const Knobs &knobs) {
  std::string text =
      fmt::format("{} --attention {}", model.fileName.empty() ? "SPEC" : word(model.fileName),
                  word(model.problem.specName));
  for (const auto &[name, value] : parameters)
    text += " --set " + word(name + "=" + value);
  for (const auto &[name, value] : knobs)
    text += " --knob " + word(name + "=" + value);
  return text + " --arch " + word(arch);
}

Result<cache::Key> kernelKey(const spec::Model &model, const std::string &arch, const Knobs &knobs,
                             const CompilerIdentity &identity, const Parameters &parameters) {
  return cache::KeyBuilder()
      .add("arch", arch)
      .add("compiler", identity.compiler)
      .add("knobs", knobText(model, knobs))
      .add("llvm", identity.llvm)
      .add("name", model.problem.specName)
      .add("spec", model.canonical)
      .label(model.problem.specName)
      .command("attune cache warm " + kernelArguments(model, parameters, arch, knobs))
      .build();
}

} // namespace attune
