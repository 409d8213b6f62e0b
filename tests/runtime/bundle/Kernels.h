// Kernels that are cheap to make, for tests of bundles; and a folder for their files.
#pragma once
#include "runtime/bundle/Bundle.h"
#include <string>
#include <vector>

namespace attune::bundle::testing {

using Bytes = std::vector<uint8_t>;

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

/// A folder that goes with its object.
class Folder {
public:
  Folder();
  ~Folder();
  Folder(const Folder &) = delete;
  std::string operator/(const std::string &name) const { return path_ + "/" + name; }
  std::string write(const std::string &name, std::span<const uint8_t> bytes) const;

private:
  std::string path_;
};

} // namespace attune::bundle::testing
