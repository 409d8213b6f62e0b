// Is a kernel's key complete? Each thing that can reach the compiler is changed, the compiler runs,
// and what it made is compared with the key that runtime/compile made: one key, one kernel, bit for
// bit; two kernels, two keys. What there is to change is taken from the tables themselves and from
// the fields of the structs, so a new knob or field without a trial here fails.
#include "compiler/include/attune/Compiler.h"
#include "compiler/schedule/Knobs.h"
#include "compiler/spec/Builtins.h"
#include "compiler/spec/Parser.h"
#include "compiler/spec/Spec.h"
#include "compiler/target/Arch.h"
#include "runtime/abi/CompileCall.h"
#include "runtime/abi/Digest.h"
#include "runtime/compile/KernelKey.h"
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

using namespace attune;

namespace {

using Values = std::vector<std::pair<std::string, std::string>>; ///< field, its value as text

struct Wish {
  std::string text;
  Parameters parameters;
  CompileOptions options;
  std::string fileName = "spec.attn";
};

spec::Model parse(const Wish &wish) {
  Result<spec::Model> model = spec::parseSpec(wish.text, {wish.fileName, wish.parameters, {}});
  INFO(wish.text);
  if (!model)
    FAIL(model.error().message);
  return *model;
}

struct Made {
  std::string digest;
  cache::KeyFields fields;
  std::string kernel; ///< SHA-256 of IR and code object, or that it was refused
};

Compiler &compiler() {
  static Compiler one = [] {
    Result<Compiler> made = Compiler::create();
    if (!made)
      FAIL(made.error().message);
    return std::move(*made);
  }();
  return one;
}

std::string kernelOf(const spec::Model &model, const CompileOptions &options) {
  Result<StagedKernel> kernel =
      compiler().compileStages(model, {Stage::Tile, Stage::Hsaco}, options);
  if (!kernel)
    return "refused: " + std::to_string(int(kernel.error().code)); // the message has line numbers
  kernel->sidecar.compileMs = 0;
  return sha256Hex(kernel->stages[Stage::Tile] + toJson(kernel->sidecar) +
                   kernel->stages[Stage::Hsaco]);
}

cache::Key keyOf(const spec::Model &model, const Wish &wish) {
  // A field more here is a way to the compiler that this test knows nothing of.
  const auto &[arch, knobs] = wish.options;
  Result<cache::Key> key = kernelKey(model, arch, knobs, {"compiler", "llvm"}, wish.parameters);
  REQUIRE(key);
  return *key;
}

/// All that was made so far, by key.
class Kernels {
public:
  Made add(const Wish &wish) {
    const spec::Model model = parse(wish);
    const cache::Key key = keyOf(model, wish);
    // Tests that ask for the same again need no second compile.
    const auto asked = std::tuple(wish.text, wish.parameters, wish.options.arch, wish.options.knobs,
                                  wish.fileName);
    if (const auto known = byWish_.find(asked); known != byWish_.end())
      return known->second;
    const Made made{key.digest(), *cache::parseKey(key.text()), kernelOf(model, wish.options)};
    const auto [known, isNew] = byKey_.try_emplace(made.digest, made.kernel);
    INFO("one key, two kernels:\n" << wish.text);
    CHECK(known->second == made.kernel);
    return byWish_[asked] = made;
  }

  /// Two kernels that differ in this field of their keys alone.
  bool needs(const std::string &field) const {
    std::map<std::string, std::string> without;
    for (const auto &[wish, made] : byWish_) {
      std::string rest;
      for (const auto &[name, value] : made.fields)
        if (name != field)
          rest += name + "=" + value + "\n";
      if (without.try_emplace(rest, made.kernel).first->second != made.kernel)
        return true;
    }
    return false;
  }

private:
  std::map<std::string, std::string> byKey_;
  std::map<std::tuple<std::string, Parameters, std::string, Knobs, std::string>, Made> byWish_;
};

Kernels &kernels() {
  static Kernels all;
  return all;
}

std::string attention(const std::string &lines, const std::string &head = "a") {
  return "attention " + head + " {\n" + lines + "}\n";
}

const std::string types = "  q, kv : bf16[tokens, 4 / 2, 64]\n  out : bf16\n";
const Wish base{attention(types + "  mask = causal\n"), {}, {}};

Wish with(const std::string &lines) { return {attention(types + lines), {}, {}}; }

bool differ(const Made &a, const Made &b) { return a.kernel != b.kernel; }

std::string listed(const std::vector<std::string> &items) {
  std::string text;
  for (const std::string &item : items)
    text += item + " ";
  return text;
}

/// Every field of a problem; one that is added does not compile until it is here.
Values valuesOf(const ProblemShape &problem) {
  const auto &[specName, qStorage, kvStorage, dtype, outDtype, numQHeads, numKvHeads, headDim,
               vHeadDim, lse, hasSink, tensors, scalars] = problem;
  std::vector<std::string> tensorNames, tensorTypes, tensorDims, scalarNames, scalarTypes;
  for (const auto &[name, type, dims] : tensors) {
    tensorNames.push_back(name);
    tensorTypes.emplace_back(nameOf(type));
    tensorDims.push_back(listed(dims));
  }
  for (const auto &[name, type] : scalars) {
    scalarNames.push_back(name);
    scalarTypes.emplace_back(nameOf(type));
  }
  const auto number = [](auto value) { return std::to_string(int(value)); };
  return {{"specName", specName},
          {"qStorage", number(qStorage)},
          {"kvStorage", number(kvStorage)},
          {"dtype", number(dtype)},
          {"outDtype", number(outDtype)},
          {"numQHeads", number(numQHeads)},
          {"numKvHeads", number(numKvHeads)},
          {"headDim", number(headDim)},
          {"vHeadDim", number(vHeadDim)},
          {"lse", number(lse)},
          {"hasSink", number(hasSink)},
          {"tensors.name", listed(tensorNames)},
          {"tensors.dtype", listed(tensorTypes)},
          {"tensors.dims", listed(tensorDims)},
          {"scalars.name", listed(scalarNames)},
          {"scalars.dtype", listed(scalarTypes)}};
}

std::string textOf(const std::vector<spec::Expr> &exprs) {
  std::string text;
  for (const spec::Expr &e : exprs) {
    text += std::to_string(int(e.kind)) + ":" + std::to_string(e.f) + ":" + std::to_string(e.i);
    for (spec::ExprId arg : e.args)
      text += "," + std::to_string(arg);
    text += " ";
  }
  return text;
}

/// Every field of a model but the problem, likewise.
Values valuesOf(const spec::Model &model) {
  const auto &[problem, exprs, tensors, scale, scaleExpr, score, mask, schedule, places, normal,
               canonical, digest, fileName] = model;
  std::string promises, knobs, written;
  for (const auto &[info, nondecreasing, range] : tensors)
    promises += nondecreasing ? "nondecreasing " : "any ";
  for (const auto &[name, value] : schedule)
    knobs += name + "=" + value + " ";
  for (const auto &[name, range] : places)
    written += name + ":" + std::to_string(range.line) + " ";
  const auto &[normalExprs, normalScale, normalScore, normalMask] = normal;
  return {{"exprs", textOf(exprs) + std::to_string(score) + "," + std::to_string(mask) + "," +
                        std::to_string(scaleExpr)},
          {"tensors.nondecreasing", promises},
          {"scale", scale ? std::to_string(*scale * 1e6) : "none"},
          {"normal.scale", std::to_string(normalScale)},
          {"normal.score", textOf(normalExprs) + std::to_string(normalScore)},
          {"normal.mask", textOf(normalExprs) + std::to_string(normalMask)},
          {"schedule", knobs},
          {"places", written},
          {"canonical", canonical},
          {"digest", digest},
          {"fileName", fileName}};
}

/// What a spelling is: it may differ where the kernel does not.
const std::set<std::string> spelling{"exprs", "fileName", "places"};

std::string valueOf(const Values &values, const std::string &name) {
  for (const auto &[field, value] : values)
    if (field == name)
      return value;
  FAIL(name);
  return "";
}

/// Specs that differ from `base`, between them in every field.
std::vector<Wish> variants() {
  std::vector<Wish> all;
  for (const char *lines :
       {"  mask = window(7)\n", "", "  mask = causal\n  score = softcap(s, 30.0)\n",
        "  mask = causal\n  scale = 0.5\n", "  mask = causal\n  scalar x : f32\n  scale = x\n",
        "  mask = causal\n  scalar x : f32\n  score = s + x\n",
        "  mask = causal\n  scalar y : f32\n  score = s + y\n",
        "  mask = causal\n  scalar x : i32\n  score = s + f32(x)\n",
        "  mask = causal\n  lse : f32 natural\n", "  mask = causal\n  lse : f32 base2\n",
        "  mask = causal\n  sink : f32[heads]\n",
        "  mask = causal\n  tensor t : f32[heads]\n  score = s + t[h]\n",
        "  mask = causal\n  tensor u : f32[heads]\n  score = s + u[h]\n",
        "  mask = causal\n  tensor t : f32[kv_heads]\n  score = s + t[hk]\n",
        "  mask = causal\n  tensor t : bf16[heads]\n  score = s + t[h]\n",
        "  tensor t : i32[tokens]\n  mask = document(t)\n",
        "  tensor t : i32[tokens] nondecreasing\n  mask = document(t)\n",
        "  mask = causal\n  schedule { waves = 2 }\n"})
    all.push_back(with(lines));
  for (const char *lines : {"  q, kv : fp16[tokens, 4 / 2, 64]\n  out : bf16\n",
                            "  q, kv : bf16[batch, seq, 4 / 2, 64]\n  out : bf16\n",
                            "  q, kv : bf16[tokens, 8 / 2, 64]\n  out : bf16\n",
                            "  q, kv : bf16[tokens, 4 / 1, 64]\n  out : bf16\n",
                            "  q, kv : bf16[tokens, 4 / 2, 32]\n  out : bf16\n",
                            "  q, k : bf16[tokens, 4 / 2, 64]\n"
                            "  v : bf16[tokens, kv_heads = 2, v_dim = 32]\n  out : bf16\n",
                            "  q, kv : bf16[tokens, 4 / 2, 64]\n  out : f32\n"})
    all.push_back({attention(std::string(lines) + "  mask = causal\n"), {}, {}});
  all.push_back({attention(types + "  mask = causal\n", "b"), {}, {}}); // the kernel's symbol
  return all;
}

/// Spellings of `base`: each is another text and the same kernel under the same key.
std::vector<Wish> respelled() {
  std::vector<Wish> all{{"// A comment.\n\n" + base.text, {}, {}},
                        with("  mask = k <= q\n"),
                        with("  mask = q >= k && true\n"),
                        with("  mask = !(k > q)\n  score = s\n"),
                        with("  score = s\n  mask = !!causal() || false\n"),
                        with("  scale = 1 / sqrt(dim)\n  mask = k <= q && (q >= k && causal)\n")};
  all.push_back(base);
  all.back().fileName = "/elsewhere/other.attn";
  return all;
}

} // namespace

TEST_CASE("F67: each field of a problem and of a model changes kernel and key, or neither") {
  const Made original = kernels().add(base);
  REQUIRE(original.kernel.size() == 64);
  const auto everything = [](const Wish &wish) {
    const spec::Model model = parse(wish);
    Values values = valuesOf(model.problem), more = valuesOf(model);
    values.insert(values.end(), more.begin(), more.end());
    return values;
  };
  const Values before = everything(base);
  std::set<std::string> tried;
  const auto note = [&](const Values &now, bool ofSpelling) {
    for (const auto &[field, value] : now)
      if (value != valueOf(before, field) && spelling.contains(field) == ofSpelling)
        tried.insert(field);
  };
  for (const Wish &wish : variants()) {
    INFO(wish.text);
    const Made made = kernels().add(wish);
    CHECK(differ(made, original));
    CHECK(made.digest != original.digest);
    note(everything(wish), false);
  }
  for (const Wish &wish : respelled()) {
    INFO(wish.text);
    const Made made = kernels().add(wish);
    CHECK_FALSE(differ(made, original));
    CHECK(made.digest == original.digest);
    note(everything(wish), true);
  }
  for (const auto &[field, value] : before) {
    INFO("no trial changes " << field);
    CHECK(tried.contains(field));
  }
}

TEST_CASE("F67: each value of each knob, from the spec or the call, and each chip") {
  const Made original = kernels().add(base);
  for (const schedule::Knob &knob : schedule::allKnobs()) {
    std::set<std::string> made{original.kernel};
    for (int value : knob.legal) {
      const std::string name(knob.name), text = std::to_string(value);
      INFO(name << " = " << value);
      Wish call = base;
      call.options.knobs = {{name, text}};
      const Made asked = kernels().add(call);
      const Made written =
          kernels().add(with("  mask = causal\n  schedule { " + name + " = " + text + " }\n"));
      CHECK(asked.digest == written.digest);
      made.insert(asked.kernel);
    }
    INFO(knob.name << ": no value changes the kernel");
    CHECK((knob.legal.size() == 1 || made.size() > 1));
  }
  for (const target::Arch &arch : target::allArchs()) {
    Wish wish = base;
    wish.options.arch = arch.name;
    CHECK((kernels().add(wish).digest == original.digest) == (arch.name == base.options.arch));
  }
}

TEST_CASE("F67: each parameter of each spec") {
  size_t parameters = 0;
  for (const auto &file : std::filesystem::directory_iterator(ATTUNE_SPECS_DIR)) {
    if (file.path().extension() != ".attn")
      continue;
    std::ifstream in(file.path());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    spec::Diagnostics quiet;
    const auto ast = spec::parseFile(file.path(), text, quiet);
    REQUIRE(ast);
    for (const spec::ParameterDecl &parameter : ast->attentions.at(0).parameters) {
      INFO(file.path() << " " << parameter.name.name);
      const Wish usual{text, {}, {}, file.path()};
      Wish other = usual;
      other.parameters[parameter.name.name] = parameter.kind.name == "int" ? "24" : "7.5";
      const Made one = kernels().add(usual), two = kernels().add(other);
      CHECK(differ(one, two));
      CHECK(one.digest != two.digest);
      ++parameters;
    }
  }
  CHECK(parameters >= 8);
}

TEST_CASE("F71: texts of one meaning are one kernel, bit for bit") {
  const std::vector<std::vector<std::string>> meanings{
      {"  mask = k <= q && k > q - 5 && !(k == 3)\n", "  mask = k != 3 && window(5)\n",
       "  mask = q - 5 < k && (3 != k && causal)\n", "  mask = near(5) && !(3 == k)\n"},
      {"  tensor t : f32[heads]\n  score = s + t[h]\n",
       "  tensor t : f32[heads]\n  score = t[h] + s\n"},
      {"  score = softcap(s, 5.0)\n", "  score = 5.0 * tanh(s / 5.0)\n",
       "  score = let x = s / 5 in tanh(x) * 5.0\n", "  let c = 5.0\n  score = softcap(s, c)\n"},
      {"  mask = (k & 3) == (q | 8) || max(b, 2) == min(h, hk) + 1\n",
       "  mask = 1 + min(hk, h) == max(2, b) || (8 | q) == (3 & k)\n"},
      {"", "  mask = true\n  score = s\n", "  scale = 0.125\n"},
      {"  scalar x : f32\n  scale = x * 0.5\n  mask = causal || prefix(3)\n",
       "  scalar x : f32\n  mask = prefix(3) || k <= q\n  scale = 0.5 * x\n"}};
  for (const auto &texts : meanings) {
    std::optional<Made> first;
    for (const std::string &text : texts) {
      INFO(text);
      Wish wish = with(text);
      wish.text = "fn near(n) = window(n)\n" + wish.text;
      const Made made = kernels().add(wish);
      CHECK(made.kernel.size() == 64);
      if (first) {
        CHECK(made.digest == first->digest);
        CHECK(made.kernel == first->kernel);
      }
      first = made;
    }
  }
  // Scales that are one f32 and not one double: log2(e) times them is rounded once.
  const Made exact = kernels().add(with("  scale = 0.088388347648318433\n"));
  CHECK(exact.digest != kernels().add(with("  scale = 0.08838834613561630249\n")).digest);
}

TEST_CASE("Every field of the key is needed: without it two kernels would have one") {
  // The runs above, if this test is run alone.
  for (const Wish &wish : variants())
    kernels().add(wish);
  kernels().add(base);
  Wish other = base;
  other.options.arch = "gfx942";
  kernels().add(other);
  other = base;
  other.options.knobs = {{"kv_tile", "32"}};
  kernels().add(other);
  for (const auto &[field, value] : kernels().add(base).fields)
    if (field != "compiler" && field != "llvm") { // tests/runtime/api
      INFO(field);
      CHECK(kernels().needs(field));
    }
}

namespace {

/// The attn dialect of a spec, and its key: for what one operation of the language changes.
std::pair<std::string, std::string> attnOf(const Wish &wish) {
  const spec::Model model = parse(wish);
  Result<std::string> text = compiler().emit(model, Stage::Attn);
  INFO(wish.text);
  if (!text)
    FAIL(text.error().message);
  return {keyOf(model, wish).digest(), *text};
}

/// The declarations of what a use reads.
std::string captured(const std::string &use) {
  const auto reads = [&](const char *name) { return use.find(name) != std::string::npos; };
  return std::string(reads("tf") ? "  tensor tf : f32[heads]\n" : "") +
         (reads("(ti)") ? "  tensor ti : i32[tokens]\n" : "");
}

/// Uses of every built-in with two sets of arguments.
std::vector<std::string> builtinUses() {
  std::vector<std::string> uses;
  for (const spec::Builtin &builtin : spec::builtins())
    for (int more : {0, 3}) {
      std::string arguments;
      bool score = builtin.name == "alibi";
      for (const spec::BuiltinParam &parameter : builtin.params) {
        arguments += arguments.empty() ? "" : ", ";
        switch (parameter.kind) {
        case spec::BuiltinParam::Int:
          arguments += std::to_string(2 + more);
          break;
        case spec::BuiltinParam::Positive:
          arguments += std::to_string(4 + more) + ".5";
          break;
        case spec::BuiltinParam::Value:
          arguments += more ? "s * 2.0" : "s";
          score = true;
          break;
        case spec::BuiltinParam::Tensor:
          arguments += parameter.tensorType == spec::ScalarType::F32 ? "tf" : "ti";
        }
      }
      const std::string call = std::string(builtin.name) + "(" + arguments + ")";
      uses.push_back(score ? "score = s + " + call : "mask = " + call);
    }
  return uses;
}

/// Uses of every function, index, shape and operator.
std::vector<std::string> otherUses() {
  std::vector<std::string> uses;
  for (const spec::Maths &maths : spec::mathsFunctions()) {
    const std::string name(maths.name);
    if (maths.type == spec::Maths::Choose)
      uses.push_back("score = " + name + "(k < q, s, 1.5)");
    else if (maths.arity == 2)
      uses.push_back("score = " + name + "(s, 2.5)");
    else
      uses.push_back("score = s + f32(" + name + (name == "f32" ? "(q))" : "(s))"));
    if (maths.type == spec::Maths::Number)
      uses.push_back("mask = " + name + (maths.arity == 2 ? "(q, 9) < k" : "(q - 9) < k"));
  }
  for (const spec::IndexRow &row : spec::indexNames())
    uses.push_back("score = s + 2.0 * f32(" + std::string(row.name) + " + 1)");
  for (const spec::ShapeName &shape : spec::shapeNames())
    uses.push_back("score = s * " + std::string(shape.name));
  for (const char *one : {"+", "-", "*", "/", "%"}) {
    uses.push_back(std::string("score = s ") + one + " 3.5");
    uses.push_back(std::string("mask = (q ") + one + " 3) < k");
  }
  for (const char *one : {"==", "!=", "<", "<=", ">", ">="}) {
    uses.push_back(std::string("mask = q ") + one + " k");
    uses.push_back(std::string("mask = tf[h] ") + one + " 1.5");
    uses.push_back(std::string("mask = !(tf[h] ") + one + " 1.5)");
  }
  for (const char *one : {"&", "|", "^", "<<", ">>"})
    uses.push_back(std::string("mask = (q ") + one + " 3) < k");
  for (const char *one : {"&&", "||", "^"})
    uses.push_back(std::string("mask = (k < q) ") + one + " (k == 7)");
  uses.insert(uses.end(), {"score = -s", "mask = -q < k", "mask = select(k < q, true, k == 7)",
                           "scalar x : f32\n  score = s * x"});
  return uses;
}

} // namespace

TEST_CASE("F67: each built-in, function, index, shape and operator of the language") {
  std::map<std::string, std::string> byKey;
  std::set<spec::ExprKind> used;
  std::vector<std::string> uses = builtinUses(), more = otherUses();
  uses.insert(uses.end(), more.begin(), more.end());
  for (const std::string &use : uses) {
    const Wish wish = with(captured(use) + "  " + use + "\n");
    INFO(use);
    const auto [digest, text] = attnOf(wish);
    CHECK(byKey.try_emplace(digest, text).first->second == text);
    for (const spec::Expr &e : parse(wish).normal.exprs)
      used.insert(e.kind);
  }
  CHECK(byKey.size() > 80);
  // ToI32 is the last kind; calls and two comparisons have no place in the normal form.
  for (int kind = 0; kind <= int(spec::ExprKind::ToI32); ++kind) {
    using enum spec::ExprKind;
    INFO("no use of ExprKind " << kind);
    const bool none = kind == int(Call) || kind == int(Gt) || kind == int(Ge);
    CHECK(used.contains(spec::ExprKind(kind)) == !none);
  }
}

TEST_CASE("The compiler is sent nothing that the key does not know of") {
  // A field more does not compile here: whoever adds one decides about the key (KernelKey.h). Text,
  // file name, attention and parameters are in `name` and `spec`, which the digest stands for; a
  // listing comes beside the same bytes (CompilerTest.cpp).
  const auto [text, fileName, attention, parameters, arch, knobs, specDigest, listing] =
      CompileRequest{};
  CHECK(text + fileName + attention + arch + specDigest == "");
  CHECK(!listing);
  CHECK((parameters.empty() && knobs.empty()));
}
