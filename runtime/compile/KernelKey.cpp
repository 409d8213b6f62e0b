#include "runtime/compile/KernelKey.h"
#include <fmt/format.h>
#include <map>

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

/// For messages: the command that puts the kernel into the cache.
std::string commandFor(const spec::Model &model, const std::string &arch, const Knobs &knobs) {
  std::string text =
      fmt::format("attune cache warm {} --attention {} --arch {}",
                  model.fileName.empty() ? "SPEC" : model.fileName, model.problem.specName, arch);
  for (const auto &[name, value] : knobs)
    text += fmt::format(" --knob {}={}", name, value);
  return text;
}

} // namespace

Result<cache::Key> kernelKey(const spec::Model &model, const std::string &arch, const Knobs &knobs,
                             const CompilerIdentity &identity) {
  return cache::KeyBuilder()
      .add("arch", arch)
      .add("compiler", identity.compiler)
      .add("knobs", knobText(model, knobs))
      .add("llvm", identity.llvm)
      .add("name", model.problem.specName)
      .add("spec", model.canonical)
      .label(model.problem.specName)
      .command(commandFor(model, arch, knobs))
      .build();
}

} // namespace attune
