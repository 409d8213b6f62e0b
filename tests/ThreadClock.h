// Time that the calling thread has spent on a processor. On a machine that others use too, the time
// on the wall says how busy they were.
#pragma once
#include <ctime>

namespace simtest {

inline double threadSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

} // namespace simtest
