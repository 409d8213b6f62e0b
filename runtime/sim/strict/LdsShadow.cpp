#include "runtime/sim/strict/LdsShadow.h"
#include <algorithm>

namespace attune::sim::strict {
namespace {
constexpr uint32_t kMaxOps = (1u << 27) - 1;
}

void LdsShadow::prepare(uint32_t bytes, uint32_t waves, bool narrow) {
  shift_ = narrow ? 0 : 2;
  units_ = (bytes + unitBytes() - 1) >> shift_;
  waves_ = waves;
  written_.assign(units_, kUndefined);
  read_.assign(waves, std::vector<uint32_t>(units_));
  updated_.assign(waves, {});
  atomics_ = false;
}

void LdsShadow::begin() {
  std::ranges::fill(written_, kUndefined);
  for (auto *table : {&read_, &updated_})
    for (auto &each : *table)
      std::ranges::fill(each, 0);
  ops_.assign(1, {}); // number 0: no access
  epoch_ = 0;
  floor_ = 1 << 4;
}

void LdsShadow::released(uint32_t oldest) {
  ++epoch_;
  floor_ = (oldest ? oldest : uint32_t(ops_.size())) << 4;
}

uint32_t LdsShadow::add(const Inst &i, uint32_t wave, LdsAccess access) {
  if (ops_.size() > kMaxOps)
    forget();
  if (access == LdsAccess::Atomic && !atomics_) {
    atomics_ = true;
    for (auto &each : updated_)
      each.assign(units_, 0);
  }
  ops_.push_back({.inst = &i, .wave = wave, .access = access, .issued = epoch_});
  return uint32_t(ops_.size() - 1);
}

/// Out of numbers: what happened so far is taken as ordered.
void LdsShadow::forget() {
  for (uint32_t &w : written_)
    w &= kUndefined;
  for (auto *table : {&read_, &updated_})
    for (auto &each : *table)
      std::ranges::fill(each, 0);
  std::ranges::fill(ops_, LdsOp{.done = 0});
  ops_.resize(1);
}

void LdsShadow::check(uint32_t key, const LdsOp &op, uint32_t unit, int lane,
                      LdsConflict &conflict) const {
  const LdsOp &other = ops_[key >> 4];
  if (conflict.other)
    return;
  bool same = other.wave == op.wave;
  bool dma = op.access == LdsAccess::Dma, otherDma = other.access == LdsAccess::Dma;
  bool meets = same ? dma != otherDma && other.done == LdsOp::kNotDone : other.done >= epoch_;
  if (meets)
    conflict = {&other, unit << shift_, lane, same};
}

void LdsShadow::checkAll(const Table &table, const LdsOp &op, uint32_t unit, int lane,
                         LdsConflict &conflict) const {
  for (const auto &ofWave : table)
    if (ofWave[unit] >= floor_)
      check(ofWave[unit], op, unit, lane, conflict);
}

unsigned LdsShadow::read(uint32_t n, uint32_t address, uint32_t bytes, int lane,
                         LdsConflict &conflict) {
  const LdsOp &op = ops_[n];
  uint32_t key = keyOf(n), first = address >> shift_;
  uint32_t last = std::min((address + bytes - 1) >> shift_, units_ - 1);
  unsigned undefined = 0;
  for (uint32_t u = first; u <= last; ++u) {
    uint32_t w = written_[u];
    if (w >= floor_) {
      if (w & kUndefined)
        undefined |= 1u << (((u << shift_) - address) / 4 & 3);
      if (uint32_t by = w & ~kUndefined; by >= floor_)
        check(by, op, u, lane, conflict);
    }
    if (atomics_)
      checkAll(updated_, op, u, lane, conflict);
    read_[op.wave][u] = key;
  }
  return undefined;
}

void LdsShadow::write(uint32_t n, uint32_t address, uint32_t bytes, int lane, unsigned undefined,
                      LdsConflict &conflict) {
  const LdsOp &op = ops_[n];
  bool atomic = op.access == LdsAccess::Atomic;
  uint32_t key = keyOf(n), first = address >> shift_;
  uint32_t last = std::min((address + bytes - 1) >> shift_, units_ - 1);
  for (uint32_t u = first; u <= last; ++u) {
    if (uint32_t by = written_[u] & ~kUndefined; by >= floor_)
      check(by, op, u, lane, conflict);
    checkAll(read_, op, u, lane, conflict);
    if (!atomic && atomics_)
      checkAll(updated_, op, u, lane, conflict);
    uint32_t mark = undefined >> (((u << shift_) - address) / 4 & 3) & 1 ? kUndefined : 0;
    if (atomic) {
      updated_[op.wave][u] = key;
      written_[u] |= mark;
    } else {
      written_[u] = key | mark;
    }
  }
}

} // namespace attune::sim::strict
