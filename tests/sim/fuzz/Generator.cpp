#include "tests/sim/fuzz/Generator.h"
#include <fmt/format.h>
#include <iterator>
#include <random>
#include <string_view>
#include <vector>

namespace simtest::fuzz {
namespace {

struct Type {
  const char *name;
  unsigned bits;
  unsigned kind; ///< a bit of its own
  const char *suffix = "";
};
constexpr Type kTypes[] = {
    {"u8", 8, 1 << 0},    {"i8", 8, 1 << 1},         {"u16", 16, 1 << 2},
    {"i16", 16, 1 << 3},  {"u32", 32, 1 << 4},       {"i32", 32, 1 << 5},
    {"u64", 64, 1 << 6},  {"i64", 64, 1 << 7},       {"f16", 16, 1 << 8, "f16"},
    {"bf16", 16, 1 << 9}, {"f32", 32, 1 << 10, "f"}, {"f64", 64, 1 << 11}};
constexpr unsigned kIntegers = 8;

constexpr unsigned UNSIGNED = 0x55, SIGNED = 0xaa, INTEGER = 0xff, DWORD = 0x30, QWORD = 0xc0,
                   WORD = DWORD | QWORD, HALF = 1 << 8, BRAIN = 1 << 9, SINGLE = 1 << 10,
                   DOUBLE = 1 << 11, WIDE = SINGLE | DOUBLE, IEEE = WIDE | HALF,
                   NUMBER = IEEE | BRAIN;

struct Form {
  unsigned kinds;
  std::string_view text;
};
constexpr Form kForms[] = {
#define FORM(kinds, text) {kinds, text},
#include "tests/sim/fuzz/Forms.def"
#undef FORM
};

/// Exchanges of two words x and y of each thread; their models are in prelude.h.
constexpr const char *kExchanges[] = {"FIRST(x, y)",
                                      "BALLOT(x, y)",
                                      "COUNT(x, y)",
                                      "PERMUTE(x, y)",
                                      "SWIZZLE(x, y, {})",
                                      "DPP(x, y, {}, {}, {}, {})",
                                      "DPP(x, y, {}, {}, {}, {})",
                                      "SWAP(x, y, 16)",
                                      "SWAP(x, y, 32)"};
constexpr const char *kUpdates[] = {"add", "or", "xor", "min", "max"};

/// fmt::format with a pattern that is chosen at run time.
template <class... A> std::string text(std::string_view pattern, const A &...arguments) {
  return fmt::format(fmt::runtime(pattern), arguments...);
}

class Generator {
public:
  explicit Generator(uint64_t seed) : random_(seed), seed_(seed) {}

  Kernel kernel();

private:
  unsigned below(size_t n) { return unsigned(random_() % n); }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <class Range> auto &oneOf(const Range &r) {
    return *(std::begin(r) + below(std::size(r)));
  }

  const Type &anyType(unsigned from = 0, unsigned to = std::size(kTypes)) {
    return kTypes[from + below(to - from)];
  }
  std::string constant(const Type &);
  std::string variable(const Type &t) { return fmt::format("{}_{}", t.name, below(2)); }
  std::string leaf(const Type &t) { return chance(80) ? variable(t) : constant(t); }
  std::string expression(const Type &, unsigned depth);
  std::string filled(std::string_view form, const Type &, unsigned depth);
  std::string placeholder(char what, const Type &, unsigned depth);
  std::string condition(unsigned depth);
  std::string vectorStatement();
  std::string assignment();
  std::string statements(unsigned count, unsigned depth);
  std::string statement(unsigned depth);
  std::string callee(unsigned number);
  std::string phase(const std::string &name);
  /// The text of both sides: first the device's.
  std::array<std::string, 2> exchange();
  std::array<std::string, 2> ldsExchange();
  std::array<std::string, 2> update();
  std::string signature(const char *before, const char *space) const;
  std::string sides(const std::array<std::string, 2> &body, const std::string &uniform) const;

  std::mt19937_64 random_;
  uint64_t seed_;
  Kernel kernel_;
  const Type *array_ = nullptr;       ///< of the private array
  std::vector<const Type *> callees_; ///< callee n takes two of this type and returns one
  unsigned names_ = 0;
};

std::string Generator::constant(const Type &t) {
  static constexpr uint64_t kEdges[] = {0,
                                        1,
                                        2,
                                        7,
                                        0x7f,
                                        0x80,
                                        0xff,
                                        0x7fff,
                                        0x8000,
                                        0xffff,
                                        0x7fffffff,
                                        0x80000000,
                                        0xffffffff,
                                        0x7fffffffffffffff,
                                        0x8000000000000000,
                                        ~uint64_t(0)};
  static constexpr const char *kNumbers[] = {"1.0", "0.5",     "2.0",  "-1.0",
                                             "0.1", "65504.0", "1e-5", "3.0"};
  if (t.kind & NUMBER)
    return fmt::format("({}){}", t.name, oneOf(kNumbers));
  uint64_t value = chance(60) ? oneOf(kEdges) : random_() >> below(64);
  return fmt::format("({}){}ul", t.name, value);
}

std::string Generator::expression(const Type &t, unsigned depth) {
  if (depth == 0 || chance(10))
    return leaf(t);
  if (chance(6) && !callees_.empty()) {
    unsigned n = below(callees_.size());
    const Type &of = *callees_[n];
    if (&of == &t)
      return fmt::format("call_{}({}, {})", n, leaf(of), leaf(of));
  }
  for (;;) {
    const Form &form = oneOf(kForms);
    if (form.kinds & t.kind)
      return fmt::format("(({})({}))", t.name, filled(form.text, t, depth - 1));
  }
}

std::string Generator::filled(std::string_view form, const Type &t, unsigned depth) {
  std::string out;
  for (size_t n = 0; n < form.size(); ++n)
    if (form[n] != '$')
      out += form[n];
    else if (form[++n] == 'f') { // $f_to_$T: the name of the conversion, then its operand
      const Type &from = anyType(kIntegers);
      out += fmt::format("{}_to_{}({})", from.name, t.name, expression(from, depth));
      n = form.size();
    } else
      out += placeholder(form[n], t, depth);
  return out;
}

std::string Generator::placeholder(char what, const Type &t, unsigned depth) {
  switch (what) {
  case 'T':
    return t.name;
  case 'W':
    return std::to_string(t.bits);
  case 'U':
    return fmt::format("u{}", t.bits);
  case 'F':
    return t.suffix;
  case 'a':
    return expression(t, depth);
  case 'v':
    return variable(t);
  case 'i':
    return expression(anyType(0, kIntegers), depth);
  case 's':
    return chance(30) ? std::to_string(below(t.bits))
                      : fmt::format("((u32){} & {})", expression(anyType(0, kIntegers), depth),
                                    t.bits - 1);
  case 'n':
    return std::to_string(below(t.bits));
  case 'p':
    return array_ == &t ? fmt::format("array[(u32){} & 15]", leaf(kTypes[4])) : leaf(t);
  default:
    return condition(depth);
  }
}

std::string Generator::condition(unsigned depth) {
  static constexpr const char *kCompares[] = {"<", ">", "<=", ">=", "==", "!="};
  static constexpr const char *kUnordered[] = {"isless", "isgreaterequal", "islessgreater",
                                               "isunordered"};
  const Type &t = anyType();
  std::string a = expression(t, depth ? depth - 1 : 0), b = expression(t, depth ? depth - 1 : 0);
  if ((t.kind & IEEE) && chance(25))
    return fmt::format("__builtin_{}({}, {})", oneOf(kUnordered), a, b);
  if ((t.kind & IEEE) && chance(25))
    return fmt::format("__builtin_isfpclass({}, {})", a, 1 + below(1022));
  std::string compare = fmt::format("({} {} {})", a, oneOf(kCompares), b);
  return depth && chance(25)
             ? fmt::format("({} {} !{})", compare, chance(50) ? "&&" : "||", condition(depth - 1))
             : compare;
}

std::string Generator::vectorStatement() {
  static constexpr const char *kInteger[] = {"{0} + {1}",
                                             "{0} * {1}",
                                             "{0} & ~{1}",
                                             "{0} > {1} ? {1} : {0}",
                                             "__builtin_elementwise_add_sat({0}, {1})",
                                             "__builtin_elementwise_max({0}, {1})",
                                             "__builtin_shufflevector({0}, {1}, {2}, {3})"};
  static constexpr const char *kNumber[] = {"{0} + {1}",
                                            "{0} * {1}",
                                            "{0} / {1}",
                                            "__builtin_elementwise_minimum({0}, {1})",
                                            "__builtin_elementwise_abs({0})",
                                            "__builtin_shufflevector({0}, {1}, {2}, {3})"};
  static constexpr unsigned kOf[] = {2, 4, 6, 8, 10, 11}; // u16, u32, u64, f16, f32, f64
  const Type &t = kTypes[oneOf(kOf)];
  std::string a = fmt::format("({}x2){{{}, {}}}", t.name, leaf(t), leaf(t)),
              b = fmt::format("({}x2){{{}, {}}}", t.name, leaf(t), leaf(t));
  const char *form = t.kind & NUMBER ? oneOf(kNumber) : oneOf(kInteger);
  std::string value = text(form, a, b, below(4), below(4));
  unsigned pair = names_++;
  return fmt::format("{0}x2 pair{1} = {2}; {0}_0 = pair{1}[{3}]; {0}_1 = pair{1}[1];\n", t.name,
                     pair, value, below(2));
}

std::string Generator::assignment() {
  if (chance(15))
    return vectorStatement();
  if (array_ && chance(15))
    return fmt::format("array[(u32){} & 15] = {};\n", expression(kTypes[4], 1),
                       expression(*array_, 2));
  const Type &t = anyType();
  std::string value = expression(t, 2 + below(2));
  return fmt::format("{} = {};\n", variable(t), value);
}

std::string Generator::statements(unsigned count, unsigned depth) {
  std::string out;
  for (unsigned n = 0; n < count; ++n)
    out += statement(depth);
  return out;
}

std::string Generator::statement(unsigned depth) {
  unsigned kind = depth ? below(10) : 0;
  if (kind < 6)
    return "{ " + assignment() + "}\n";
  if (kind < 8) {
    std::string test = condition(1), yes = statements(2, depth - 1);
    return fmt::format("if ({}) {{\n{}}} else {{\n{}}}\n", test, yes, statements(1, depth - 1));
  }
  if (kind < 9) {
    unsigned name = names_++;
    std::string body = statements(2, depth - 1);
    std::string leave = chance(30) ? fmt::format("if ({}) break;\n", condition(0)) : "";
    return fmt::format("for (u32 n{0} = 0; n{0} < (u32_{1} & 7); ++n{0}) {{\n{2}{3}}}\n", name,
                       below(2), body, leave);
  }
  std::string cases;
  for (unsigned n = 0; n < 4; ++n)
    cases += fmt::format("case {}: {}break;\n", n, statement(0));
  return fmt::format("switch (u32_0 >> {} & 7) {{\n{}default: break; }}\n", below(5), cases);
}

/// All variables, set from the words in `from`.
std::string declarations(std::string_view from, unsigned salt) {
  std::string out;
  for (unsigned n = 0; n < 2 * std::size(kTypes); ++n) {
    const Type &t = kTypes[n / 2];
    std::string word = fmt::format("{}[{}] >> {}", from, (n * 5 + salt) % kWords, n % 3 * 8);
    out += text(t.kind & NUMBER ? "{0} {0}_{1} = from_{0}({2});\n" : "{0} {0}_{1} = ({0})({2});\n",
                t.name, n % 2, word);
  }
  return out;
}

std::string Generator::callee(unsigned number) {
  const Type &t = anyType();
  std::string out = fmt::format("{} {} call_{}({} a, {} b) {{\nu64 v[8] = {{",
                                chance(70) ? "NOINLINE" : "INLINE", t.name, number, t.name, t.name);
  for (unsigned n = 0; n < kWords; ++n)
    out += text(t.kind & NUMBER ? "bits_{}({}), " : "(u64)({1}), ", t.name, n % 2 ? "a" : "b");
  out += "};\n" + declarations("v", below(kWords)) + statements(2, 1);
  out += fmt::format("return {}_0;\n}}\n", t.name);
  callees_.push_back(&t);
  return out;
}

std::string Generator::phase(const std::string &name) {
  array_ = chance(50) ? &anyType() : nullptr;
  std::string out =
      fmt::format("{} void {}(u64 *v) {{\n", chance(40) ? "NOINLINE" : "INLINE", name);
  out += declarations("v", below(kWords));
  if (array_)
    out += fmt::format("{0}{1} array[16];\nfor (int n = 0; n < 16; ++n) array[n] = {1}_1;\n",
                       chance(50) ? "volatile " : "", array_->name);
  out += statements(3 + below(4), 2);
  for (unsigned n = 0; n < 2 * std::size(kTypes); ++n) {
    const Type &t = kTypes[n / 2];
    out += text(t.kind & NUMBER ? "v[{0}] = v[{0}] * {3} ^ bits_{1}({1}_{2});\n"
                                : "v[{0}] = v[{0}] * {3} ^ (u64)(u{4}){1}_{2};\n",
                n % kWords, t.name, n % 2, 3 + 2 * below(8), t.bits);
  }
  if (array_)
    out += text(array_->kind & NUMBER
                    ? "for (int n = 0; n < 16; ++n) v[7] = v[7] * 5 ^ bits_{}(array[n]);\n"
                    : "for (int n = 0; n < 16; ++n) v[7] = v[7] * 5 ^ (u64)array[n];\n",
                array_->name);
  array_ = nullptr;
  return out + "}\n";
}

std::array<std::string, 2> Generator::ldsExchange() {
  static constexpr const char *kCellTypes[] = {"u8", "u16", "u32", "u64", "u32x4"};
  std::string type = oneOf(kCellTypes);
  unsigned a = below(kWords), b = below(kWords), n = kernel_.threads(), odd = 1 + 2 * below(30);
  std::string value =
      type == "u32x4"
          ? fmt::format("(u32x4){{(u32)v[{0}], (u32)(v[{0}] >> 32), (u32)v[{1}], t}}", a, b)
          : fmt::format("({})v[{}]", type, a);
  std::string index =
      chance(50) ? fmt::format("(u32)v[{}] % {}", b, n) : fmt::format("(t * {} + 1) % {}", odd, n);
  std::string take = text(type == "u32x4" ? "v[{0}] ^= cells[k][0] + cells[k][3] * 9ul; v[{1}] ^= "
                                            "cells[k][2] ^ (u64)cells[k][1] << 32;"
                                          : "v[{0}] ^= (u64)cells[k];",
                          b, a);
  return {fmt::format("{{ LDS {} cells[{}]; cells[t] = {}; SYNC; u32 k = {}; {} SYNC; }}\n", type,
                      n, value, index, take),
          fmt::format("{{ static {0} cells[{1}]; for (u32 t = 0; t < {1}; ++t) {{ u64 *v = all[t]; "
                      "cells[t] = {2}; }}\n"
                      "for (u32 t = 0; t < {1}; ++t) {{ u64 *v = all[t]; u32 k = {3}; {4} }} }}\n",
                      type, n, value, index, take)};
}

std::array<std::string, 2> Generator::exchange() {
  if (chance(35))
    return ldsExchange();
  static constexpr unsigned kControls[] = {0x1b,  0x4e,  0x101, 0x10f, 0x111, 0x118,
                                           0x121, 0x12c, 0x130, 0x134, 0x138, 0x13c,
                                           0x140, 0x141, 0x142, 0x143, 0x150, 0x15f};
  static constexpr const char *kConditions[] = {"1", "1", "(t & 5) != 0", "(x & 1)", "x % 3 != 0"};
  std::string form = oneOf(kExchanges), on = oneOf(kConditions);
  unsigned n = kernel_.threads(), a = below(kWords), b = below(kWords);
  if (form.starts_with("SWAP")) { // its lanes must all be there
    on = "1";
    if (n % 64)
      form = "FIRST(x, y)";
  } else if (form.starts_with("SWIZZLE"))
    form = fmt::format("SWIZZLE(x, y, {})", chance(50) ? 0x8000 | below(256) : below(0x8000));
  else if (form.starts_with("DPP"))
    form = fmt::format("DPP(x, y, {}, {}, {}, {})", oneOf(kControls), chance(60) ? 15 : below(16),
                       chance(60) ? 15 : below(16), below(2));
  std::string put = fmt::format("v[{0}] = v[{0}] * 3 ^ (u32){1};", b, form);
  return {fmt::format("{{ u32 x = (u32)v[{}], y = (u32)v[{}]; if ({}) {} }}\n", a, b, on, put),
          fmt::format("lanes.threads = {0};\nfor (u32 t = 0; t < {0}; ++t) {{ u64 *v = all[t]; u32 "
                      "x = (u32)v[{1}]; "
                      "lanes.x[t] = x; lanes.y[t] = (u32)v[{2}]; lanes.on[t] = {3}; }}\n"
                      "for (u32 t = 0; t < {0}; ++t) if (lanes.on[t]) {{ u64 *v = all[t]; {4} }}\n",
                      n, a, b, on, put)};
}

/// Something that all threads do to the same cells, in any order.
std::array<std::string, 2> Generator::update() {
  unsigned cell = below(5), a = below(kWords), b = below(kWords);
  static constexpr const char *kCellTypes[] = {"u32", "i32", "u64", "i64"};
  std::string line =
      fmt::format("UPDATE({0}, (CELLS {1} *)(cells + {2} + v[{3}] % 8), ({1})v[{4}]);",
                  kUpdates[cell], oneOf(kCellTypes), cell * 8, a, b);
  return {line + "\n", fmt::format("for (u32 t = 0; t < {}; ++t) {{ u64 *v = all[t]; {} }}\n",
                                   kernel_.threads(), line)};
}

std::string Generator::signature(const char *before, const char *space) const {
  return fmt::format("{0} {1}({2} const u64 *in, {2} u64 *out, {2} u64 *cells, u64 a, u32 b)",
                     before, kernel_.name, space);
}

std::string Generator::sides(const std::array<std::string, 2> &body,
                             const std::string &uniform) const {
  auto [gx, gy, gz] = kernel_.grid;
  auto [bx, by, bz] = kernel_.block;
  unsigned n = kernel_.threads();
  std::string device = fmt::format(
      "#define CELLS SPACE(1)\n{0} {{\n"
      "u32 group = __builtin_amdgcn_workgroup_id_x() + {1} * (__builtin_amdgcn_workgroup_id_y() + "
      "{2} * "
      "__builtin_amdgcn_workgroup_id_z());\n"
      "u32 t = __builtin_amdgcn_workitem_id_x() + {3} * (__builtin_amdgcn_workitem_id_y() + {4} * "
      "__builtin_amdgcn_workitem_id_z());\n"
      "u32 item = group * {5} + t; u64 v[8];\nfor (int n = 0; n < 8; ++n) v[n] = in[item * 8 + "
      "n];\n{6}{7}"
      "for (int n = 0; n < 8; ++n) out[item * 8 + n] = v[n];\n}}\n",
      signature("__attribute__((device_kernel)) void", "SPACE(1)"), gx, gy, bx, by, n, uniform,
      body[0]);
  std::string host = fmt::format("#define CELLS\n{0} {{\nstatic u64 all[{1}][8]; static Lanes "
                                 "lanes;\nfor (u32 group = 0; group < {2}; ++group) {{\n"
                                 "for (u32 t = 0; t < {1}; ++t) {{ u64 *v = all[t];\nfor (int n = "
                                 "0; n < 8; ++n) v[n] = in[(group * {1} + t) * 8 + n];\n"
                                 "{3}}}\n{4}for (u32 t = 0; t < {1}; ++t) for (int n = 0; n < 8; "
                                 "++n) out[(group * {1} + t) * 8 + n] = all[t][n];\n}}\n}}\n",
                                 signature("void", ""), n, gx * gy * gz, uniform, body[1]);
  return fmt::format("#ifdef DEVICE\n{}#else\n{}#endif\n#undef CELLS\n", device, host);
}

Kernel Generator::kernel() {
  static constexpr std::array<uint32_t, 3> kBlocks[] = {{64, 1, 1},  {128, 1, 1}, {8, 8, 2},
                                                        {100, 1, 1}, {5, 7, 3},   {33, 2, 1}};
  static constexpr std::array<uint32_t, 3> kGrids[] = {{1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {1, 1, 2}};
  kernel_ = {.seed = seed_,
             .name = fmt::format("kernel_{}", seed_),
             .grid = oneOf(kGrids),
             .block = oneOf(kBlocks)};
  std::string functions;
  for (unsigned n = below(3); n; --n)
    functions += callee(unsigned(callees_.size()));
  std::array<std::string, 2> body;
  unsigned phases = 1 + below(2);
  for (unsigned n = 0; n < phases; ++n) {
    functions += phase(fmt::format("phase_{}", n));
    std::array<std::string, 2> after = n + 1 < phases || chance(50) ? exchange() : update();
    body[0] += fmt::format("phase_{}(v);\n{}", n, after[0]);
    body[1] += fmt::format("for (u32 t = 0; t < {}; ++t) phase_{}(all[t]);\n{}", kernel_.threads(),
                           n, after[1]);
  }
  std::string uniform; // the same in all threads of a workgroup: scalar instructions
  if (chance(50)) {
    functions += phase("uniform");
    uniform = "{ u64 same[8] = {a, b, group, a ^ group, a * 3, b * 5ul, (u64)group << 33, 1}; "
              "uniform(same);\n"
              "for (int n = 0; n < 8; ++n) v[n] ^= same[n]; }\n";
  }
  std::string own = fmt::format("_{}", seed_);
  std::string source;
  for (const char *name : {"call_0", "call_1", "phase_0", "phase_1", "uniform"})
    source += fmt::format("#define {0} {0}{1}\n", name, own);
  source += functions + sides(body, uniform);
  for (const char *name : {"call_0", "call_1", "phase_0", "phase_1", "uniform"})
    source += fmt::format("#undef {}\n", name);
  kernel_.source = std::move(source);
  return kernel_;
}

} // namespace

Kernel generate(uint64_t seed) { return Generator(seed).kernel(); }

} // namespace simtest::fuzz
