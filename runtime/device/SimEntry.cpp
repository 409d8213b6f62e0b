// libattune-sim's one function: what SimLibrary.cpp calls. Both are built together.
#include "runtime/device/SimDevice.h"

extern "C" [[gnu::visibility("default")]] attune::Device *
attune_sim_device_v1(const attune::sim::RunOptions *options);

attune::Device *attune_sim_device_v1(const attune::sim::RunOptions *options) {
  return attune::makeSimDevice(*options).release();
}
