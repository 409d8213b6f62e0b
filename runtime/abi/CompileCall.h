// The call from the runtime to the compiler, as bytes: how it crosses from libattune to
// libattune-compiler, in this process or in a child.
//
//   request   JSON: the spec's text with what it was parsed with, the chip, the knobs
//   reply     a line of JSON (the sidecar and, where asked for, the listing; or the error), a
//             newline, the code object
//
// The compiler parses the text again. `specDigest` is that of the caller's parse: imports are
// files, and if one of them changed in between the compiler refuses, so that a kernel never gets
// the key of another text.
#pragma once
#include "runtime/abi/KernelImage.h"
#include "runtime/abi/Listing.h"
#include "runtime/abi/Result.h"
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attune {

struct CompileRequest {
  std::string text;
  std::string fileName;
  std::string attention;                                  ///< of the text; empty: the first
  std::map<std::string, std::string> parameters;          ///< of the spec
  std::string arch;                                       ///< "gfx950"
  std::vector<std::pair<std::string, std::string>> knobs; ///< override the spec's schedule
  std::string specDigest;
  bool listing = false; ///< asks for CompileReply::listing as well
};

struct CompileReply {
  KernelImage image;
  std::optional<Listing> listing;
};

std::string encodeRequest(const CompileRequest &);
/// Errors: InvalidArgument, what is wrong with the bytes.
Result<CompileRequest> decodeRequest(std::string_view);

std::string encodeReply(const Result<CompileReply> &);
/// The kernel or the compiler's error; Internal if the bytes are no reply.
Result<CompileReply> decodeReply(std::string_view);

} // namespace attune

extern "C" {
/// What libattune-compiler exports, by the name attune_compile_v1. Calls `reply` once, with bytes
/// that are valid during the call. Any thread, several at once.
typedef void (*attune_compile_function)(const char *request, size_t bytes,
                                        void (*reply)(void *context, const char *bytes,
                                                      size_t size),
                                        void *context);
}
