// The key of a compiled kernel: the list of everything its bytes depend on.
//
// A key is a list of named values, sorted by name, each with its length, below a line with the
// version of the list:
//
//   attune-key 1
//   arch 6:gfx950
//   plan 18:kv_tile=64 waves=4
//   spec 23:attention causal {...}
//
// The length in front of a value delimits it, so that no two lists read alike (a=bc is not ab=c);
// the name of a kernel's file is the SHA-256 of this text. An entry stores the text as well and a
// load compares it, so a file under the wrong name is never launched.
//
// Whoever builds the key answers for its completeness: what changes the code and is not in the list
// is a wrong hit later. Paths, host names and times do not belong in it: the cache must be of use
// on another machine.
#pragma once
#include "runtime/abi/Result.h"
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attune::cache {

class Key {
public:
  const std::string &text() const { return text_; }
  const std::string &digest() const { return digest_; } ///< 64 hex digits
  /// What people call the kernel, and the command that puts it into a cache: for messages only.
  const std::string &label() const { return label_; }
  const std::string &command() const { return command_; }

private:
  friend class KeyBuilder;
  std::string text_, digest_, label_, command_;
};

class KeyBuilder {
public:
  /// Names are lower-case words: letters, digits, '_', '.' and '-'. Values are any bytes.
  KeyBuilder &add(std::string name, std::string value);
  KeyBuilder &label(std::string text);
  KeyBuilder &command(std::string text);
  /// Refuses an empty list, a bad name and a name given twice.
  Result<Key> build() const;

private:
  std::vector<std::pair<std::string, std::string>> fields_;
  std::string label_, command_;
};

using KeyFields = std::vector<std::pair<std::string, std::string>>;

/// The fields of a key's text. Errors: Io, the text is no key of this version.
Result<KeyFields> parseKey(std::string_view text);

/// The names of the fields in which two keys differ.
std::vector<std::string> differingFields(const KeyFields &a, const KeyFields &b);

} // namespace attune::cache
