// The calls that HIP has and this library has not. They are here so that a program links and learns
// by name which one it needs. None reads its arguments, so that one signature fits all.
#include "runtime/hip/Runtime.h"

using namespace attune::hip;

namespace {

hipError_t missing(const char *name) {
  return call(name, [](Runtime &) {
    return Outcome(hipErrorNotSupported, "not supported by HIP on the simulator");
  });
}

} // namespace

#define HIP_MISSING(NAME, VERSION)                                                                 \
  extern "C" hipError_t NAME() { return missing(#NAME); }
#include "runtime/hip/Missing.def"
