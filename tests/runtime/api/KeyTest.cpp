// What a key holds: everything that changes a kernel's bytes, and nothing else.
#include "tests/runtime/api/OtherSettings.h"
#include "tests/runtime/api/Testing.h"
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

using namespace attune;
using namespace attune::testing;
using Catch::Matchers::Contains;

namespace {

const CompilerIdentity identity{"compiler", "llvm"};

std::string digest(const std::string &text, const Knobs &knobs = {},
                   const CompilerIdentity &by = identity, const std::string &arch = "gfx950",
                   const std::map<std::string, std::string> &parameters = {}) {
  Result<ParsedSpec> spec = ParsedSpec::parse(text, "<spec>", "", parameters);
  if (!spec)
    FAIL(spec.error().message);
  Result<cache::Key> key = kernelKey(spec->model, arch, knobs, by, parameters);
  REQUIRE(key);
  return key->digest();
}

std::string attention(const std::string &name, const std::string &lines) {
  return "attention " + name + " {\n" + lines + "\n}\n";
}

constexpr auto base = "q, kv : bf16[tokens, 4 / 2, 64]\nout : bf16\nmask = causal";

} // namespace

TEST_CASE("Every choice that changes a kernel changes its key") {
  std::set<std::string> digests;
  size_t made = 0;
  const auto add = [&](const std::string &d) { digests.insert(d), ++made; };
  add(digest(attention("a", base)));
  add(digest(attention("b", base))); // the name is the kernel's symbol
  for (const char *lines :
       {"q, kv : fp16[tokens, 4 / 2, 64]\nout : bf16\nmask = causal",
        "q, kv : bf16[batch, seq, 4 / 2, 64]\nout : bf16\nmask = causal",
        "q, kv : bf16[tokens, 8 / 2, 64]\nout : bf16\nmask = causal",
        "q, kv : bf16[tokens, 4 / 1, 64]\nout : bf16\nmask = causal",
        "q, kv : bf16[tokens, 4 / 2, 128]\nout : bf16\nmask = causal",
        "q, kv : bf16[tokens, 4 / 2, 64]\nout : f32\nmask = causal",
        "q, kv : bf16[tokens, 4 / 2, 64]\nout : bf16",
        "q, kv : bf16[tokens, 4 / 2, 64]\nout : bf16\nmask = window(7)",
        "q, kv : bf16[tokens, 4 / 2, 64]\nout : bf16\nmask = causal\nlse : f32 natural",
        "q, kv : bf16[tokens, 4 / 2, 64]\nout : bf16\nmask = causal\nlse : f32 base2",
        "q, kv : bf16[tokens, 4 / 2, 64]\nout : bf16\nmask = causal\nsink : f32[heads]",
        "q, kv : bf16[tokens, 4 / 2, 64]\nout : bf16\nmask = causal\nscale = 0.5",
        "q, kv : bf16[tokens, 4 / 2, 64]\nout : bf16\nmask = causal\nscore = softcap(s, 30.0)",
        "q, kv : bf16[tokens, 4 / 2, 64]\nout : bf16\nmask = causal\ntensor t : f32[heads]\n"
        "score = s + t[h]",
        "q, kv : bf16[tokens, 4 / 2, 64]\nout : bf16\nmask = causal\ntensor t : i32[heads]\n"
        "score = s + f32(t[h])",
        "q, kv : bf16[tokens, 4 / 2, 64]\nout : bf16\nmask = causal\nschedule { waves = 4 }"})
    add(digest(attention("a", lines)));
  add(digest(attention("a", base), {{"waves", "2"}}));
  add(digest(attention("a", base), {{"kv_tile", "32"}}));
  add(digest(attention("a", base), {}, {"other", "llvm"}));
  add(digest(attention("a", base), {}, {"compiler", "other"}));
  add(digest(attention("a", base), {}, identity, "gfx942"));
  CHECK(digests.size() == made);
}

TEST_CASE("One meaning has one key") {
  const std::string a = digest(attention("a", base));
  CHECK(digest(attention("a", std::string("// a comment\n") + base)) == a);
  CHECK(digest(attention("a", "q, kv : bf16[tokens, 4 / 2, 64]\nout : bf16\nmask = k <= q")) == a);
  // A knob of the call is the same wish as one of the spec.
  CHECK(digest(attention("a", base), {{"waves", "4"}}) ==
        digest(attention("a", std::string(base) + "\nschedule { waves = 4 }")));
  CHECK(digest(attention("a", std::string(base) + "\nschedule { waves = 2 }"), {{"waves", "4"}}) ==
        digest(attention("a", base), {{"waves", "4"}}));
}

TEST_CASE("Parameters are in the key by what they do, and two specs with one name do not meet") {
  const std::string text =
      attention("a(n: int = 5)", "q, kv : bf16[tokens, 4 / 2, 64]\nout : bf16\nmask = window(n)");
  CHECK(digest(text) == digest(text, {}, identity, "gfx950", {{"n", "5"}}));
  CHECK(digest(text) != digest(text, {}, identity, "gfx950", {{"n", "6"}}));
  CHECK(digest(attention("a", base)) != digest(text));
}

TEST_CASE("A compiler is named by its build ids, without being loaded") {
  CompilerLink link({.library = ATTUNE_FAKE_COMPILER, .identity = {}});
  Result<CompilerIdentity> found = link.identity();
  REQUIRE(found);
  CHECK(found->compiler.size() == 40);
  CHECK(found->llvm == "fake 1.0");

  CompilerLink none({.library = "/nowhere/libattune-compiler.so", .identity = {}});
  REQUIRE_FALSE(none.identity());
  CHECK_THAT(none.identity().error().message, Contains("/nowhere/libattune-compiler.so"));
  CompilerLink wrong({.library = "/proc/self/exe", .identity = {}});
  REQUIRE_FALSE(wrong.identity());
  CompilerLink told({.library = "/nowhere", .identity = identity});
  CHECK(told.identity()->compiler == "compiler");
}

namespace {

/// The fields of the key that a program with these variables would ask its caches for.
cache::KeyFields keyWith(const Settings &settings) {
  std::map<Variable, std::optional<std::string>> former;
  for (const auto &[variable, value] : settings) {
    former.try_emplace(variable, environmentOrEmpty(variable));
    setenv(nameOf(variable), value.c_str(), 1);
  }
  cache::KeyFields fields;
  std::string error;
  if (auto options = contextOptionsFromEnvironment(); !options)
    error = options.error().message;
  else if (auto context = Context::create(*options); !context)
    error = context.error().message;
  else if (auto key = (*context)->key(specOf("a"), {}); !key)
    error = key.error().message;
  else
    fields = cache::parseKey(key->text()).value();
  for (const auto &[variable, value] : former)
    if (value)
      setenv(nameOf(variable), value->c_str(), 1);
    else
      unsetenv(nameOf(variable));
  if (!error.empty())
    FAIL(error);
  return fields;
}

} // namespace

TEST_CASE("F67: a variable changes the fields of the key that its row names, and no other") {
  useFakeCompiler();
  TempDir dir;
  const auto known = otherSettings(dir.path());
  std::set<std::string> changed;
  for (size_t i = 0; i < variables().size(); ++i) {
    const auto variable = Variable(i);
    const VariableRow &row = variables()[i];
    INFO(row.name);
    REQUIRE(known.contains(variable));
    const auto &[value, beside] = known.at(variable);
    // The base is the simulator and the fake compiler; the row's own value may replace either.
    const Settings base{{Variable::ATTUNE_DEVICE, "sim"},
                        {Variable::ATTUNE_COMPILER, ATTUNE_FAKE_COMPILER}};
    Settings with = base;
    with.insert(with.end(), beside.begin(), beside.end());
    with.emplace_back(variable, value);
    const auto names = cache::differingFields(keyWith(base), keyWith(with));
    std::set<std::string> allowed;
    std::istringstream fields{std::string(row.fields)};
    for (std::string field; fields >> field;)
      allowed.insert(field);
    for (const std::string &name : names)
      CHECK(allowed.count(name) == 1);
    if (!names.empty())
      changed.insert(row.name);
  }
  CHECK(changed == std::set<std::string>{"ATTUNE_COMPILER", "ATTUNE_COMPILER_ID", "ATTUNE_DEVICE",
                                         "ATTUNE_HIP_LIBRARY"});
}

TEST_CASE("Variables with values that are not legal are named") {
  for (auto [name, value, legal] : {std::tuple{"ATTUNE_COMPILE", "thread", "process or child"},
                                    {"ATTUNE_COMPILE_MEMORY", "1G", "MiB"},
                                    {"ATTUNE_COMPILE_TIMEOUT", "0", "seconds, 1 to 86400"},
                                    {"ATTUNE_COMPILER_ID", "abc", "COMPILER:LLVM"}}) {
    setenv(name, value, 1);
    Result<CompilerOptions> options = compilerOptionsFromEnvironment();
    unsetenv(name);
    REQUIRE_FALSE(options);
    CHECK_THAT(options.error().message, Contains(name) && Contains(value) && Contains(legal));
  }
}

TEST_CASE("The command of a key names file, parameters and knobs as a shell takes them") {
  const std::string text = attention("a(n: int = 2)", "q, kv : bf16[tokens, 1, 64]\nout : f32\n"
                                                      "mask = window(n)");
  const auto commandOf = [&](const std::string &file, const Knobs &knobs) {
    Result<ParsedSpec> spec = ParsedSpec::parse(text, file, "", {{"n", "3"}});
    REQUIRE(spec);
    return (*kernelKey(spec->model, "gfx950", knobs, identity, spec->parameters)).command();
  };
  CHECK(commandOf("specs/a.attn", {{"waves", "2"}}) ==
        "attune cache warm specs/a.attn --attention a --set n=3 --knob waves=2 --arch gfx950");
  CHECK(commandOf("my specs/it's.attn", {}) ==
        "attune cache warm 'my specs/it'\\''s.attn' --attention a --set n=3 --arch gfx950");
}
