#include "tests/sim/edges/EdgeAudit.h"
#include "tests/sim/edges/EdgeRun.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <fmt/format.h>

namespace simtest {
using namespace attune::sim;
namespace {

class Watch : public Observer {
public:
  void begin(const Workgroup &, std::span<const std::unique_ptr<Wave>>) override {}
  void before(Wave &w, const Inst &i) override { edgeAudit().before(w, i); }
  void after(Wave &w, const Inst &i) override { edgeAudit().after(w, i); }
  void issued(Wave &, const Access &a, Counter) override { edgeAudit().issued(a); }
};

uint32_t floatClass(Format f, uint64_t bits) {
  uint64_t magnitude = bits & (f.sign() - 1);
  if (magnitude == 0)
    return bits & f.sign() ? NegZero : PosZero;
  if (f.isNan(bits & (2 * f.sign() - 1)))
    return f.isSignalling(bits) ? SignallingNan : QuietNan;
  if (magnitude == f.infinity())
    return Infinite;
  return (magnitude == f.largest() ? Largest : NoClass) | (f.isDenormal(bits) ? Denormal : NoClass);
}

uint32_t intClass(int bits, uint64_t value) {
  uint64_t all = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1, top = all ^ all >> 1;
  value &= all;
  return (value == 0 ? Zero : NoClass) | (value == 1 ? One : NoClass) |
         (value == all ? AllOnes : NoClass) | (value == top ? Lowest : NoClass) |
         (value == (all >> 1) ? Highest : NoClass);
}

/// Classes of one value of a type; `bits` holds 64 bits, of which narrow types look at the low
/// ones.
uint32_t classesOfValue(char type, uint64_t bits) {
  switch (type) {
  case 'f':
  case 'd':
  case 'h':
  case 'b':
    return floatClass(formatOf(type), type == 'd' ? bits : bits & 0xffffffff);
  case 'p':
  case 'o':
    return floatClass(formatOf(type), bits & 0xffff) |
           floatClass(formatOf(type), bits >> 16 & 0xffff);
  case 'u':
    return intClass(32, bits);
  case 'q':
    return intClass(64, bits);
  case 's':
    return intClass(16, bits);
  case 't':
    return intClass(16, bits) | intClass(16, bits >> 16);
  case 'n':
    return (uint32_t(bits) == 0 ? Zero : NoClass) | (uint32_t(bits) >= 32 ? Beyond : NoClass);
  default:
    return 0;
  }
}

bool isVector(const Operand &o) {
  return o.kind == OperandKind::Vgpr || o.kind == OperandKind::Agpr;
}

/// Four bytes of a matrix operand.
uint32_t classesOfBytes(char type, uint32_t word) {
  uint32_t seen = 0;
  for (int k = 0; k < 32; k += 8) {
    uint32_t byte = word >> k & 0xff, size = byte & 0x7f;
    if (type == 'y') {
      seen |= intClass(8, byte);
    } else if (size == 0) {
      seen |= byte ? NegZero : PosZero;
    } else if (type == '8') {
      seen |= size == 0x7f ? QuietNan : size == 0x7e ? Largest : size < 8 ? Denormal : NoClass;
    } else {
      seen |= size > 0x7c    ? (size & 2 ? QuietNan : SignallingNan)
              : size == 0x7c ? Infinite
                             : NoClass;
      seen |= size == 0x7b ? Largest : size < 4 ? Denormal : NoClass;
    }
  }
  return seen;
}

uint32_t classesOfSource(Wave &w, const Operand &o, char type) {
  if (o.kind == OperandKind::Sgpr)
    return classesOfValue(type, o.dwords == 2 ? w.pair(o.index) : w.s[o.index]);
  if (!isVector(o))
    return 0;
  bool bytes = type == '8' || type == '5' || type == 'y', two = type == 'd' || type == 'q';
  uint64_t lanes = o.dwords > 2 ? kAllLanes : w.exec(); // matrices take no notice of EXEC
  uint32_t seen = 0;
  for (int n = 0; n < o.dwords; n += two ? 2 : 1) {
    const uint32_t *low = w.row(o, n), *high = w.row(o, two ? n + 1 : n);
    for (int l = 0; l < kLanes; ++l)
      if (lanes >> l & 1)
        seen |= bytes ? classesOfBytes(type, low[l])
                      : classesOfValue(type, low[l] | (two ? uint64_t(high[l]) << 32 : 0));
  }
  return seen;
}

const char *const kValueNames[] = {"+0", "-0", "denormal", "largest", "inf", "qnan", "snan",
                                   "",   "0",  "1",        "-1",      "min", "max",  ">=width"};
const char *const kStateNames[] = {
    "exec partial",      "exec 0",   "scc=1",        "scc=0",     "taken",
    "not taken",         "offset",   "out of range", "unaligned", "denormals kept",
    "denormals flushed", "scc in 1", "scc in 0"};

std::string names(const EdgeClasses &c) {
  std::string text;
  for (size_t n = 0; n < c.sources.size(); ++n) {
    if (!c.sources[n])
      continue;
    text += fmt::format(" src{}:", n);
    for (size_t k = 0; k < std::size(kValueNames); ++k)
      if (c.sources[n] >> k & 1)
        text += fmt::format(" {}", kValueNames[k]);
    text += ";";
  }
  for (size_t k = 0; k < std::size(kStateNames); ++k)
    if (c.state >> k & 1)
      text += fmt::format(" {},", kStateNames[k]);
  return text;
}

} // namespace

bool EdgeClasses::covers(const EdgeClasses &needed) const {
  for (size_t n = 0; n < sources.size(); ++n)
    if (needed.sources[n] & ~sources[n])
      return false;
  return !(needed.state & ~state);
}

EdgeAudit &edgeAudit() {
  static EdgeAudit audit;
  return audit;
}

EdgeAudit::EdgeAudit() : rows_(kOpcodeCount) {
  for (uint32_t n = 0; n < kOpcodeCount; ++n) {
    rows_[n].types = sourceTypes(kOpcodes[n]);
    rows_[n].needed = neededClasses(kOpcodes[n]);
  }
}

std::unique_ptr<Observer> EdgeAudit::make(const Dispatch &) {
  test_ = Catch::getResultCapture().getCurrentTestName();
  return std::make_unique<Watch>();
}

void EdgeAudit::before(Wave &w, const Inst &i) {
  Row &row = rows_[i.opcode];
  if (row.done)
    return;
  row.tests.insert(test_);
  EdgeClasses &seen = row.seen;
  for (size_t n = 0; n < row.types.size(); ++n)
    if (row.needed.sources[n] & ~seen.sources[n])
      seen.sources[n] |= classesOfSource(w, i.src[n], row.types[n]);
  uint64_t exec = w.exec();
  seen.state |= exec == 0 ? ExecNone : exec != kAllLanes ? ExecPartial : NoState;
  seen.state |= w.scc ? SccInSet : SccInClear;
  seen.state |= i.offset ? WithOffset : NoState;
  seen.state |= (w.mode & kKeep32) == kKeep32 ? DenormalsKept : NoState;
  seen.state |= (w.mode & kKeep32) == 0 ? DenormalsFlushed : NoState;
  nextIp_ = w.ip;
}

void EdgeAudit::issued(const Access &a) {
  Row &row = rows_[a.inst->opcode];
  attune::sim::Format format = kOpcodes[a.inst->opcode].format;
  if (row.done || format == attune::sim::Format::DS || format == attune::sim::Format::SMEM)
    return;
  unsigned unit = std::min<unsigned>(a.inst->memBytes, 4);
  for (int l = 0; l < kLanes; ++l)
    if (a.exec >> l & 1) {
      row.seen.state |= a.bytes[l] < a.inst->memBytes ? OutOfRange : NoState;
      row.seen.state |= a.address[l] % unit ? Unaligned : NoState;
    }
}

void EdgeAudit::after(Wave &w, const Inst &i) {
  Row &row = rows_[i.opcode];
  if (row.done)
    return;
  row.seen.state |= w.scc ? SccSet : SccClear;
  row.seen.state |= w.ip != nextIp_ ? Taken : NotTaken;
  row.done = row.seen.covers(row.needed) && row.tests.size() > 1;
}

std::vector<std::string> EdgeAudit::gaps() const {
  std::vector<std::string> lines;
  for (uint32_t n = 0; n < kOpcodeCount; ++n) {
    EdgeClasses missing = rows_[n].needed;
    for (size_t k = 0; k < missing.sources.size(); ++k)
      missing.sources[k] &= ~rows_[n].seen.sources[k];
    missing.state &= ~rows_[n].seen.state;
    if (!EdgeClasses().covers(missing))
      lines.push_back(fmt::format("{} lacks{}", kOpcodes[n].mnemonic, names(missing)));
  }
  return lines;
}

std::string EdgeAudit::report() const {
  std::string text;
  for (uint32_t n = 0; n < kOpcodeCount; ++n) {
    text += fmt::format("{:34}{}\n", kOpcodes[n].mnemonic, names(rows_[n].seen));
    for (const std::string &test : rows_[n].tests)
      text += fmt::format("{:34}  in \"{}\"\n", "", test);
  }
  return text;
}

} // namespace simtest
