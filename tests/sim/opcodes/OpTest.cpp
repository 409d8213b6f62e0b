// Reading the text of instruction tests, and judging their outputs.
#include "tests/sim/opcodes/OpTest.h"
#include "runtime/sim/Numerics.h"
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace simtest {
namespace {
using namespace attune::sim;

/// Number from the front of `text`; `rest` is what follows it.
double parseNumber(const std::string &text, std::string &rest) {
  char *end = nullptr;
  double v = std::strtod(text.c_str(), &end);
  rest = end;
  return v;
}

uint64_t parseBits(const std::string &text, unsigned lane) {
  if (text.starts_with("lane")) {
    uint64_t factor =
        text.size() > 5 && text[4] == '*' ? std::stoull(text.substr(5), nullptr, 0) : 1;
    return lane * factor;
  }
  bool negative = text[0] == '-';
  std::string magnitude = text.substr(negative);
  if (magnitude.starts_with("0x")) {
    uint64_t v = std::stoull(magnitude, nullptr, 16);
    return negative ? 0 - v : v;
  }
  bool isFloat = magnitude.find('.') != text.npos || magnitude.starts_with("inf") ||
                 magnitude.starts_with("nan") || magnitude.find('e') != text.npos;
  std::string rest;
  double v = parseNumber(text, rest);
  if (rest.empty() && !isFloat)
    return uint64_t(std::stoll(text));
  if (rest.empty())
    return asBits(float(v));
  if (rest == "h")
    return f64ToF16(v);
  if (rest == "b")
    return f32ToBf16(float(v));
  if (rest == "d")
    return asBits(v);
  throw std::runtime_error("not a value: " + text);
}

std::vector<OpValue> parseValues(std::istringstream &in) {
  std::vector<OpValue> values;
  for (std::string token; in >> token;) {
    size_t times = 1, star = token.find('*');
    if (token.starts_with("lane")) {
      times = 64;
    } else if (star != token.npos) {
      times = std::stoul(token.substr(star + 1));
      token.resize(star);
    }
    for (size_t n = 0; n < times; ++n) {
      OpValue v;
      v.kind = token == "_"      ? OpValue::Anything
               : token == "nan"  ? OpValue::AnyNan
               : token[0] == '~' ? OpValue::Near
                                 : OpValue::Exact;
      if (v.kind != OpValue::Anything)
        v.bits = parseBits(token.substr(v.kind == OpValue::Near), unsigned(n));
      values.push_back(v);
    }
  }
  return values;
}

bool isNanBits(uint64_t bits, unsigned words) {
  return words == 2 ? isNan(asDouble(bits)) : isNan(asFloat(uint32_t(bits)));
}

bool matches(const OpValue &v, uint64_t got, unsigned words) {
  uint64_t mask = words == 2 ? ~uint64_t(0) : 0xffffffffu;
  switch (v.kind) {
  case OpValue::Anything:
    return true;
  case OpValue::AnyNan:
    return isNanBits(got, words);
  case OpValue::Near: {
    int64_t distance = int64_t(got) - int64_t(v.bits & mask);
    return distance >= -2 && distance <= 2;
  }
  case OpValue::Exact:
    return got == (v.bits & mask);
  }
  return false;
}

std::string showBits(uint64_t bits, unsigned words) {
  return words == 2 ? fmt::format("0x{:016x}", bits)
                    : fmt::format("0x{:08x} ({})", bits, asFloat(uint32_t(bits)));
}

} // namespace

bool parseOpPlace(const std::string &name, OpPlace &place) {
  place.name = name;
  struct Named {
    const char *name;
    OpPlace::Kind kind;
    unsigned words;
  };
  for (Named n : {Named{"vcc", OpPlace::Vcc, 2}, Named{"exec", OpPlace::Exec, 2},
                  Named{"scc", OpPlace::Scc, 1}, Named{"m0", OpPlace::M0, 1},
                  Named{"mem", OpPlace::Memory, 1}, Named{"lds", OpPlace::Lds, 1}})
    if (name == n.name) {
      place.kind = n.kind;
      place.words = n.words;
      return true;
    }
  if (name.size() < 2 || !(name[0] == 'v' || name[0] == 'a' || name[0] == 's'))
    return false;
  place.kind = name[0] == 'v'   ? OpPlace::Vector
               : name[0] == 'a' ? OpPlace::Accumulator
                                : OpPlace::Scalar;
  unsigned first = 0, last = 0;
  if (std::sscanf(name.c_str() + 1, "[%u:%u]", &first, &last) == 2) {
    place.index = first;
    place.words = last - first + 1;
    return place.words == 2;
  }
  if (name.find_first_not_of("0123456789", 1) != name.npos)
    return false;
  place.index = unsigned(std::stoul(name.substr(1)));
  return true;
}

std::vector<OpTest> readOpTests(const std::string &path) {
  std::ifstream in(path);
  if (!in)
    throw std::runtime_error("cannot read " + path);
  std::vector<OpTest> tests;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    line = line.substr(0, line.find('#'));
    std::istringstream words(line);
    std::string first, second;
    if (!(words >> first))
      continue;
    if (first == "test") {
      tests.emplace_back();
      tests.back().name = line.substr(line.find("test") + 5);
      tests.back().file = path.substr(path.rfind('/') + 1);
      tests.back().line = number;
      continue;
    }
    if (tests.empty())
      throw std::runtime_error(fmt::format("{}:{}: a line before the first test", path, number));
    OpTest &test = tests.back();
    OpPlace place;
    if (!(words >> second) || (second != "=" && second != "==")) {
      test.assembly.push_back(line);
      continue;
    }
    try {
      if (first == "records")
        test.records = uint32_t(parseValues(words).at(0).bits);
      else if (!parseOpPlace(first, place))
        throw std::runtime_error("not a register: " + first);
      else {
        place.values = parseValues(words);
        if (place.values.size() > 64 && place.kind != OpPlace::Memory && place.kind != OpPlace::Lds)
          throw std::runtime_error("more than 64 values");
        (second == "=" ? test.before : test.after).push_back(place);
      }
    } catch (const std::exception &e) {
      throw std::runtime_error(fmt::format("{}:{}: {}", path, number, e.what()));
    }
  }
  return tests;
}

std::string opTestFailures(const OpTest &test, const std::vector<uint32_t> &outputs,
                           const std::vector<uint32_t> &memory) {
  std::string report;
  size_t row = 0;
  for (const OpPlace &place : test.after) {
    bool pair = place.words == 2;
    for (size_t n = 0; n < place.values.size(); ++n) {
      uint64_t got;
      if (place.kind == OpPlace::Memory)
        got = memory.at(n);
      else if (place.kind == OpPlace::Lds)
        got = outputs.at(row * 64 + n);
      else
        got =
            outputs.at(row * 64 + n) | (pair ? uint64_t(outputs.at((row + 1) * 64 + n)) << 32 : 0);
      if (!matches(place.values[n], got, place.words))
        report +=
            fmt::format("  {}[{}] is {}, not {}\n", place.name, n, showBits(got, place.words),
                        place.values[n].kind == OpValue::AnyNan
                            ? "a NaN"
                            : showBits(place.values[n].bits & (pair ? ~uint64_t(0) : 0xffffffffu),
                                       place.words));
    }
    if (place.kind == OpPlace::Lds)
      row += (place.values.size() + 63) / 64;
    else if (place.kind != OpPlace::Memory)
      row += place.words;
  }
  return report;
}

} // namespace simtest
