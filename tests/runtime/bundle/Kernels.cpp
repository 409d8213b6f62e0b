#include "tests/runtime/bundle/Kernels.h"
#include <catch2/catch.hpp>

namespace attune::bundle::testing {

cache::Key keyOf(const Sample &s) {
  auto key = cache::KeyBuilder()
                 .add("spec", s.spec)
                 .add("arch", s.arch)
                 .add("options", s.options)
                 .add("compiler", s.compiler)
                 .add("llvm", s.llvm)
                 .label(s.spec)
                 .build();
  REQUIRE(key);
  return *key;
}

cache::KeyFields fieldsOf(const Sample &s) { return cache::parseKey(keyOf(s).text()).value(); }

Entry entryOf(const Sample &s) {
  Entry entry{keyOf(s).text(), s.spec, {}};
  entry.image.codeObject.assign(s.code.begin(), s.code.end());
  Sidecar &sidecar = entry.image.sidecar;
  sidecar.arch = s.arch;
  sidecar.problem.specName = s.spec;
  sidecar.problem.numQHeads = sidecar.problem.numKvHeads = 1;
  sidecar.problem.headDim = sidecar.problem.vHeadDim = 64;
  sidecar.llvmVersion = s.llvm;
  sidecar.compileMs = s.compileMs;
  sidecar.kernel.name = "kernel";
  sidecar.kernel.args = {{"q", "ptr", 0, 8}};
  sidecar.kernel.kernargBytes = 8;
  sidecar.kernel.abiFingerprint = abiFingerprint(sidecar.kernel.args);
  sidecar.kernel.grid = {128, 256};
  return entry;
}

Bytes bundleOf(const std::vector<Sample> &samples) {
  std::vector<Entry> entries;
  for (const Sample &sample : samples)
    entries.push_back(entryOf(sample));
  auto bytes = writeBundle(std::move(entries));
  if (!bytes)
    FAIL(bytes.error().message);
  return *bytes;
}

} // namespace attune::bundle::testing
