// How much memory this machine has: what is asked for beyond it is a slip of the hand.
#pragma once
#include <cstdint>
#include <unistd.h>

namespace attune {

/// Bytes of physical memory, in use or not.
inline uint64_t hostMemoryBytes() {
  return uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
}

} // namespace attune
