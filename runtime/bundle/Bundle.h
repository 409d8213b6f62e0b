// A bundle: many compiled kernels as one file that is mapped and not read.
//
//   auto bundle = Bundle::open("kernels.attune");
//   if (auto kernel = bundle->find(key.digest()))
//     Result<Entry> entry = bundle->load(*kernel);
//
// A bundle is what a release ships: kernels made ahead of time, for processes that have no compiler
// or must not wait for it. Opening maps the file and checks its index; a kernel's own bytes are
// first touched, checked and unpacked when it is loaded. Everything is const after open and may be
// called from any thread.
//
// Two ways to find a kernel. By its key's digest: the kernel that this very compiler would make. Or
// by its key with the fields in `buildFields` left out: a process without a compiler cannot say
// which one it would have used, and takes the kernel of whichever built the bundle.
#pragma once
#include "runtime/abi/KernelImage.h"
#include "runtime/abi/Result.h"
#include "runtime/cache/Key.h"
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attune::bundle {

/// Fields of a key that say who made a kernel and not what it is.
constexpr std::array<std::string_view, 2> buildFields = {"compiler", "llvm"};

struct KernelRow;

struct Entry {
  std::string keyText; ///< cache::Key::text()
  std::string label;   ///< what people call the kernel
  KernelImage image;
};

/// A kernel without its code.
struct Summary {
  std::string digest, keyText, label;
  Sidecar sidecar;
  uint32_t object = 0;                       ///< kernels with the same number share their code
  uint64_t objectBytes = 0, packedBytes = 0; ///< of the code object, as it runs and in the file
};

struct Nearest {
  uint32_t kernel = 0;
  std::vector<std::string> differing; ///< names of fields
};

class Bundle {
public:
  /// Errors: NotFound; Io when the file is no bundle, is damaged or is of another version.
  static Result<Bundle> open(const std::string &path);
  /// A bundle that is part of the program, say; `bytes` must outlive it. The name is for messages.
  static Result<Bundle> fromMemory(std::span<const uint8_t> bytes,
                                   std::string name = "embedded bundle");

  const std::string &name() const { return name_; }
  uint32_t size() const { return kernels_; }
  uint32_t objects() const { return objects_; }
  uint64_t fileBytes() const { return bytes_.size(); }

  /// The kernel of this key; `keyDigest` is cache::Key::digest().
  std::optional<uint32_t> find(std::string_view keyDigest) const;
  /// A kernel whose key is this one but for the build fields.
  std::optional<uint32_t> findAnyBuild(const cache::KeyFields &) const;
  /// For messages: the kernel whose key differs in the fewest fields, and in the fewest words of
  /// those. Reads the key of every kernel.
  std::optional<Nearest> nearest(const cache::KeyFields &) const;

  /// Errors: Io, the record or the code object is damaged.
  Result<Entry> load(uint32_t kernel) const;
  Result<Summary> describe(uint32_t kernel) const;
  Result<std::vector<Summary>> list() const;

  /// Checks every byte. Errors: Io with the first thing that is wrong.
  Result<void> verify() const;

private:
  struct Record;
  Bundle(std::span<const uint8_t> bytes, std::string name)
      : bytes_(bytes), name_(std::move(name)) {}
  Result<void> checkIndex();
  Error damaged(std::string what) const;
  template <class T> T at(uint64_t offset) const;
  KernelRow row(uint32_t kernel) const;
  Result<Record> record(uint32_t kernel) const;
  Result<Sidecar> sidecarOf(const Record &) const;
  Result<std::vector<uint8_t>> object(const Record &) const;

  std::shared_ptr<const void> mapping_; ///< keeps an opened file mapped
  std::span<const uint8_t> bytes_;
  std::string name_;
  uint32_t kernels_ = 0, objects_ = 0;
};

/// The bytes of a bundle of these kernels. The order of entries does not matter, but of several
/// with one key the first is taken. compileMs is left out, so that building again gives the same
/// bytes. Errors: InvalidArgument, a key's text is no key.
Result<std::vector<uint8_t>> writeBundle(std::vector<Entry> entries);

/// The kernels of several bundles as one. Errors: Io, one of them is damaged.
Result<std::vector<uint8_t>> mergeBundles(std::span<const Bundle> bundles);

} // namespace attune::bundle
