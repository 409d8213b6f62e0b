// Notes of an ELF file, read without loading it: a library's build id, and the text in which
// libattune-compiler says what it is made with.
#pragma once
#include "runtime/abi/Result.h"
#include <string>
#include <vector>

namespace attune {

struct ElfNote {
  std::string owner; ///< "GNU", "Attune"
  uint32_t type = 0;
  std::string content;
};

/// GNU's note that holds the build id.
constexpr uint32_t buildIdNote = 3;

/// All notes of a 64-bit little-endian ELF file. Errors: NotFound, Io.
Result<std::vector<ElfNote>> readElfNotes(const std::string &path);

/// The build id in hex. Errors: NotFound if there is none.
Result<std::string> readBuildId(const std::string &path);

} // namespace attune
