// The public face of the compiler: what an image says about itself, that every stage is the same
// walk, and errors.
#include "compiler/include/attune/Compiler.h"
#include "compiler/spec/Spec.h"
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

using namespace attune;

namespace {

constexpr const char *kCausal = R"(
attention causal_small {
  q     : bf16[tokens, 4, 128]
  kv    : bf16[tokens, 2, 128]
  out   : bf16
  score = s
  mask  = causal
  lse   : natural
}
)";

spec::Model parse(const std::string &text) {
  Result<spec::Model> model = spec::parseSpec(text, {});
  INFO((model ? "" : model.error().message));
  REQUIRE(model);
  return *model;
}

Compiler makeCompiler() {
  Result<Compiler> compiler = Compiler::create();
  REQUIRE(compiler);
  return std::move(*compiler);
}

template <class T> T valueOf(Result<T> result) {
  INFO((result ? "" : result.error().message));
  REQUIRE(result);
  return std::move(*result);
}

template <class T> Error errorOf(Result<T> result) {
  REQUIRE_FALSE(result);
  return result.error();
}

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

bool isElf(const std::string &bytes) {
  return bytes.substr(0, 4) == "\x7f"
                               "ELF";
}

const KernelArg *findArg(const KernelReport &kernel, const std::string &name) {
  for (const KernelArg &arg : kernel.args)
    if (arg.name == name)
      return &arg;
  return nullptr;
}

TEST_CASE("an image says what was compiled and how to launch it") {
  const spec::Model model = parse(kCausal);
  Compiler compiler = makeCompiler();
  const KernelImage image = valueOf(compiler.compile(model));
  const Sidecar &sidecar = image.sidecar;
  CHECK(isElf(std::string(image.codeObject.begin(), image.codeObject.end())));
  CHECK(sidecar.problem.specName == "causal_small");
  CHECK(sidecar.problem.numQHeads == 4);
  CHECK(sidecar.problem.numKvHeads == 2);
  CHECK(sidecar.problem.headDim == 128);
  CHECK(sidecar.problem.lse == LseKind::Natural);
  CHECK(sidecar.arch == "gfx950");
  CHECK(sidecar.specDigest == model.digest);
  CHECK(contains(sidecar.plan, "kv_tile="));
  CHECK(contains(sidecar.llvmVersion, "22."));
  CHECK(sidecar.compileMs > 0);

  const KernelReport &kernel = sidecar.kernel;
  CHECK(kernel.name == "causal_small");
  CHECK(kernel.abiFingerprint == abiFingerprint(kernel.args));
  for (const char *name :
       {"q", "k", "v", "out", "lse", "cu_seqlens_q", "cu_seqlens_k", "batch", "num_q_blocks"})
    CHECK(findArg(kernel, name) != nullptr);
  CHECK(findArg(kernel, "q_stride_batch") == nullptr); // varlen has none
  const KernelArg &last = kernel.args.back();
  CHECK(kernel.kernargBytes >= last.offset + last.size);
  CHECK(kernel.grid.blockM > 0);
  CHECK(kernel.grid.workgroupThreads % 64 == 0);
  CHECK(kernel.resources.vgpr > 0);
  CHECK(kernel.resources.ldsBytes > 0);
  CHECK(kernel.resources.scratchBytes == 0);
  CHECK(kernel.resources.occupancy >= 1);
  CHECK(valueOf(sidecarFromJson(toJson(sidecar))).kernel.abiFingerprint == kernel.abiFingerprint);
}

TEST_CASE("a kernel of more arguments than scalar registers compiles") {
  std::string tensors, sum = "s";
  for (int n = 0; n < 16; ++n) { // ten dwords each: an address, three strides, a size
    tensors += "  tensor b" + std::to_string(n) + " : f32[heads, q, k]\n";
    sum += " + b" + std::to_string(n) + "[h, qi, k]";
  }
  KernelImage image = valueOf(makeCompiler().compile(
      parse("attention many {\n  q, kv : bf16[batch, seq, 8, 64]\n  out : bf16\n" + tensors +
            "  score = " + sum + "\n}\n"),
      {}));
  CHECK(image.sidecar.kernel.args.size() > 16 * 5);
}

TEST_CASE("equal inputs give equal bytes, in one compiler or two") {
  const spec::Model model = parse(kCausal);
  Compiler first = makeCompiler(), second = makeCompiler();
  const std::vector<uint8_t> bytes = valueOf(first.compile(model)).codeObject;
  CHECK(valueOf(first.compile(model)).codeObject == bytes);
  CHECK(valueOf(second.compile(model)).codeObject == bytes);
}

TEST_CASE("every stage prints, and all are stages of what compile returns") {
  const spec::Model model = parse(kCausal);
  Compiler compiler = makeCompiler();
  auto emit = [&](Stage stage) { return valueOf(compiler.emit(model, stage)); };
  CHECK(contains(emit(Stage::Attn), "attn.kernel @causal_small"));
  CHECK(contains(emit(Stage::Tile), "tile.kernel @causal_small"));
  CHECK(contains(emit(Stage::Rocdl), "rocdl.mfma"));
  CHECK(contains(emit(Stage::Llvm), "define protected amdgpu_kernel void @causal_small"));
  CHECK(contains(emit(Stage::Isa), "v_mfma_f32_32x32x16_bf16"));
  CHECK(isElf(emit(Stage::Object)));
  const std::vector<uint8_t> bytes = valueOf(compiler.compile(model)).codeObject;
  CHECK(emit(Stage::Hsaco) == std::string(bytes.begin(), bytes.end()));

  const std::string attn = emit(Stage::Attn);
  CHECK(valueOf(compiler.compileMlir(attn)).codeObject == bytes);
  CHECK(valueOf(compiler.emitMlir(attn, Stage::Isa)) == emit(Stage::Isa));
}

TEST_CASE("Stages asked for together are those that are asked for one by one") {
  const spec::Model model = parse(kCausal);
  Compiler compiler = makeCompiler();
  const std::set<Stage> all{Stage::Attn, Stage::Tile,   Stage::Rocdl, Stage::Llvm,
                            Stage::Isa,  Stage::Object, Stage::Hsaco};
  const StagedKernel together = valueOf(compiler.compileStages(model, all));
  REQUIRE(together.stages.size() == all.size());
  for (Stage stage : all) {
    INFO(int(stage));
    CHECK((together.stages.at(stage) == valueOf(compiler.emit(model, stage))));
  }

  // The assembly text says the same of the kernel as the code object; so does every choice of
  // stages, and nothing else is printed.
  Sidecar expected = valueOf(compiler.compile(model)).sidecar;
  expected.compileMs = 0;
  for (const std::set<Stage> &some :
       {all, std::set{Stage::Isa}, std::set{Stage::Tile, Stage::Hsaco}, std::set<Stage>{}}) {
    StagedKernel kernel = valueOf(compiler.compileStages(model, some));
    CHECK(kernel.stages.size() == some.size());
    CHECK(kernel.sidecar.compileMs > 0);
    kernel.sidecar.compileMs = 0;
    CHECK(toJson(kernel.sidecar) == toJson(expected));
  }
}

TEST_CASE("options override the spec's schedule") {
  const spec::Model model = parse(kCausal);
  Compiler compiler = makeCompiler();
  const KernelImage usual = valueOf(compiler.compile(model));
  const int waves = usual.sidecar.kernel.grid.workgroupThreads / 64;
  CompileOptions options;
  options.knobs = {{"waves", waves == 4 ? "8" : "4"}};
  const KernelImage other = valueOf(compiler.compile(model, options));
  CHECK(other.sidecar.kernel.grid.workgroupThreads == 64 * (waves == 4 ? 8 : 4));
  CHECK(other.sidecar.plan != usual.sidecar.plan);
}

TEST_CASE("what cannot be compiled is refused with the reason, and the compiler goes on") {
  Compiler compiler = makeCompiler();
  const spec::Model model = parse(kCausal);

  CompileOptions options;
  options.arch = "gfx000";
  CHECK(contains(errorOf(compiler.compile(model, options)).message, "gfx950"));

  options = {};
  options.knobs = {{"waves", "many"}};
  CHECK(contains(errorOf(compiler.compile(model, options)).message, "waves"));

  spec::Model odd = model;
  odd.problem.headDim = odd.problem.vHeadDim = 100;
  const Error refused = errorOf(compiler.compile(odd));
  CHECK(refused.code == ErrorCode::Unsupported);
  CHECK(contains(refused.message, "100"));
  const Explanation refusal = valueOf(compiler.explain(odd));
  CHECK(refusal.refused);
  CHECK(contains(refusal.text, "refused"));

  CHECK(valueOf(compiler.compile(model)).codeObject.size() > 0);
}

TEST_CASE("attn text that is wrong is an error with its line") {
  Compiler compiler = makeCompiler();
  const Error syntax = errorOf(compiler.compileMlir("module {\n  nonsense\n}\n"));
  CHECK(syntax.code == ErrorCode::InvalidSpec);
  CHECK(contains(syntax.message, "<attn>:2:"));
  CHECK(contains(errorOf(compiler.compileMlir("module {}")).message, "holds one attn.kernel"));
}

TEST_CASE("explain names the mask's intervals, the plan's reasons and the limits") {
  Compiler compiler = makeCompiler();
  const std::string text = valueOf(compiler.explain(parse(kCausal))).text;
  for (const char *part :
       {"4 heads of 128", "q1", "kv_tile", "LDS", "waves per SIMD", "cu_seqlens_q"}) {
    INFO(text);
    CHECK(contains(text, part));
  }
}

TEST_CASE("explain says what of a mask is only known key by key") {
  Compiler compiler = makeCompiler();
  const std::string text = valueOf(compiler.explain(parse(R"(
attention packed {
  q, kv : bf16[tokens, 4, 64]
  out   : bf16
  tensor doc : i32[tokens]
  mask  = causal && doc[q] == doc[k]
}
)")))
                               .text;
  INFO(text);
  CHECK(contains(text, "doc[k] == doc[q] is only known key by key"));
  CHECK(contains(text, "no mask  keys none"));
  CHECK(contains(text, "tensor.doc"));
}

} // namespace

TEST_CASE("A refusal of the schedule shows the line of the spec, unless the caller asked for it") {
  Compiler compiler = makeCompiler();
  const std::string path = std::filesystem::temp_directory_path() / "attune_located_refusal.attn";
  auto refuse = [&](const std::string &from, const std::string &to, CompileOptions options = {}) {
    std::string text = kCausal;
    text.replace(text.find(from), from.size(), to);
    std::ofstream(path) << text;
    Result<spec::Model> model = spec::parseSpecFile(path, {});
    INFO((model ? "" : model.error().message));
    REQUIRE(model);
    return errorOf(compiler.compile(*model, options)).message;
  };
  std::string dim =
      refuse("4, 128]\n  kv    : bf16[tokens, 2, 128]", "4, 96]\n  kv    : bf16[tokens, 2, 96]");
  CHECK(contains(dim, path + ":3:"));
  CHECK(contains(dim, "nearest legal: 128"));
  CHECK(contains(dim, "q     : bf16[tokens, 4, 96]"));
  CHECK(contains(dim, "^"));

  std::string knob = refuse("score = s", "schedule { waves = 3 }");
  CHECK(contains(knob, path + ":6:"));
  CHECK(contains(knob, "schedule { waves = 3 }"));

  CompileOptions asked;
  asked.knobs = {{"waves", "3"}};
  std::string option = refuse("score = s", "schedule { waves = 4 }", asked);
  CHECK(contains(option, "waves"));
  CHECK_FALSE(contains(option, ":6:"));
  std::filesystem::remove(path);
}

TEST_CASE(
    "A kernel that would spill to memory is made for one wave per SIMD, unless two are asked for") {
  const std::string text = R"(
attention spilling {
  q, kv : fp16[tokens, 3, 128]
  tensor first : i32[batch]
  tensor table : f32[heads, 33]
  tensor slope : f32[heads]
  let z = s + table[h, max(-16, min(16, k - q)) + 16] + alibi(slope)
  score = select(k % 3 == 0, z, z * 0.5)
  mask  = k >= first[b] && k <= q
  sink  : f32[heads]
)";
  Compiler compiler = makeCompiler();
  const spec::Model model = parse(text + "}\n");
  const KernelImage image = valueOf(compiler.compile(model));
  const KernelImage two = valueOf(compiler.compile(model, {.knobs = {{"waves_per_eu", "2"}}}));
  const auto scratch = [](const KernelImage &one) {
    return one.sidecar.kernel.resources.scratchBytes;
  };
  REQUIRE(scratch(two) > 0); // else this spec shows nothing: make it larger
  CHECK(scratch(image) == 0);
  CHECK(contains(image.sidecar.plan, "waves_per_eu=1"));
  CHECK(contains(two.sidecar.plan, "waves_per_eu=2"));
  const spec::Model asking = parse(text + "  schedule { waves_per_eu = 2 }\n}\n");
  CHECK(valueOf(compiler.compile(asking)).codeObject == two.codeObject);

  // Every way to the kernel ends at the same one.
  const std::string bytes(image.codeObject.begin(), image.codeObject.end());
  CHECK(valueOf(compiler.emit(model, Stage::Hsaco)) == bytes);
  CHECK(contains(valueOf(compiler.emit(model, Stage::Isa)), ".private_segment_fixed_size: 0"));
  CHECK(contains(valueOf(compiler.emit(model, Stage::Tile)), "waves_per_eu = 1"));
  for (const std::set<Stage> &some :
       {std::set{Stage::Isa}, std::set{Stage::Tile, Stage::Isa, Stage::Hsaco}, std::set<Stage>{}})
    CHECK(valueOf(compiler.compileStages(model, some)).sidecar.plan == image.sidecar.plan);
  CHECK(valueOf(compiler.compileListed(model)).image.codeObject == image.codeObject);
  CHECK(valueOf(compiler.compileMlir(valueOf(compiler.emit(model, Stage::Attn)))).codeObject ==
        image.codeObject);
  CHECK(contains(valueOf(compiler.explain(model)).text, "waves_per_eu is 1 because"));
  CHECK_FALSE(contains(valueOf(compiler.explain(parse(kCausal))).text, "because registers"));
}

TEST_CASE("A listing has every instruction of the kernel, and the tile op it came from") {
  Compiler compiler = makeCompiler();
  spec::Model model = parse(kCausal);
  ListedKernel listed = valueOf(compiler.compileListed(model));
  const Listing &listing = listed.listing;
  std::vector<std::string> tile;
  std::istringstream lines(listing.tile);
  for (std::string line; std::getline(lines, line);)
    tile.push_back(line);
  CHECK(contains(listing.tile, "tile.kernel"));
  REQUIRE(listing.rows.size() > 500);
  size_t mma = 0, exps = 0, placed = 0;
  uint32_t next = 0;
  for (const ListingRow &row : listing.rows) {
    CHECK(row.pc >= next);
    next = row.pc + 4;
    REQUIRE(row.tileLine <= int(tile.size()));
    const std::string from = row.tileLine ? tile[row.tileLine - 1] : "";
    placed += row.tileLine > 0;
    if (contains(row.isa, "v_mfma_f32_32x32x16_bf16")) {
      ++mma;
      CHECK(contains(from, "tile.mma"));
    }
    if (contains(row.isa, "v_exp_f32")) {
      ++exps;
      CHECK((contains(from, "math.exp2") || contains(from, "tile.map")));
    }
  }
  CHECK(mma >= 32);
  CHECK(exps >= 32);
  CHECK(placed * 10 > listing.rows.size() * 9);
  CHECK(contains(listing.rows.back().isa, "s_endpgm"));

  // Line tables change nothing of what is linked, nor of what is said about it.
  KernelImage plain = valueOf(compiler.compile(model));
  CHECK((listed.image.codeObject == plain.codeObject));
  listed.image.sidecar.compileMs = plain.sidecar.compileMs = 0;
  CHECK(toJson(listed.image.sidecar) == toJson(plain.sidecar));

  const std::string isa = valueOf(compiler.emit(model, Stage::Isa));
  std::vector<std::string> mnemonics;
  std::istringstream text(isa);
  for (std::string line; std::getline(text, line);)
    if (line.size() > 2 && line[0] == '\t' && std::islower(line[1]))
      mnemonics.push_back(line.substr(1, line.find_first_of(" \t", 1) - 1));
  REQUIRE(listing.rows.size() == mnemonics.size());
  for (size_t n = 0; n < mnemonics.size(); ++n)
    CHECK(listing.rows[n].isa.substr(0, listing.rows[n].isa.find(' ')) == mnemonics[n]);
}
