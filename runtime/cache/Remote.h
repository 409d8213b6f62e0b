// The shared tier: an ordinary HTTP store that the machines of a cluster read and, where they may,
// write. No server of ours: nginx, Apache's WebDAV, an S3-style bucket, a proxy in front of one.
//
//   GET URL/aa/DIGEST.kernel     200 and the bytes of an entry (EntryFile.h), or 404
//   PUT URL/aa/DIGEST.kernel     the same bytes; where the store wants folders, MKCOL URL/aa/ first
//
// `aa` are the digest's first two digits, so that no folder grows too large.
//
// What it promises: get() waits for its timeout at most, put() for nothing, the end of the object
// for one timeout. A store that fails several times in a row is left alone for a while: a dead one
// costs a process a few waits and not one per kernel.
// What it does not promise: that what it brings is right. Its caller checks the entry.
#pragma once
#include "runtime/cache/HttpClient.h"
#include "runtime/cache/Options.h"
#include <atomic>

namespace attune::cache {

enum class RemoteState {
  Answered, ///< there is a body
  Miss,     ///< the store does not have it
  Failed,   ///< no answer in time, or none that we know: `problem` says
  Off,      ///< not asked: it failed several times just before
};

struct RemoteReply {
  RemoteState state = RemoteState::Off;
  Bytes body;
  std::string problem;
};

/// Counts failures in a row. After so many it allows nothing for the length of a pause, then one
/// trial per pause until one succeeds.
class Breaker {
public:
  Breaker(int failures, std::chrono::milliseconds pause) : failures_(failures), pause_(pause) {}
  bool allows();
  void report(bool good);

private:
  const int failures_;
  const std::chrono::milliseconds pause_;
  std::mutex mutex_;
  int inRow_ = 0;
  HttpClock::time_point offUntil_;
};

class Remote {
public:
  /// Told how each put() ended, "" for well; `answered`: it is not that the store was out of reach.
  /// Called from another thread, and not after the end of the object.
  using PutReport = std::function<void(const std::string &problem, bool answered)>;

  Remote(const RemoteOptions &, PutReport);
  ~Remote();

  RemoteReply get(const std::string &digest);
  /// In the background. False: not even tried, because storing failed several times just before.
  bool put(const std::string &digest, Bytes entry);
  /// The URL of an entry, for messages.
  std::string nameOf(const std::string &digest) const;

private:
  struct Uploads;
  std::string urlOf(const std::string &digest) const;

  const RemoteOptions options_;
  Breaker reads_;
  std::shared_ptr<Uploads> uploads_; ///< shared with those under way
  HttpClient client_;
};

/// The largest entry that the shared tier carries. Much larger than any kernel, and small enough
/// that a store gone mad does not take a process down.
constexpr uint64_t mostRemoteBytes = uint64_t(64) << 20;

} // namespace attune::cache
