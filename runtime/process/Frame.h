// What travels between a process and its child: frames, eight bytes of length and then that many
// bytes, in both directions. So a child that dies in the middle of an answer cannot pass for one
// that has finished, whatever its exit status says or whoever has taken that.
//
// These are the child's half, which waits; Child.h is the parent's, which does not.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace attune {

/// More is no frame but something that was printed among them.
constexpr uint64_t mostFrameBytes = uint64_t(1) << 32;

std::string frameHead(uint64_t bytes);

/// False: the other side is gone. SIGPIPE must be ignored.
bool sendFrame(int file, std::string_view bytes);
/// Nothing: the other side is gone, or what it sends is no frame.
std::optional<std::string> receiveFrame(int file);

/// The main loop of a worker: answers each request on standard input, until there are no more. What
/// the program prints on standard output meanwhile goes to stderr.
void serveFrames(const std::function<std::string(std::string_view request)> &answer);

} // namespace attune
