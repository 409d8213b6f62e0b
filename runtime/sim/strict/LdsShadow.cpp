#include "runtime/sim/strict/LdsShadow.h"
#include <algorithm>
#include <cstring>

namespace attune::sim::strict {
namespace {
constexpr uint32_t kMaxOps = (1u << 27) - 1;

/// The dwords of a lane, side by side: the host handles them with one instruction each.
template <unsigned N> struct Row {
  using Type __attribute__((vector_size(4 * N))) = uint32_t;
};
} // namespace

void LdsShadow::prepare(uint32_t bytes, uint32_t waves, bool narrow) {
  shift_ = narrow ? 0 : 2;
  units_ = (bytes + unitBytes() - 1) >> shift_;
  waves_ = waves;
  written_.assign(units_, kUndefined);
  lastRead_.assign(waves, 0);
  read_.assign(waves, std::vector<uint32_t>(units_));
  updated_.assign(waves, {});
  atomics_ = false;
}

void LdsShadow::begin() {
  std::ranges::fill(written_, kUndefined);
  base_ += uint32_t(ops_.size()); // what earlier workgroups did is behind the floor
  ops_.clear();
  if (base_ > kMaxOps / 2)
    forget();
  epoch_ = 0;
  floor_ = base_ << 4;
}

void LdsShadow::released() {
  ++epoch_;
  floor_ = (base_ + uint32_t(ops_.size())) << 4;
}

/// A pipelined kernel has LDS-DMA on its way at every barrier. With a new number, written over the
/// old one where that still stands, the floor can stay at the epoch's beginning. Where other
/// accesses went is not known; for them the floor goes down.
uint32_t LdsShadow::carry(uint32_t n) {
  if (n - base_ >= ops_.size())
    return n;
  if (at(n).access != LdsAccess::Dma) {
    floor_ = std::min(floor_, n << 4);
    return n;
  }
  LdsOp op = at(n);
  uint32_t old = keyOf(n), renewed = add(op), key = keyOf(renewed);
  uint32_t last = std::min((op.first + op.bytes) >> shift_, units_);
  for (uint32_t u = op.first >> shift_; u < last; ++u)
    written_[u] = written_[u] == old ? key : written_[u];
  return renewed;
}

uint32_t LdsShadow::add(const LdsOp &op) {
  if (base_ + ops_.size() > kMaxOps)
    forget();
  if (op.access == LdsAccess::Atomic && !atomics_) {
    atomics_ = true;
    for (auto &each : updated_)
      each.assign(units_, 0);
  }
  ops_.push_back(op);
  return base_ + uint32_t(ops_.size() - 1);
}

/// Out of numbers: they start anew, and what happened so far is taken as ordered.
void LdsShadow::forget() {
  for (uint32_t &w : written_)
    w &= kUndefined;
  for (auto *table : {&read_, &updated_})
    for (auto &each : *table)
      std::ranges::fill(each, 0);
  std::ranges::fill(lastRead_, 0);
  ops_.clear();
  base_ = 1;
  floor_ = base_ << 4;
}

void LdsShadow::check(uint32_t key, const LdsOp &op, uint32_t unit, int lane,
                      LdsConflict &conflict) const {
  const LdsOp &other = at(key >> 4);
  if (conflict.other)
    return;
  bool same = other.wave == op.wave;
  bool dma = op.access == LdsAccess::Dma, otherDma = other.access == LdsAccess::Dma;
  bool meets = same ? dma != otherDma && other.done == LdsOp::kNotDone : other.done >= epoch_;
  if (meets)
    conflict = {&other, unit << shift_, lane, same};
}

void LdsShadow::checkAtomics(const LdsOp &op, uint32_t unit, int lane,
                             LdsConflict &conflict) const {
  for (const auto &ofWave : updated_)
    if (ofWave[unit] >= floor_)
      check(ofWave[unit], op, unit, lane, conflict);
}

/// Whom a write or an atomic meets in a unit.
void LdsShadow::checkWrite(const LdsOp &op, uint32_t unit, int lane, LdsConflict &conflict) const {
  if (uint32_t by = written_[unit] & ~kUndefined; by >= floor_)
    check(by, op, unit, lane, conflict);
  for (uint32_t w = 0; w < waves_; ++w)
    if (lastRead_[w] >= floor_ && read_[w][unit] >= floor_)
      check(read_[w][unit], op, unit, lane, conflict);
  if (op.access != LdsAccess::Atomic && atomics_)
    checkAtomics(op, unit, lane, conflict);
}

unsigned LdsShadow::read(uint32_t n, uint32_t address, uint32_t bytes, int lane,
                         LdsConflict &conflict) {
  const LdsOp &op = at(n);
  uint32_t key = keyOf(n), first = address >> shift_;
  uint32_t last = std::min((address + bytes - 1) >> shift_, units_ - 1);
  unsigned undefined = 0;
  lastRead_[op.wave] = key;
  for (uint32_t u = first; u <= last; ++u) {
    uint32_t w = written_[u];
    if (w >= floor_) {
      if (w & kUndefined)
        undefined |= 1u << (((u << shift_) - address) / 4 & 3);
      if (uint32_t by = w & ~kUndefined; by >= floor_)
        check(by, op, u, lane, conflict);
    }
    if (atomics_)
      checkAtomics(op, u, lane, conflict);
    read_[op.wave][u] = key;
  }
  return undefined;
}

void LdsShadow::write(uint32_t n, uint32_t address, uint32_t bytes, int lane, unsigned undefined,
                      LdsConflict &conflict) {
  const LdsOp &op = at(n);
  bool atomic = op.access == LdsAccess::Atomic;
  uint32_t key = keyOf(n), first = address >> shift_;
  uint32_t last = std::min((address + bytes - 1) >> shift_, units_ - 1);
  for (uint32_t u = first; u <= last; ++u) {
    if (!conflict.other)
      checkWrite(op, u, lane, conflict);
    uint32_t mark = undefined >> (((u << shift_) - address) / 4 & 3) & 1 ? kUndefined : 0;
    if (atomic) {
      updated_[op.wave][u] = key;
      written_[u] |= mark;
    } else {
      written_[u] = key | mark;
    }
  }
}

void LdsShadow::writeLanes(uint32_t n, uint32_t address, uint32_t bytes, LdsConflict &conflict) {
  const LdsOp &op = at(n);
  uint32_t first = address >> shift_, end = (address + kLanes * bytes) >> shift_;
  for (uint32_t u = first; u < end && !conflict.other; ++u)
    checkWrite(op, u, int(((u << shift_) - address) / bytes), conflict);
  std::fill(written_.begin() + first, written_.begin() + end, keyOf(n));
}

template <unsigned N>
bool LdsShadow::readLanes(const uint64_t *address, uint32_t wave, uint32_t key, bool own) {
  using Dwords = typename Row<N>::Type;
  const auto *written = reinterpret_cast<const char *>(written_.data());
  auto *read = reinterpret_cast<char *>(read_[wave].data());
  const Dwords keys = Dwords{} + key;
  Dwords last{};
  for (int l = 0; l < kLanes; ++l) { // an address is the offset in the tables, too
    Dwords w;
    std::memcpy(&w, written + uint32_t(address[l]), sizeof w);
    last = w > last ? w : last;
    std::memcpy(read + uint32_t(address[l]), &keys, sizeof keys);
  }
  uint32_t any = 0;
  for (unsigned k = 0; k < N; ++k)
    any |= uint32_t(last[k] >= floor_);
  return !any || ownWrites<N>(address, own ? ~0u : wave);
}

/// Is what 64 lanes read either written before this epoch, or by `wave` itself and defined?
template <unsigned N> bool LdsShadow::ownWrites(const uint64_t *address, uint32_t wave) const {
  uint32_t hit = 0;
  for (int l = 0; l < kLanes; ++l)
    for (unsigned k = 0; k < N; ++k) {
      uint32_t w = written_[uint32_t(address[l]) / 4 + k];
      hit |= uint32_t(w >= floor_) & uint32_t((w & (kUndefined | 15)) != wave);
    }
  return !hit;
}

bool LdsShadow::readWhole(uint32_t n, const uint64_t *address, unsigned words, bool own) {
  if (shift_ != 2 || atomics_)
    return false;
  uint32_t wave = at(n).wave, key = keyOf(n);
  lastRead_[wave] = key;
  switch (words) {
  case 4:
    return readLanes<4>(address, wave, key, own);
  case 2:
    return readLanes<2>(address, wave, key, own);
  case 1:
    return readLanes<1>(address, wave, key, own);
  default:
    return false;
  }
}

/// Has a wave whose reads matter to a write of `op` read, in this epoch, what anyIn(its reads)
/// finds?
template <class Fn> bool LdsShadow::readersMatter(const LdsOp &op, bool own, Fn anyIn) const {
  for (uint32_t w = 0; w < waves_; ++w)
    if (lastRead_[w] >= floor_ && (own || w != op.wave) && anyIn(read_[w].data()))
      return true;
  return false;
}

bool LdsShadow::writeWhole(uint32_t n, const uint64_t *address, unsigned words, bool own) {
  const LdsOp &op = at(n);
  if (shift_ != 2 || atomics_ || op.access == LdsAccess::Atomic)
    return false;
  auto any = [&](const uint32_t *table, uint32_t bits, uint32_t except) {
    uint32_t hit = 0;
    for (int l = 0; l < kLanes; ++l)
      for (unsigned k = 0; k < words; ++k) {
        uint32_t w = table[uint32_t(address[l]) / 4 + k] & bits;
        hit |= uint32_t(w >= floor_) & uint32_t((w & 15) != except);
      }
    return hit != 0;
  };
  if (any(written_.data(), ~kUndefined, own ? ~0u : op.wave) ||
      readersMatter(op, own, [&](const uint32_t *read) { return any(read, ~0u, ~0u); }))
    return false;
  for (int l = 0; l < kLanes; ++l)
    for (unsigned k = 0; k < words; ++k)
      written_[uint32_t(address[l]) / 4 + k] = keyOf(n);
  return true;
}

bool LdsShadow::writeRange(uint32_t n, uint32_t address, uint32_t bytes, bool own) {
  const LdsOp &op = at(n);
  if (atomics_)
    return false;
  uint32_t first = address >> shift_, count = bytes >> shift_;
  auto any = [&](const uint32_t *table, uint32_t bits, uint32_t except) {
    uint32_t hit = 0;
    for (uint32_t u = first; u < first + count; ++u) {
      uint32_t w = table[u] & bits;
      hit |= uint32_t(w >= floor_) & uint32_t((w & 15) != except);
    }
    return hit != 0;
  };
  if (any(written_.data(), ~kUndefined, own ? ~0u : op.wave) ||
      readersMatter(op, own, [&](const uint32_t *read) { return any(read, ~0u, ~0u); }))
    return false;
  std::fill_n(written_.begin() + first, count, keyOf(n));
  return true;
}

} // namespace attune::sim::strict
