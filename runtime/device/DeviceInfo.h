// What is known of a device before it is opened.
#pragma once
#include "runtime/abi/CodeObjectTarget.h"
#include <string>

namespace attune {

struct DeviceInfo {
  std::string name; ///< "sim", "hip:0": what openDevice takes
  TargetId target;
  std::string product; ///< "AMD Instinct MI355X", and for HIP the version of its library
};

} // namespace attune
