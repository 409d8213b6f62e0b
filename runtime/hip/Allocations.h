// Memory that a program asked for, and copies in and out of it. A device address is a host address
// here, so that pinned and managed memory are device memory under another name; but a pointer that
// HIP did not give out is never taken for a device pointer, and no copy leaves its buffer.
#pragma once
#include "runtime/hip/Abi.h"
#include "runtime/hip/Gpus.h"
#include "runtime/hip/Outcome.h"
#include <map>

namespace attune::hip {

enum class Home : uint8_t { Device, Host };

class Allocations {
public:
  explicit Allocations(Gpus &gpus) : gpus_(gpus) {}

  Outcome allocate(void **out, size_t bytes, Home home); ///< on the current GPU
  Outcome release(void *pointer);
  void releaseAll();   ///< of the current GPU
  size_t used() const; ///< bytes of the current GPU's device memory

  Outcome copy(void *to, const void *from, size_t bytes, int kind) const;
  Outcome copyRows(void *to, size_t toPitch, const void *from, size_t fromPitch, size_t width,
                   size_t height, int kind) const;
  /// `count` elements of `width` bytes.
  Outcome fill(void *to, uint32_t value, size_t width, size_t count) const;
  Outcome fillRows(void *to, size_t pitch, int value, size_t width, size_t height) const;

  struct Range {
    void *base = nullptr;
    size_t bytes = 0;
    Home home = Home::Device;
  };
  /// The allocation that a pointer lies in; no base if it lies in none.
  Range find(const void *pointer) const;

private:
  struct Block {
    size_t bytes;
    Home home;
    Gpu *gpu;
  };
  Outcome checkSide(const char *side, const void *pointer, size_t bytes, bool device) const;

  std::string describe(uint64_t address) const;

  Gpus &gpus_;
  std::map<uint64_t, Block> blocks_;
  std::map<const Gpu *, size_t> used_;
  uint64_t count_ = 0;
};

} // namespace attune::hip
