// The right to build one kernel, among processes: whoever holds the key's lease builds, the others
// wait for its entry.
//
// A lease is a lock of one byte in the file `lock` of the cache directory, at an offset that the
// key's digest gives. The kernel owns such locks:
//   - they end with their process, however it ends, so there is nothing stale to break and no
//     process id to compare (ids mean nothing across containers, and clocks nothing across hosts);
//   - the file is never removed, so no two processes can hold "the same" lock on two files;
//   - NFS carries them between hosts.
// A lease saves work and guards nothing: entries are published by rename, so building twice is
// merely twice the work. That is why every doubt ends in building: no locks on this file system, a
// directory that cannot be written, a holder that takes longer than the wait limit.
//
// The file also holds notes (Notes.h). They name the holder in messages, and a waiter that gets the
// lease after its holder published, but does not see the entry yet (NFS caches directories), looks
// for it a little longer.
#pragma once
#include "runtime/cache/FileOps.h"
#include <chrono>
#include <functional>
#include <string>

namespace attune::cache {

enum class LeaseState {
  Held,     ///< this process builds
  Served,   ///< the work is done: `done` said so while waiting
  TimedOut, ///< the wait limit is over
  NoFile,   ///< the lock file cannot be opened: `problem` says why
  NoLocks,  ///< this file system has no locks: `problem` says why
};

class Lease {
public:
  Lease(const FileOps &ops, const std::string &directory, const std::string &digest);
  ~Lease(); ///< gives it back
  Lease(const Lease &) = delete;
  Lease &operator=(const Lease &) = delete;

  /// Waits, asking `done` in between. Sleeps between tries: waiters use no processor to speak of.
  LeaseState acquire(std::chrono::milliseconds limit, const std::function<bool()> &done);

  /// Whether another process held it while we waited and got as far as publishing.
  bool othersPublish() const { return othersPublish_; }
  /// Tells those who wait that the entry is about to appear, or that it is not after all.
  void publishing();
  void failed();

  const std::string &problem() const { return problem_; }
  std::string holder() const; ///< as its note says: "pid 12 on host a since ..."
  const std::string &path() const { return path_; }

private:
  int openFile();
  bool saysPublishing() const;

  const FileOps &ops_;
  std::string directory_, path_, digest_, problem_;
  Fd fd_;
  bool held_ = false, othersPublish_ = false;
};

} // namespace attune::cache
