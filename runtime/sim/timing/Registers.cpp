#include "runtime/sim/timing/Registers.h"
#include <algorithm>

namespace attune::sim {

uint64_t RegisterTimes::readable(const Time &t, const InstTiming &reader, int source) const {
  const TimingParams &p = *params_;
  auto after = [&](int clk) { return t.issued + uint64_t(clk); };
  bool memory = reader.unit == Unit::Lds || reader.unit == Unit::Vmem;
  switch (t.writer) {
  case Writer::None:
    return 0;
  case Writer::Scalar:
    return after(p.saluClk);
  case Writer::Trans:
  case Writer::Valu: {
    int clk = std::max<int>(t.resultAfter, t.writer == Writer::Trans ? p.transToValuClk : 0);
    if (reader.unit == Unit::Mfma)
      return after(std::max(clk, p.valuToMfmaClk));
    if (memory)
      return after(clk - p.valuClk + p.valuToMemClk);
    return after(reader.unit == Unit::Valu ? clk : clk - p.valuClk + p.valuToSaluClk);
  }
  case Writer::Matrix:
    if (reader.unit != Unit::Mfma || source != 2)
      return after(t.resultAfter);
    const RegisterRange &c = reader.reads[2];
    bool same = t.opcode == reader.opcode && t.first == c.first && t.count == c.count;
    return after(same ? t.interval : t.otherAccAfter);
  }
  return 0;
}

RegisterTimes::Ready RegisterTimes::ready(const InstTiming &i) const {
  Ready r;
  auto look = [&](const RegisterRange &range, int source) {
    for (int n = 0; n < range.count; ++n) {
      const Time &t = times_[size_t(range.first + n)];
      uint64_t clk = readable(t, i, source);
      if (clk > r.clk)
        r = {clk, t.writer == Writer::Matrix};
    }
  };
  for (int s = 0; s < i.readCount; ++s)
    look(i.reads[size_t(s)], s);
  // An MFMA result must have arrived before another instruction overwrites it; an MFMA that reads
  // it as C does so in order.
  if (i.unit != Unit::Lds && i.unit != Unit::Vmem && i.unit != Unit::Smem)
    for (int d = 0; d < i.writeCount; ++d)
      for (int n = 0; n < i.writes[size_t(d)].count; ++n) {
        const Time &t = times_[size_t(i.writes[size_t(d)].first + n)];
        if (t.writer == Writer::Matrix && i.unit != Unit::Mfma && t.issued + t.resultAfter > r.clk)
          r = {t.issued + t.resultAfter, true};
      }
  return r;
}

void RegisterTimes::issue(const InstTiming &i, uint64_t clk) {
  Time t;
  t.issued = clk;
  switch (i.unit) {
  case Unit::Valu:
    t.writer = i.valu == ValuKind::Trans ? Writer::Trans : Writer::Valu;
    t.resultAfter = i.clk;
    break;
  case Unit::Mfma:
    t.writer = Writer::Matrix;
    t.resultAfter = i.resultAfter;
    t.otherAccAfter = i.otherAccAfter;
    t.interval = i.clk;
    t.opcode = i.opcode;
    break;
  case Unit::Salu:
    t.writer = Writer::Scalar;
    break;
  default:
    break; // loads: up to s_waitcnt
  }
  for (int d = 0; d < i.writeCount; ++d) {
    const RegisterRange &range = i.writes[size_t(d)];
    t.first = range.first;
    t.count = range.count;
    for (int n = 0; n < range.count; ++n)
      times_[size_t(range.first + n)] = t;
  }
}

} // namespace attune::sim
