#include "tests/runtime/bundle/Kernels.h"
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

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

Folder::Folder() {
  std::string name = "/tmp/attune-bundle-XXXXXX";
  REQUIRE(mkdtemp(name.data()));
  path_ = name;
}

Folder::~Folder() { std::filesystem::remove_all(path_); }

std::string Folder::write(const std::string &name, std::span<const uint8_t> bytes) const {
  std::ofstream file(*this / name, std::ios::binary);
  file.write(reinterpret_cast<const char *>(bytes.data()), std::streamsize(bytes.size()));
  REQUIRE(file.flush());
  return *this / name;
}

} // namespace attune::bundle::testing
