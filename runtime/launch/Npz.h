// Tensors in numpy's files: .npy (one array) and .npz (a zip of .npy members).
//
// A .npy file is a magic string, a version, the length of a header, the header (a Python dict
// literal with descr, fortran_order and shape) and the raw elements. A .npz is an ordinary zip,
// members stored or deflated; np.savez and np.savez_compressed write it, this writes it stored.
// Everything is little-endian.
//
// numpy has no bf16: it travels as uint16 ('<u2'), or as two raw bytes ('<V2'), which ml_dtypes
// writes. Arrays in Fortran order are read into row-major order. A malformed or hostile file is an
// Error that names file and fault.
#pragma once
#include "runtime/abi/Result.h"
#include "runtime/launch/File.h"
#include "runtime/launch/HostTensor.h"
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attune {

using TensorMap = std::map<std::string, HostTensor>;

/// `name` is used in errors only. The tensor is packed.
Result<HostTensor> parseNpy(std::span<const uint8_t> bytes, std::string_view name);
/// Any layout in; row-major bytes out.
Bytes formatNpy(const HostTensor &);

/// The members of a zip whose names end in .npy, without that ending. `name` is used in errors
/// only.
Result<TensorMap> parseNpz(std::span<const uint8_t> bytes, std::string_view name);
/// Same tensors, same bytes: members are sorted by name and carry no time.
Result<Bytes> formatNpz(const TensorMap &);

/// A .npz file, or a folder of .npy files.
Result<TensorMap> readTensors(const std::string &path);
Result<void> writeNpz(const std::string &path, const TensorMap &);

} // namespace attune
