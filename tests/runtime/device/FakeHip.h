// A HIP runtime that does nothing and writes down every call, in the two shapes that the real one
// has had: with the property layout of HIP 5, and with that of HIP 6 beside it. What the
// simulator's library cannot show (other versions, other chips, which calls a launch makes) is
// tested on it.
#pragma once
#include <string>
#include <vector>

#ifndef FAKE_HIP_TARGET
#define FAKE_HIP_TARGET "gfx950:sramecc+:xnack-"
#endif

namespace fakehip {

struct State {
  int version = 60400000, devices = 2;
  std::string target = FAKE_HIP_TARGET;
  int launchError = 0;
  int current = 0;   ///< device of the (one) thread that tests it
  int lastError = 0; ///< what hipGetLastError would return
  std::vector<std::string> calls;
  void *launchStream = nullptr;
  std::vector<unsigned char> kernarg; ///< of the last launch
};

} // namespace fakehip
