// Kernels that are cheap to make, for tests of bundles.
#pragma once
#include "runtime/bundle/Bundle.h"
#include "tests/support/TempDir.h"
#include <string>
#include <vector>

namespace attune::bundle::testing {

using Bytes = std::vector<uint8_t>;
using attune::testing::TempDir;

struct Sample {
  std::string spec = "attention causal";
  std::string code = "instructions";
  std::string arch = "gfx950", options = "", compiler = "one", llvm = "22.1";
  double compileMs = 80;
};

cache::Key keyOf(const Sample &);
cache::KeyFields fieldsOf(const Sample &);
Entry entryOf(const Sample &);

/// writeBundle, whose success is required.
Bytes bundleOf(const std::vector<Sample> &);

} // namespace attune::bundle::testing
