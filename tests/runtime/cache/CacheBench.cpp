// What a hit costs: medians over many calls, by layer and size of the code object.
//
//   cache_bench [DIRECTORY]      where the disk layer lies; a temporary directory if not given
#include "tests/runtime/cache/Testing.h"
#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace attune;
using namespace attune::cache;
using namespace attune::cache::testing;

namespace {

using Clock = std::chrono::steady_clock;

/// The median time of a call in microseconds, of 101 runs of `calls` calls.
template <class Call> double medianMicros(int calls, Call call) {
  std::vector<double> times;
  for (int run = 0; run < 101; ++run) {
    auto start = Clock::now();
    for (int i = 0; i < calls; ++i)
      call();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count() /
                    calls);
  }
  std::nth_element(times.begin(), times.begin() + 50, times.end());
  return times[50];
}

} // namespace

int main(int argc, char **argv) {
  TempDir temporary;
  const std::string directory = argc > 1 ? argv[1] : temporary.path();
  bool right = true;
  for (size_t bytes : {size_t(10'000), size_t(40'000), size_t(160'000)}) {
    const std::string name = "bench" + std::to_string(bytes);
    const Key key = keyOf(name);
    auto build = [&] { return Result<KernelImage>(imageOf(name, bytes)); };
    double published = medianMicros(1, [&] {
      right &= bool(Directory(directory, FileOps()).clear());
      right &= bool(Cache(optionsFor(directory)).getOrBuild(key, build));
    });
    double disk = medianMicros(1, [&] {
      Cache cache(optionsFor(directory));
      right &= cache.getOrBuild(key, build) && cache.counters().diskHits == 1;
    });
    Cache cache(optionsFor(directory));
    right &= bool(cache.getOrBuild(key, build));
    double memory = medianMicros(1000, [&] { right &= bool(cache.getOrBuild(key, build)); });
    std::printf("%7zu bytes of code: publish %.0f us, hit on disk %.0f us, hit in memory %.3f us\n",
                bytes, published, disk, memory);
  }
  return right ? 0 : 1;
}
