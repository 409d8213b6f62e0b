// A compiled kernel on disk: NAME.hsaco, the code object, and NAME.json, its sidecar.
#pragma once
#include "runtime/abi/KernelImage.h"
#include "runtime/abi/Result.h"
#include <array>
#include <string>

namespace attune {

/// Code object and sidecar of a path that names either file, or neither ending.
std::array<std::string, 2> kernelFiles(const std::string &path);

/// `path` names either file, or neither ending; both files are meant.
Result<void> saveKernel(const std::string &path, const KernelImage &);
Result<KernelImage> loadKernel(const std::string &path);

} // namespace attune
