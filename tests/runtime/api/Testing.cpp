#include "tests/runtime/api/Testing.h"

namespace attune::testing {
std::string specText(const std::string &name) {
  return "attention " + name +
         " {\n  q, kv : bf16[tokens, 4 / 2, 64]\n  out   : bf16\n  mask  = causal\n"
         "  lse   : f32 natural\n}\n";
}

ParsedSpec specOf(const std::string &name) {
  return *ParsedSpec::parse(specText(name), name + ".attn", "", {}); // asserts that it is one
}

ContextOptions optionsFor(const std::string &directory, CompileWhere where) {
  ContextOptions options;
  options.device = "sim";
  options.cache.directory = directory;
  options.compiler.library = ATTUNE_FAKE_COMPILER;
  options.compiler.where = where;
  options.simThreads = 1;
  return options;
}

} // namespace attune::testing
