#include "tests/e2e/Harness.h"
#include "runtime/device/SimDevice.h"
#include "runtime/sim/strict/Strict.h"
#include "tests/oracle/Compare.h"
#include "tests/oracle/Oracle.h"
#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fstream>
#include <memory>
#include <numeric>
#include <random>
#include <sstream>

namespace attune::e2e {

namespace {

/// One compiler and the kernels it made. The device outlives them: it is the first static to exist.
class Kernels {
public:
  Result<Kernel> build(const std::string &text, const std::string &fileName) {
    auto model = spec::parseSpec(text, {.fileName = fileName, .parameters = {}, .attention = {}});
    if (!model)
      return model.error();
    auto image = compiler().compile(*model);
    if (!image)
      return image.error();
    auto loaded = LoadedKernel::load(simulator(), *image);
    if (!loaded)
      return loaded.error();
    return Kernel{std::move(*model), std::move(*image), std::move(*loaded)};
  }

  const Kernel &get(const std::string &text, const std::string &fileName) {
    auto &slot = byText_[text];
    if (!slot) {
      auto built = build(text, fileName);
      if (!built)
        FAIL(built.error().message);
      slot = std::make_unique<Kernel>(std::move(*built));
    }
    return *slot;
  }

private:
  Compiler &compiler() {
    if (!compiler_) {
      auto made = Compiler::create();
      if (!made)
        FAIL(made.error().message);
      compiler_ = std::make_unique<Compiler>(std::move(*made));
    }
    return *compiler_;
  }

  std::unique_ptr<Compiler> compiler_;
  std::map<std::string, std::unique_ptr<Kernel>> byText_;
};

Kernels &kernels() {
  simulator();
  static Kernels all;
  return all;
}

/// [0, l0, l0 + l1, ...]
HostTensor cumulative(const Lens &lens) {
  HostTensor cu = HostTensor::packed(DType::I32, {static_cast<int64_t>(lens.size()) + 1});
  int64_t sum = 0;
  for (size_t b = 0; b < lens.size(); ++b)
    cu.set({static_cast<int64_t>(b) + 1}, static_cast<double>(sum += lens[b]));
  return cu;
}

int64_t longest(const Lens &lens) {
  return lens.empty() ? 0 : *std::max_element(lens.begin(), lens.end());
}

int64_t sum(const Lens &lens) { return std::accumulate(lens.begin(), lens.end(), int64_t(0)); }

/// The extent that a captured tensor's named dimension has in a call of these lengths.
int64_t extentOf(const std::string &dim, const ProblemShape &p, const Lens &qLens,
                 const Lens &kvLens) {
  const std::pair<std::string_view, int64_t> named[] = {
      {"batch", static_cast<int64_t>(qLens.size())},
      {"heads", p.numQHeads},
      {"k", longest(kvLens)},
      {"kv_heads", p.numKvHeads},
      {"q", longest(qLens)},
      {"tokens", sum(kvLens)},
  };
  for (auto [name, extent] : named)
    if (name == dim)
      return extent;
  return std::stoll(dim);
}

HostTensor drawn(DType dtype, Shape shape, std::mt19937_64 &random) {
  HostTensor t = HostTensor::packed(dtype, std::move(shape));
  std::normal_distribution<double> normal;
  int64_t count = t.elements(), done = 0;
  set(t, [&](Index) { return isFloat(dtype) ? normal(random) : double(4 * done++ / count); });
  return t;
}

} // namespace

std::string Variant::text() const {
  std::string store = dense ? "batch, seq" : "tokens";
  auto tensor = [&](std::string_view name, int heads, int columns) {
    return fmt::format("  {} : {}[{}, heads = {}, dim = {}]\n", name, dtype, store, heads, columns);
  };
  std::string s = "attention test {\n" + tensor("q", qHeads, dim) + tensor("k", kvHeads, dim) +
                  tensor("v", kvHeads, vDim ? vDim : dim) + fmt::format("  out : {}\n", dtype);
  if (!more.empty())
    s += fmt::format("  {}\n", more);
  if (!score.empty())
    s += fmt::format("  score = {}\n", score);
  if (!mask.empty())
    s += fmt::format("  mask = {}\n", mask);
  return s + fmt::format("  lse : f32 {}\n}}\n", lse);
}

std::ostream &operator<<(std::ostream &out, const Variant &v) { return out << v.text(); }

const Kernel &compile(const Variant &v) { return compileText(v.text()); }

const Kernel &compileText(const std::string &text) { return kernels().get(text, "test.attn"); }

const Kernel &compileFile(const std::string &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file)
    FAIL("cannot read " << path);
  return kernels().get(text.str(), path);
}

Error refusal(const std::string &text) {
  auto built = kernels().build(text, "test.attn");
  if (built)
    FAIL("accepted, but must be refused:\n" << text);
  return built.error();
}

HostCall zeros(const Kernel &kernel, const Lens &qLens, const Lens &kvLens) {
  const ProblemShape &p = kernel.problem();
  auto rows = [&](const Lens &lens, int64_t heads, int64_t columns) {
    Shape shape{sum(lens), heads, columns};
    if (kernel.dense()) {
      REQUIRE(std::equal(lens.begin() + 1, lens.end(), lens.begin()));
      shape = {static_cast<int64_t>(lens.size()), lens.front(), heads, columns};
    }
    return HostTensor::packed(p.dtype, shape);
  };
  HostCall call{.q = rows(qLens, p.numQHeads, p.headDim),
                .k = rows(kvLens, p.numKvHeads, p.headDim),
                .v = rows(kvLens, p.numKvHeads, p.vHeadDim),
                .sink = {},
                .cuSeqlensQ = {},
                .cuSeqlensK = {},
                .tensors = {},
                .scalars = {}};
  if (!kernel.dense()) {
    call.cuSeqlensQ = cumulative(qLens);
    call.cuSeqlensK = cumulative(kvLens);
  }
  return call;
}

HostCall noise(const Kernel &kernel, const Lens &qLens, const Lens &kvLens, uint64_t seed) {
  const ProblemShape &p = kernel.problem();
  HostCall call = zeros(kernel, qLens, kvLens);
  std::mt19937_64 random(seed);
  for (HostTensor *t : {&call.q, &call.k, &call.v})
    *t = drawn(t->dtype, t->shape, random);
  if (p.hasSink)
    call.sink = drawn(DType::F32, {p.numQHeads}, random);
  for (const CapturedTensor &info : p.tensors) {
    Shape shape;
    for (const std::string &dim : info.dims)
      shape.push_back(extentOf(dim, p, qLens, kvLens));
    call.tensors[info.name] = drawn(info.dtype, shape, random);
  }
  for (const CapturedScalar &info : p.scalars)
    call.scalars[info.name] = 2;
  return call;
}

void set(HostTensor &tensor, const std::function<double(Index)> &value) {
  forEachIndex(tensor.shape, [&](Index i) { tensor.set(i, value(i)); });
}

HostTensor tensorOf(DType dtype, Shape shape, const std::function<double(Index)> &value) {
  HostTensor t = HostTensor::packed(dtype, std::move(shape));
  set(t, value);
  return t;
}

std::vector<uint8_t> bits(const HostTensor &tensor) { return toPacked(tensor).storage; }

double Rows::out(int64_t row, int64_t head, int64_t column) const {
  const HostTensor &t = result.out;
  if (t.shape.size() == 3)
    return t.get({row, head, column});
  return t.get({row / t.shape[1], row % t.shape[1], head, column});
}

double Rows::lse(int64_t row, int64_t head) const {
  const HostTensor &t = *result.lse;
  if (t.shape.size() == 2)
    return t.get({head, row});
  return t.get({row / t.shape[2], head, row % t.shape[2]});
}

bool sameBits(const Rows &a, const Rows &b) {
  return bits(a.result.out) == bits(b.result.out) &&
         (!a.result.lse || bits(*a.result.lse) == bits(*b.result.lse));
}

/// Watches every run of every test.
sim::strict::StrictChecker &strictChecker() {
  static sim::strict::StrictChecker checker;
  return checker;
}

Rows run(const Kernel &kernel, const HostCall &call, HostRunOptions options) {
  options.guards = true;
  auto result = kernel.loaded.run(call, options);
  if (!result)
    FAIL(result.error().message);
  const std::string findings = strictChecker().text();
  strictChecker().clear();
  CHECK(findings == "");
  return {std::move(*result)};
}

void checkAgainstOracle(const Kernel &kernel, const HostCall &call, const Rows &rows) {
  auto want = oracle::attention(kernel.model, call);
  if (!want)
    FAIL(want.error().message);
  const ProblemShape &p = kernel.problem();
  auto check = [](std::string_view name, const oracle::Comparison &c) {
    INFO(fmt::format("{}: {} of {} wrong; at {}: {} instead of {}, allowed {}", name, c.wrong,
                     c.compared, shapeText(c.worst.index), c.worst.actual, c.worst.expected,
                     c.tolerance.str()));
    CHECK(c.ok);
  };
  auto tolerance = oracle::outTolerance(p.dtype, p.outDtype, oracle::rootMeanSquare(call.v));
  check("O", oracle::compare(want->out, rows.result.out, tolerance));
  if (rows.result.lse)
    check("LSE", oracle::compare(want->lse, *rows.result.lse, oracle::lseTolerance(p.lse)));
}

Rows runChecked(const Kernel &kernel, const HostCall &call, HostRunOptions options) {
  Rows rows = run(kernel, call, std::move(options));
  checkAgainstOracle(kernel, call, rows);
  return rows;
}

Device &simulator() {
  static std::unique_ptr<Device> device = makeSimDevice(strictChecker().watch({}));
  return *device;
}

} // namespace attune::e2e
