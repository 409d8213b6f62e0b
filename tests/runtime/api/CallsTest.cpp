// attune.h as a C program meets it: every argument that can be wrong, once.
#include "tests/runtime/api/Testing.h"
#include <catch2/catch.hpp>
#include <climits>
#include <string>

using namespace attune;
using namespace attune::testing;
using Catch::Matchers::Contains;

namespace {

/// A context in a directory of its own, a spec and its kernel.
struct Fixture {
  TempDir dir;
  attune_context *context = nullptr;
  attune_spec *spec = nullptr;
  attune_kernel *kernel = nullptr;

  explicit Fixture(const std::string &text = specText("calls")) {
    useFakeCompiler();
    attune_context_options options{};
    options.size = sizeof options;
    options.device = "sim";
    options.cache_directory = dir.path().c_str();
    options.sim_threads = 1;
    REQUIRE(attune_context_create(&options, &context) == ATTUNE_OK);
    REQUIRE(attune_spec_parse(text.c_str(), SIZE_MAX, nullptr, &spec) == ATTUNE_OK);
    REQUIRE(attune_kernel_get(context, spec, nullptr, &kernel) == ATTUNE_OK);
  }
  ~Fixture() {
    attune_kernel_destroy(kernel);
    attune_spec_destroy(spec);
    attune_context_destroy(context);
  }
};

attune_shapes shapes(int64_t tokens = 10, int64_t maxQLen = 5) {
  attune_shapes s{};
  s.size = sizeof s;
  const int64_t q[] = {tokens, 4, 64}, k[] = {tokens, 2, 64}, lse[] = {4, tokens};
  s.q = s.out = attune_packed(ATTUNE_BF16, 3, q);
  s.k = s.v = attune_packed(ATTUNE_BF16, 3, k);
  s.lse = attune_packed(ATTUNE_F32, 2, lse);
  s.batch = 2;
  s.max_q_len = maxQLen;
  return s;
}

attune_pointers pointers(uint64_t memory) {
  attune_pointers p{};
  p.size = sizeof p;
  p.q = p.k = p.v = p.out = p.lse = p.cu_seqlens_q = p.cu_seqlens_k = memory;
  return p;
}

std::string lastError() { return attune_last_error(); }

} // namespace

TEST_CASE("From a context to a run, and back") {
  Fixture f;
  CHECK(std::string(attune_context_device(f.context)) == "sim");
  CHECK(std::string(attune_context_arch(f.context)) == "gfx950");
  CHECK(std::string(attune_spec_name(f.spec)) == "calls");
  CHECK(std::string(attune_spec_digest(f.spec)).size() == 64);
  attune_kernel_info info{};
  info.size = sizeof info;
  REQUIRE(attune_kernel_get_info(f.kernel, &info) == ATTUNE_OK);
  CHECK(std::string(info.name) == "k");
  CHECK(std::string(info.digest).size() == 64);
  CHECK_THAT(info.sidecar, Contains("\"calls\""));
  CHECK(info.num_tensors == 0);
  CHECK(attune_kernel_tensor_name(f.kernel, 0) == nullptr);
  const void *code;
  size_t bytes;
  REQUIRE(attune_kernel_code(f.kernel, &code, &bytes) == ATTUNE_OK);
  CHECK(std::string(static_cast<const char *>(code), 4) == "\x7f"
                                                           "ELF");

  uint64_t memory;
  REQUIRE(attune_alloc(f.context, 1 << 16, &memory) == ATTUNE_OK);
  const std::string hello = "hello";
  char back[5];
  REQUIRE(attune_copy_in(f.context, memory, hello.data(), 5) == ATTUNE_OK);
  REQUIRE(attune_copy_out(f.context, back, memory, 5) == ATTUNE_OK);
  CHECK(std::string(back, 5) == hello);

  attune_plan *plan;
  const attune_shapes s = shapes();
  REQUIRE(attune_plan_create(f.kernel, &s, &plan) == ATTUNE_OK);
  attune_plan_info planned{};
  planned.size = sizeof planned;
  REQUIRE(attune_plan_get_info(plan, &planned) == ATTUNE_OK);
  CHECK(planned.grid[0] == 8); // one q block, 4 heads, 2 sequences
  CHECK(planned.block[0] == 64);
  CHECK(planned.batch == 2);
  CHECK_THAT(planned.valid_while, Contains("every q_len <= 5"));
  attune_pointers p = pointers(memory);
  CHECK(attune_run(plan, &p, nullptr) == ATTUNE_OK);
  CHECK(attune_synchronize(f.context, nullptr) == ATTUNE_OK);
  p.max_q_len = 6;
  CHECK(attune_run(plan, &p, nullptr) == ATTUNE_INVALID_ARGUMENT);
  CHECK_THAT(lastError(), Contains("max_q_len") && Contains("at most 5"));
  p = pointers(memory);
  p.k = memory + 8;
  CHECK(attune_run(plan, &p, nullptr) == ATTUNE_INVALID_ARGUMENT);
  CHECK_THAT(lastError(), Contains("k: its address"));
  attune_plan_destroy(plan);
  attune_free(f.context, memory);
}

TEST_CASE("What an object was made from may go before it") {
  Fixture f;
  attune_plan *plan;
  const attune_shapes s = shapes();
  uint64_t memory;
  REQUIRE(attune_alloc(f.context, 1 << 16, &memory) == ATTUNE_OK);
  REQUIRE(attune_plan_create(f.kernel, &s, &plan) == ATTUNE_OK);
  attune_kernel_destroy(f.kernel);
  attune_spec_destroy(f.spec);
  attune_context_destroy(f.context);
  f.kernel = nullptr, f.spec = nullptr, f.context = nullptr;
  attune_pointers p = pointers(memory);
  CHECK(attune_run(plan, &p, nullptr) == ATTUNE_OK);
  attune_plan_destroy(plan);
}

TEST_CASE("Null pointers are named, and handles are null after a failure") {
  Fixture f;
  const attune_shapes s = shapes();
  const auto refused = [](attune_status status, const char *name) {
    CHECK(status == ATTUNE_INVALID_ARGUMENT);
    CHECK_THAT(lastError(), Contains(std::string(name) + ": must not be NULL"));
  };
  refused(attune_context_create(nullptr, nullptr), "context");
  refused(attune_spec_parse(nullptr, 0, nullptr, &f.spec), "text");
  refused(attune_spec_parse("", 0, nullptr, nullptr), "spec");
  refused(attune_spec_parse_file(nullptr, nullptr, nullptr), "path");
  attune_kernel *kernel = f.kernel;
  refused(attune_kernel_get(nullptr, f.spec, nullptr, &kernel), "context");
  refused(attune_kernel_get(f.context, nullptr, nullptr, &kernel), "spec");
  refused(attune_kernel_get_async(f.context, f.spec, nullptr, nullptr), "kernel");
  refused(attune_plan_create(nullptr, &s, nullptr), "kernel");
  refused(attune_plan_create(f.kernel, nullptr, nullptr), "shapes");
  refused(attune_run(nullptr, nullptr, nullptr), "plan");
  refused(attune_alloc(f.context, 1, nullptr), "address");
  refused(attune_copy_in(f.context, 1, nullptr, 1), "from");
  refused(attune_synchronize(nullptr, nullptr), "context");
  refused(attune_context_counters(f.context, nullptr), "text");
  CHECK(attune_spec_name(nullptr) == nullptr);
  attune_context_destroy(nullptr);
  attune_plan_destroy(nullptr);
  attune_free(nullptr, 0);

  attune_spec *spec = f.spec;
  CHECK(attune_spec_parse("attention", SIZE_MAX, nullptr, &spec) == ATTUNE_INVALID_SPEC);
  CHECK(spec == nullptr);
}

TEST_CASE("A spec's errors arrive with line and caret") {
  attune_spec *spec;
  attune_spec_options options{};
  options.size = sizeof options;
  options.file_name = "mine.attn";
  CHECK(attune_spec_parse("attention a {\n  q, kv : bf16[tokens, 4 / 3, 64]\n}\n", SIZE_MAX,
                          &options, &spec) != ATTUNE_OK);
  CHECK_THAT(lastError(), Contains("mine.attn:2:") && Contains("^"));
  CHECK(attune_spec_parse_file("/nowhere.attn", nullptr, &spec) == ATTUNE_NOT_FOUND);
  CHECK_THAT(lastError(), Contains("/nowhere.attn"));
  const attune_setting twice[] = {{"n", "1"}, {"n", "2"}};
  options.parameters = twice;
  options.num_parameters = 2;
  CHECK(attune_spec_parse("", SIZE_MAX, &options, &spec) == ATTUNE_INVALID_ARGUMENT);
  CHECK_THAT(lastError(), Contains("n is given twice"));
}

TEST_CASE("Structs of another size: shorter is older, longer must be zero") {
  Fixture f;
  struct Newer {
    attune_kernel_options known{};
    uint64_t added = 0;
  } newer;
  newer.known.size = sizeof newer;
  attune_kernel *kernel = nullptr;
  CHECK(attune_kernel_get(f.context, f.spec, &newer.known, &kernel) == ATTUNE_OK);
  attune_kernel_destroy(kernel);
  newer.added = 1;
  CHECK(attune_kernel_get(f.context, f.spec, &newer.known, &kernel) == ATTUNE_UNSUPPORTED);
  CHECK_THAT(lastError(), Contains("attune_kernel_options"));
  newer.known.size = 0;
  CHECK(attune_kernel_get(f.context, f.spec, &newer.known, &kernel) == ATTUNE_INVALID_ARGUMENT);

  attune_kernel_info info{};
  info.size = offsetof(attune_kernel_info, vgprs);
  info.vgprs = 12345;
  REQUIRE(attune_kernel_get_info(f.kernel, &info) == ATTUNE_OK);
  CHECK(info.vgprs == 12345); // beyond what the caller has
  CHECK(info.name);
}

TEST_CASE("A context may have its kernels compiled in a child, for so many seconds") {
  useFakeCompiler();
  TempDir dir;
  attune_context_options options{};
  options.size = sizeof options;
  options.device = "sim";
  options.cache_directory = dir.path().c_str();
  options.compile_in_child = 1;
  attune_context *context = nullptr;
  for (int32_t wrong : {-1, 86'401}) {
    options.compile_timeout = wrong;
    CHECK(attune_context_create(&options, &context) == ATTUNE_INVALID_ARGUMENT);
    CHECK(lastError() ==
          "attune_context_options.compile_timeout: must be 0 to 86400 (seconds), got " +
              std::to_string(wrong));
  }
  options.compile_timeout = 1;
  setenv("ATTUNE_COMPILE_TIMEOUT", "60", 1); // the option comes first
  REQUIRE(attune_context_create(&options, &context) == ATTUNE_OK);
  unsetenv("ATTUNE_COMPILE_TIMEOUT");
  attune_spec *spec = nullptr;
  REQUIRE(attune_spec_parse(specText("hang").c_str(), SIZE_MAX, nullptr, &spec) == ATTUNE_OK);
  attune_kernel *kernel = nullptr;
  CHECK(attune_kernel_get(context, spec, nullptr, &kernel) == ATTUNE_INTERNAL);
  CHECK_THAT(lastError(), Contains("after its limit of 1 s, which ATTUNE_COMPILE_TIMEOUT"));
  attune_spec_destroy(spec);
  attune_context_destroy(context);
}

TEST_CASE("Tensors that are none are refused by name") {
  Fixture f;
  const auto refused = [&](auto change, const char *text) {
    attune_shapes s = shapes();
    change(s);
    attune_plan *plan;
    CHECK(attune_plan_create(f.kernel, &s, &plan) == ATTUNE_INVALID_ARGUMENT);
    CHECK(plan == nullptr);
    CHECK_THAT(lastError(), Contains(text));
  };
  refused([](attune_shapes &s) { s.q.rank = 9; }, "q: rank");
  refused([](attune_shapes &s) { s.k.dtype = 0; }, "k: dtype");
  for (int wrong : {-1, 77, INT_MIN})
    refused([&](attune_shapes &s) { s.k = attune_packed(attune_dtype(wrong), 3, s.k.shape); },
            std::to_string(wrong).c_str());
  refused([](attune_shapes &s) { s.v.shape[0] = -1; }, "v: dimension 0");
  refused([](attune_shapes &s) { s.out.dtype = ATTUNE_F32; }, "out: element type");
  refused([](attune_shapes &s) { s.lse.rank = 0; }, "lse: the kernel writes it");
  refused([](attune_shapes &s) { s.sink = s.lse; }, "sink: given, but");
  refused([](attune_shapes &s) { s.max_q_len = -1; }, "max_q_len");
  const int64_t absurd[] = {INT64_MAX, INT64_MAX, 64};
  refused([&](attune_shapes &s) { s.q = attune_packed(ATTUNE_BF16, 3, absurd); }, "q");
}

TEST_CASE("Captured tensors and scalars go by their order") {
  Fixture f("attention captured {\n  q, kv : bf16[tokens, 4 / 2, 64]\n  out : bf16\n"
            "  tensor slope : f32[heads]\n  tensor doc : i32[tokens]\n  scalar bias : f32\n"
            "  score = s + slope[h] * bias\n  mask = doc[q] == doc[k]\n  lse : f32 natural\n}\n");
  CHECK(std::string(attune_kernel_tensor_name(f.kernel, 0)) == "doc");
  CHECK(std::string(attune_kernel_tensor_name(f.kernel, 1)) == "slope");
  CHECK(std::string(attune_kernel_scalar_name(f.kernel, 0)) == "bias");
  attune_shapes s = shapes();
  attune_plan *plan;
  CHECK(attune_plan_create(f.kernel, &s, &plan) == ATTUNE_INVALID_ARGUMENT);
  CHECK_THAT(lastError(), Contains("attune_shapes.tensors"));
  const int64_t heads[] = {4}, tokens[] = {10};
  const attune_tensor tensors[] = {attune_packed(ATTUNE_I32, 1, tokens),
                                   attune_packed(ATTUNE_F32, 1, heads)};
  const double scalars[] = {0.5};
  s.tensors = tensors;
  s.scalars = scalars;
  REQUIRE(attune_plan_create(f.kernel, &s, &plan) == ATTUNE_OK);
  uint64_t memory;
  REQUIRE(attune_alloc(f.context, 1 << 16, &memory) == ATTUNE_OK);
  attune_pointers p = pointers(memory);
  CHECK(attune_run(plan, &p, nullptr) == ATTUNE_INVALID_ARGUMENT);
  CHECK_THAT(lastError(), Contains("attune_pointers.tensors"));
  uint64_t addresses[] = {memory, 0};
  p.tensors = addresses;
  CHECK(attune_run(plan, &p, nullptr) == ATTUNE_INVALID_ARGUMENT);
  CHECK_THAT(lastError(), Contains("tensor.slope"));
  addresses[1] = memory;
  CHECK(attune_run(plan, &p, nullptr) == ATTUNE_OK);
  attune_plan_destroy(plan);
}

TEST_CASE("Every status has a name, and the version is that of the header") {
  for (int i = ATTUNE_OK; i <= ATTUNE_PENDING; ++i)
    CHECK(std::string(attune_status_name(attune_status(i))) != "unknown status");
  for (int i : {-1, 77, INT_MAX, INT_MIN})
    CHECK(std::string(attune_status_name(attune_status(i))) == "unknown status");
  CHECK(attune_abi_version() == ATTUNE_ABI_VERSION);
}
