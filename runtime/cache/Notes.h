// Notes about keys, in the file that leases lock: a fixed number of slots of text that say who
// builds what since when, or that it is being published.
//
// They serve messages, and one decision of Lease.h; nothing breaks when they are missing (a full
// disk), torn or overwritten by another key that shares the slot: each slot begins with digits of
// its key's digest, and whoever reads for another key sees none.
#pragma once
#include "runtime/cache/FileOps.h"
#include <string>
#include <string_view>

namespace attune::cache {

/// The file of notes and leases in a cache directory.
std::string lockPath(const std::string &directory);

/// What a builder writes before it publishes: the entry is there, or will be in a moment, unless
/// the builder died right then. Before and not after, so that a removal cannot come in between.
constexpr std::string_view publishingNote = "publishing";

std::string readNote(const Fd &, const std::string &digest); ///< "": none
void writeNote(const Fd &, const std::string &digest, std::string_view text);

/// "pid 12 on host a since 2026-01-31T12:00:00Z": this process, now.
std::string whoAndWhen();

} // namespace attune::cache
