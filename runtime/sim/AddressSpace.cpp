// Linux lists a process's mappings in ascending order in /proc/self/maps, "first-end ..." a line;
// what lies between two of them is free.
#include "runtime/sim/AddressSpace.h"
#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace attune::sim {
namespace {
constexpr uint64_t kPage = 4096;
constexpr uint64_t kFirst = 1u << 20; // below it Linux gives nothing out
constexpr uint64_t kEnd = (uint64_t(1) << 47) - kPage;

uint64_t distance(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }
} // namespace

std::optional<uint64_t> nearestFreeRange(uint64_t wanted, uint64_t bytes) {
  std::ifstream maps("/proc/self/maps");
  std::optional<uint64_t> best;
  uint64_t free = kFirst;
  auto gap = [&](uint64_t end) {
    if (end < free || end - free < bytes)
      return;
    uint64_t at = std::clamp(wanted / kPage * kPage, free, (end - bytes) / kPage * kPage);
    if (!best || distance(at, wanted) < distance(*best, wanted))
      best = at;
  };
  for (std::string line; std::getline(maps, line);) {
    std::istringstream text(line);
    uint64_t first = 0, end = 0;
    char dash = 0;
    if (text >> std::hex >> first >> dash >> end) {
      gap(std::min(first, kEnd));
      free = std::max(free, end);
    }
  }
  gap(kEnd);
  return best;
}

} // namespace attune::sim
