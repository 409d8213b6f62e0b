// Slots of text at fixed places of a file.
#include "runtime/cache/Notes.h"
#include <ctime>
#include <fmt/format.h>
#include <unistd.h>

namespace attune::cache {

namespace {

constexpr size_t slots = 256, slotBytes = 192, tagDigits = 16;

off_t slotOffset(const std::string &digest) {
  return off_t(std::stoull(digest.substr(0, tagDigits), nullptr, 16) % slots * slotBytes);
}

} // namespace

std::string lockPath(const std::string &directory) { return directory + "/lock"; }

std::string readNote(const Fd &fd, const std::string &digest) {
  char slot[slotBytes] = "";
  ssize_t got = pread(fd.get(), slot, slotBytes, slotOffset(digest));
  std::string_view text(slot, got > 0 ? size_t(got) : 0);
  text = text.substr(0, text.find('\n'));
  if (text.size() <= tagDigits || text.substr(0, tagDigits) != digest.substr(0, tagDigits))
    return "";
  return std::string(text.substr(tagDigits + 1));
}

void writeNote(const Fd &fd, const std::string &digest, std::string_view text) {
  std::string slot = fmt::format("{} {}\n", digest.substr(0, tagDigits), text);
  slot.resize(slotBytes, ' ');
  [[maybe_unused]] ssize_t written = pwrite(fd.get(), slot.data(), slot.size(), slotOffset(digest));
}

std::string whoAndWhen() {
  char host[256] = "unknown";
  gethostname(host, sizeof(host) - 1);
  char when[32] = "";
  std::time_t now = std::time(nullptr);
  std::tm utc{};
  if (gmtime_r(&now, &utc))
    std::strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return fmt::format("pid {} on host {} since {}", getpid(), std::string_view(host).substr(0, 64),
                     when);
}

} // namespace attune::cache
