// A launch file: everything about one launch of one kernel that is not in its code object, as JSON.
//
//   { "kernel": "vadd", "grid": [4, 1, 1], "block": [256, 1, 1], "dynamic_lds": 0,
//     "args": [ {"kind": "buffer", "file": "a.npy"},
//               {"kind": "buffer", "size": 4096, "fill": 0, "out": "c.npy",
//                "dtype": "f32", "shape": [1024]},
//               {"kind": "i32", "value": 1000} ] }
//
// This header is that file as plain data, with every argument placed in the kernarg segment;
// Exec.h runs it. docs/exec.md is the reference. Nothing is ignored: an unknown or a repeated key
// is an error, and an error names the JSON path, the limit and what would be right.
#pragma once
#include "runtime/abi/DType.h"
#include "runtime/abi/Result.h"
#include "runtime/launch/HostTensor.h"
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attune::exec {

enum class ArgKind : uint8_t {
#define ARG_KIND(ENUM, NAME, BYTES) ENUM,
#include "runtime/exec/ArgKinds.def"
};

std::string_view nameOf(ArgKind);

/// A file to write after the launch, from the byte that the argument points to.
struct OutputSpec {
  std::string path; ///< .npy, or raw bytes under any other ending
  std::optional<DType> dtype;
  std::optional<Shape> shape;
};

/// What a buffer argument points to.
struct BufferSpec {
  std::string file;             ///< first contents: .npy (its elements) or raw; empty: none
  uint64_t bytes = 0;           ///< 0: as long as the file
  std::vector<uint8_t> fill;    ///< repeated over the whole buffer; empty: uninitialised
  std::optional<uint64_t> base; ///< where the buffer must lie
  std::optional<size_t> sameAs; ///< the argument that owns the buffer
  uint64_t at = 0;              ///< the kernel's pointer is this many bytes into the buffer
  std::optional<OutputSpec> out;
};

struct Arg {
  ArgKind kind = ArgKind::Buffer;
  std::string name;           ///< may be empty
  uint32_t offset = 0;        ///< in the kernarg segment
  std::vector<uint8_t> value; ///< its bytes there; a buffer's are eight, known at launch
  BufferSpec buffer;
};

struct LaunchFile {
  std::string path;   ///< for errors
  std::string folder; ///< that relative paths start from
  std::string kernel; ///< empty: the only one of the code object
  std::array<uint32_t, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  uint32_t dynamicLds = 0;
  std::vector<Arg> args;

  /// "FILE: args[2].KEY: WHAT"
  Error error(size_t arg, std::string_view key, std::string_view what,
              ErrorCode code = ErrorCode::InvalidArgument) const;
  std::string resolved(const std::string &file) const;
};

/// `path` is used in errors, and its folder for relative paths.
Result<LaunchFile> parseLaunch(std::string_view text, const std::string &path);
Result<LaunchFile> readLaunch(const std::string &path);

} // namespace attune::exec
