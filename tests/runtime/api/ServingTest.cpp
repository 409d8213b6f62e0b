// attune_kernel_get_async with the real compiler, as a server meets it: a bundle has a kernel of
// the spec that serves all lengths, the one with another schedule is not there yet. Requests run on
// the first while the second is compiled, and every answer is right.
#include "tests/runtime/api/Testing.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <cstring>
#include <stdexcept>

using namespace attune;
using namespace attune::testing;

namespace {

constexpr int dim = 64, width = 3;
const std::string text = "attention served {\n  q, kv : bf16[tokens, 1, 64]\n  out : f32\n"
                         "  mask = window(3)\n}\n";

/// No macro of Catch: it is used in children too.
void ok(attune_status status) {
  if (status != ATTUNE_OK)
    throw std::runtime_error(attune_last_error());
}

/// Device memory that goes with its object.
class Buffer {
public:
  Buffer(attune_context *context, size_t bytes) : context_(context) {
    ok(attune_alloc(context, bytes, &address));
  }
  Buffer(const Buffer &) = delete;
  ~Buffer() { attune_free(context_, address); }
  uint64_t address = 0;

private:
  attune_context *context_;
};

/// One request: q is zero, so a row's result is the mean of the values that it sees.
double worstError(attune_context *context, const attune_kernel *kernel, int tokens) {
  const int64_t shape[] = {tokens, 1, dim};
  attune_shapes shapes{};
  shapes.size = sizeof shapes;
  shapes.q = shapes.k = shapes.v = attune_packed(ATTUNE_BF16, 3, shape);
  shapes.out = attune_packed(ATTUNE_F32, 3, shape);
  shapes.batch = 1;
  shapes.max_q_len = tokens;
  attune_plan *plan = nullptr;
  ok(attune_plan_create(kernel, &shapes, &plan));

  std::vector<uint16_t> zeros(size_t(tokens) * dim), bits(zeros.size());
  std::vector<float> values(zeros.size()), out(zeros.size());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = float(i * 5 % 17) / 4; // exact in bf16
    uint32_t word;
    std::memcpy(&word, &values[i], sizeof word);
    bits[i] = uint16_t(word >> 16);
  }
  const int32_t bounds[] = {0, tokens};
  Buffer q(context, zeros.size() * 2), v(context, bits.size() * 2), o(context, out.size() * 4),
      b(context, sizeof bounds);
  ok(attune_copy_in(context, q.address, zeros.data(), zeros.size() * 2));
  ok(attune_copy_in(context, v.address, bits.data(), bits.size() * 2));
  ok(attune_copy_in(context, b.address, bounds, sizeof bounds));
  attune_pointers pointers{};
  pointers.size = sizeof pointers;
  pointers.q = q.address;
  pointers.k = pointers.v = v.address;
  pointers.out = o.address;
  pointers.cu_seqlens_q = pointers.cu_seqlens_k = b.address;
  ok(attune_run(plan, &pointers, nullptr));
  ok(attune_synchronize(context, nullptr));
  ok(attune_copy_out(context, out.data(), o.address, out.size() * 4));
  attune_plan_destroy(plan);

  double worst = 0;
  for (int row = 0; row < tokens; ++row)
    for (int column = 0; column < dim; ++column) {
      const int first = std::max(0, row - width + 1);
      double sum = 0;
      for (int key = first; key <= row; ++key)
        sum += values[size_t(key) * dim + size_t(column)];
      worst = std::fmax(
          worst, std::fabs(out[size_t(row) * dim + size_t(column)] - sum / (row - first + 1)));
    }
  return worst;
}

std::string digestOf(const attune_kernel *kernel) {
  attune_kernel_info info{};
  info.size = sizeof info;
  ok(attune_kernel_get_info(kernel, &info));
  return info.digest;
}

/// A bundle with the spec's kernel as the compiler's own schedule has it. Compiled in a child: this
/// process stays without LLVM.
std::vector<uint8_t> generalBundle() {
  TempDir dir;
  ContextOptions options = optionsFor(dir.path(), CompileWhere::Child);
  options.compiler.library = REAL_COMPILER;
  auto context = *Context::create(options);
  const ParsedSpec spec = *ParsedSpec::parse(text, "served.attn", "", {});
  Result<cache::KernelRef> image = context->image(spec, {});
  REQUIRE(image);
  return *bundle::writeBundle({{context->key(spec, {})->text(), "served", **image}});
}

} // namespace

namespace {

struct Handles {
  attune_context *context = nullptr;
  attune_spec *spec = nullptr;

  explicit Handles(const std::string &directory, bool inChild = false) {
    setenv("ATTUNE_COMPILER", REAL_COMPILER, 1);
    attune_context_options options{};
    options.size = sizeof options;
    options.device = "sim";
    options.cache_directory = directory.c_str();
    options.compile_in_child = inChild;
    ok(attune_context_create(&options, &context));
    ok(attune_spec_parse(text.data(), text.size(), nullptr, &spec));
  }
  Handles(const Handles &) = delete;
  ~Handles() {
    attune_spec_destroy(spec);
    attune_context_destroy(context);
  }
};

bool mapsLlvm() {
  const std::string maps = readText("/proc/self/maps");
  return maps.find("libLLVM") != std::string::npos ||
         maps.find("libattune-compiler") != std::string::npos;
}

} // namespace

TEST_CASE("From the start of a process to a launch from disk, no LLVM is mapped") {
  TempDir dir;
  const auto serve = [&](bool expectLlvm) {
    Child child([&] {
      Handles h(dir.path());
      attune_kernel *kernel = nullptr;
      ok(attune_kernel_get(h.context, h.spec, nullptr, &kernel));
      const double worst = worstError(h.context, kernel, 70);
      attune_kernel_destroy(kernel);
      return worst < 0.02 && mapsLlvm() == expectLlvm ? 0 : 1;
    });
    return child.wait();
  };
  REQUIRE_FALSE(mapsLlvm());
  CHECK(serve(true) == 0); // the first one compiles
  CHECK(serve(false) == 0);
}

TEST_CASE("While the special kernel is compiled, requests run on the general one of a bundle") {
  const std::vector<uint8_t> bundle = generalBundle();
  TempDir dir;
  Handles h(dir.path(), true);
  attune_context *context = h.context;
  attune_spec *spec = h.spec;
  ok(attune_context_add_bundle_memory(context, bundle.data(), bundle.size()));
  const attune_setting knob{"waves", "2"};
  const attune_kernel_options special{sizeof special, &knob, 1};

  // What the bundle has is there at once, and never pending.
  attune_kernel *general = nullptr;
  ok(attune_kernel_get_async(context, spec, nullptr, &general));

  int served = 0;
  const int lengths[] = {1, 70, 5, 129, 64};
  for (const auto start = std::chrono::steady_clock::now();;) {
    REQUIRE(std::chrono::steady_clock::now() - start < std::chrono::minutes(2));
    attune_kernel *kernel = nullptr;
    const attune_status status = attune_kernel_get_async(context, spec, &special, &kernel);
    REQUIRE((status == ATTUNE_PENDING || status == ATTUNE_OK));
    REQUIRE(kernel);
    const bool isGeneral = digestOf(kernel) == digestOf(general);
    CHECK(isGeneral == (status == ATTUNE_PENDING));
    CHECK(worstError(context, kernel, lengths[served % 5]) < 0.02);
    served += status == ATTUNE_PENDING;
    attune_kernel_destroy(kernel);
    if (status == ATTUNE_OK)
      break;
  }
  CHECK(served >= 1); // the first answer cannot have waited for the compiler

  attune_kernel *now = nullptr;
  ok(attune_kernel_get(context, spec, &special, &now));
  for (int length : lengths)
    CHECK(worstError(context, now, length) < 0.02);
  const char *counters = nullptr;
  ok(attune_context_counters(context, &counters));
  CHECK_THAT(counters, Catch::Contains("builds 1\n"));
  attune_kernel_destroy(now);
  attune_kernel_destroy(general);
}
