// A bundle as part of a program: a C array, or an object file to link.
//
// Both define the same two symbols, so that a program can change from one to the other:
//   extern const unsigned char NAME[];
//   extern const unsigned long long NAME_size;
//
// The object file is written here and not by `ld -r -b binary`: that needs a linker where bundles
// are built, puts the bytes into writable .data with no alignment, names the symbols by the file's
// path, and leaves out the note without which a program gets an executable stack.
#pragma once
#include "runtime/abi/Result.h"
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attune::bundle {

/// The machines that object files can be made for: "x86_64", "aarch64".
Result<std::vector<uint8_t>> embedAsObject(std::span<const uint8_t> bundle, std::string_view symbol,
                                           std::string_view machine);

Result<std::string> embedAsC(std::span<const uint8_t> bundle, std::string_view symbol);

/// What this machine is called; empty if object files for it cannot be made.
std::string_view hostMachine();

} // namespace attune::bundle
