// Files that are damaged, disks that are full, directories that cannot be written, network file
// systems that hesitate.
#include "runtime/abi/Digest.h"
#include "tests/runtime/cache/Testing.h"
#include <catch2/catch.hpp>
#include <cerrno>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <set>
#include <sys/mount.h>
#include <thread>
#include <unistd.h>

using namespace attune;
using namespace attune::cache;
using namespace attune::cache::testing;
using namespace std::chrono_literals;

namespace fs = std::filesystem;

namespace {

struct Outcome {
  bool right;
  Counters counters;
  std::vector<std::string> warnings;
};

/// One call for `name` by a process that has just started.
Outcome callOnce(const std::string &directory, const std::string &name, const FileHook &hook = {}) {
  Outcome outcome;
  Options options = optionsFor(directory, &outcome.warnings);
  options.fileHook = hook;
  Cache cache(options);
  outcome.right = isImageOf(cache.getOrBuild(keyOf(name), builderOf(name)), name);
  outcome.counters = cache.counters();
  return outcome;
}

/// The entry with a digest that fits its (changed) bytes.
std::string signedAgain(std::string entry) {
  entry.resize(entry.size() - 64);
  return entry + sha256Hex(entry);
}

std::string withFlippedBit(std::string entry, size_t at) {
  entry[at] = char(entry[at] ^ 0x10);
  return entry;
}

} // namespace

TEST_CASE("F61: a damaged entry is a counted miss, rebuilt, warned of once, never handed out") {
  TempDir dir;
  REQUIRE(callOnce(dir.path(), "other").right);
  REQUIRE(callOnce(dir.path(), "broken").right);
  const std::string path = entryIn(dir.path(), "broken"), good = readText(path);
  const size_t sidecarAt = good.find("{"), size = good.size();
  std::string garbage = good;
  garbage.replace(sidecarAt + 1, 8, "garbage!");

  std::map<std::string, std::string> damages = {
      {"empty", ""},
      {"cut at half", good.substr(0, size / 2)},
      {"cut by a byte", good.substr(0, size - 1)},
      {"a byte more", good + "x"},
      {"another kernel's file", readText(entryIn(dir.path(), "other"))},
      {"metadata garbage", garbage},
      {"metadata garbage, signed", signedAgain(garbage)},
      {"another format, signed", signedAgain(withFlippedBit(good, 8))},
      {"zeros", std::string(size, '\0')},
      {"lengths beyond the file", withFlippedBit(good, 31)},
  };
  for (size_t at : {size_t(0), size_t(13), size_t(40), sidecarAt + 5, size - 1000, size - 10})
    damages[fmt::format("bit flipped at {}", at)] = withFlippedBit(good, at);
  for (const auto &[what, bytes] : damages) {
    INFO(what);
    writeText(path, bytes);
    Outcome first = callOnce(dir.path(), "broken");
    CHECK(first.right);
    CHECK(first.counters.builds == 1);
    CHECK(first.counters.corrupt + first.counters.foreign == 1);
    REQUIRE(first.warnings.size() == 1);
    CHECK(first.warnings[0].find(path) != std::string::npos);
    Outcome second = callOnce(dir.path(), "broken");
    CHECK(second.right);
    CHECK(second.counters.diskHits == 1);
    CHECK(second.warnings.empty());
  }
}

TEST_CASE("F61: what is no file in an entry's place is moved out of the way") {
  TempDir dir;
  const std::string path = entryIn(dir.path(), "place");
  fs::create_directories(dir.path());
  SECTION("a directory") {
    fs::create_directories(path + "/inside");
    writeText(path + "/inside/file", "text");
  }
  SECTION("a pipe") { REQUIRE(mkfifo(path.c_str(), 0666) == 0); }
  SECTION("a file larger than any entry") {
    writeText(path, "");
    fs::resize_file(path, uint64_t(1) << 33);
  }
  SECTION("a link to nowhere") { fs::create_symlink("/nowhere/at/all", path); }
  SECTION("a link to itself") { fs::create_symlink(path, path); }
  CHECK(callOnce(dir.path(), "place").right);
  Outcome second = callOnce(dir.path(), "place");
  CHECK(second.right);
  CHECK(second.counters.diskHits == 1);
  REQUIRE(Directory(dir.path(), FileOps()).collect(uint64_t(1) << 30, 0s));
  CHECK(namesIn(dir.path()) ==
        std::vector<std::string>{keyOf("place").digest() + ".kernel", "lock"});
}

TEST_CASE("F57: busy and stale answers are tried again") {
  for (FileOp op : {FileOp::Open, FileOp::Read, FileOp::Write, FileOp::Sync, FileOp::Rename,
                    FileOp::Lock, FileOp::MakeDir})
    for (int error : {EBUSY, ESTALE, EINTR, ENOLCK}) {
      TempDir dir;
      std::set<std::string> failed; // each path once
      Outcome outcome = callOnce(dir / "new", "nfs", [&](FileOp now, const std::string &path) {
        return now == op && failed.insert(path).second ? error : 0;
      });
      INFO("operation " << int(op) << " error " << error);
      CHECK(outcome.right);
      CHECK((op == FileOp::Read || !failed.empty()));
      CHECK(outcome.warnings.empty());
      CHECK(outcome.counters.published == 1);
      CHECK(callOnce(dir / "new", "nfs").counters.diskHits == 1);
    }
}

TEST_CASE("F57: without locks every process builds for itself, and still publishes") {
  TempDir dir;
  std::vector<std::string> warnings;
  Options options = optionsFor(dir.path(), &warnings);
  int tries = 0;
  options.fileHook = [&](FileOp op, const std::string &) {
    tries += op == FileOp::Lock;
    return op == FileOp::Lock ? ENOLCK : 0;
  };
  Cache cache(options);
  CHECK(isImageOf(cache.getOrBuild(keyOf("nolock"), builderOf("nolock")), "nolock"));
  const int triesOfFirst = tries;
  CHECK(triesOfFirst > 1);
  CHECK(isImageOf(cache.getOrBuild(keyOf("second"), builderOf("second")), "second"));
  CHECK(tries == triesOfFirst); // known by now
  CHECK(cache.counters().published == 2);
  CHECK(warnings.size() == 1);
  CHECK(callOnce(dir.path(), "nolock").counters.diskHits == 1);
}

TEST_CASE("F57: an entry that its builder published is looked for until compiling is as fast") {
  const bool appears = GENERATE(true, false);
  TempDir dir;
  std::atomic<bool> building = false;
  std::thread builder([&] {
    Cache cache(optionsFor(dir.path()));
    (void)cache.getOrBuild(keyOf("late"), [&]() -> Result<KernelImage> {
      building = true;
      std::this_thread::sleep_for(100ms);
      return imageOf("late");
    });
  });
  while (!building)
    std::this_thread::sleep_for(1ms);
  int looks = 0; // the waiter has the lease once it lists the directory
  Outcome outcome = callOnce(dir.path(), "late", [&](FileOp op, const std::string &path) {
    looks += op == FileOp::List;
    const bool hidden = !appears || looks < 3;
    return op == FileOp::Open && path.ends_with(".kernel") && hidden ? ENOENT : 0;
  });
  builder.join();
  CHECK(looks >= 3);
  CHECK(outcome.right);
  CHECK(outcome.counters.builds == (appears ? 0 : 1));
  CHECK(outcome.counters.served == (appears ? 1 : 0));
  CHECK(outcome.warnings.empty());
}

TEST_CASE("F60, F64: a call succeeds whichever file operation fails, and nothing partial stays") {
  for (int error : {ENOSPC, EIO, EACCES, EROFS, EDQUOT, ENOENT}) {
    bool failed = true;
    for (int point = 0; failed; ++point) {
      TempDir dir;
      const std::string cacheDir = dir / "a";
      REQUIRE(callOnce(cacheDir, "before").right);
      int step = 0;
      failed = false;
      FileOp op{};
      Outcome outcome = callOnce(cacheDir, "fails", [&](FileOp now, const std::string &) {
        if (step++ != point)
          return 0;
        failed = true;
        op = now;
        return error;
      });
      INFO("error " << error << " at step " << point << ", operation " << int(op));
      CHECK(outcome.right);
      CHECK(outcome.warnings.size() <= 1);
      CHECK(temporariesIn(cacheDir).empty());
      auto entries = Directory(cacheDir, FileOps()).verify();
      REQUIRE(entries);
      for (const EntryInfo &info : *entries)
        CHECK(info.entry.state == EntryState::Good);
    }
  }
}

TEST_CASE("F62: a cache that cannot be written warns once and is still read") {
  TempDir dir;
  const std::string cacheDir = dir / "cache";
  REQUIRE(callOnce(cacheDir, "hit").right);
  Child user([&] {
    fs::permissions(dir.path(), fs::perms(0755));
    fs::permissions(cacheDir, fs::perms(0555));
    if (geteuid() == 0 && (setgid(12345) != 0 || setuid(12345) != 0))
      return skipped;
    Outcome hit = callOnce(cacheDir, "hit");
    if (!hit.right || hit.counters.diskHits != 1 || !hit.warnings.empty())
      return 1;
    Outcome miss = callOnce(cacheDir, "miss");
    return miss.right && miss.counters.unpublished == 1 && miss.warnings.size() == 1 ? 0 : 2;
  });
  const int end = user.wait();
  if (end == skipped)
    WARN("skipped: this process may not become another user");
  else
    CHECK(end == 0);
}

TEST_CASE("F62: a directory that is a file, and one that cannot be made") {
  TempDir dir;
  writeText(dir / "file", "not a directory");
  for (const std::string &path : {dir / "file", dir / "file/below", std::string("/proc/none")}) {
    Outcome outcome = callOnce(path, "nowhere");
    INFO(path);
    CHECK(outcome.right);
    REQUIRE(outcome.warnings.size() == 1);
    CHECK(outcome.warnings[0].find(path.substr(0, 5)) != std::string::npos);
  }
  CHECK(readText(dir / "file") == "not a directory");
}

TEST_CASE("F62: a read-only mount serves hits and builds misses") {
  TempDir dir;
  Child child([&] {
    const std::string cacheDir = dir / "mount";
    fs::create_directories(cacheDir);
    if (!mountTmpfs(cacheDir, "size=8m"))
      return skipped;
    if (!callOnce(cacheDir, "hit").right)
      return 1;
    if (mount("tmpfs", cacheDir.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0)
      return skipped;
    Outcome hit = callOnce(cacheDir, "hit"), miss = callOnce(cacheDir, "miss");
    if (!hit.right || hit.counters.diskHits != 1 || !hit.warnings.empty())
      return 2;
    return miss.right && miss.warnings.size() == 1 ? 0 : 3;
  });
  const int end = child.wait();
  if (end == skipped)
    WARN("skipped: this process may not mount");
  else
    CHECK(end == 0);
}

TEST_CASE("F64: a 4 MiB disk fills up; every call is right and no part of an entry stays") {
  TempDir dir;
  Child child([&] {
    const std::string cacheDir = dir / "small";
    fs::create_directories(cacheDir);
    if (!mountTmpfs(cacheDir, "size=4m"))
      return skipped;
    std::vector<std::string> warnings;
    Cache cache(optionsFor(cacheDir, &warnings));
    for (int i = 0; i < 50; ++i) {
      const std::string name = fmt::format("kernel{}", i);
      auto build = [&] { return Result<KernelImage>(imageOf(name, 200'000)); };
      if (!isImageOf(cache.getOrBuild(keyOf(name), build), name, 200'000))
        return 1;
    }
    auto entries = cache.directory()->verify();
    for (const EntryInfo &info : *entries)
      if (info.entry.state != EntryState::Good)
        return 2;
    const Counters counters = cache.counters();
    if (entries->size() != counters.published || counters.published + counters.unpublished != 50)
      return 3;
    return counters.published >= 15 && counters.unpublished >= 25 && warnings.size() == 1 &&
                   temporariesIn(cacheDir).empty()
               ? 0
               : 4;
  });
  const int end = child.wait();
  if (end == skipped)
    WARN("skipped: this process may not mount a tmpfs");
  else
    CHECK(end == 0);
}
