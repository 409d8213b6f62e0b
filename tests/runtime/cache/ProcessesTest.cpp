// Many processes on one directory, and processes that die: single flight, leases, crashes.
#include "tests/runtime/cache/Testing.h"
#include <catch2/catch.hpp>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace attune;
using namespace attune::cache;
using namespace attune::cache::testing;
using namespace std::chrono_literals;

namespace {

/// A pipe whose readers wait until the writer closes it.
struct Gate {
  int ends[2];
  Gate() { REQUIRE(pipe(ends) == 0); }
  void waitInChild() const {
    char byte;
    ::close(ends[1]);
    [[maybe_unused]] ssize_t end = ::read(ends[0], &byte, 1);
  }
  void open() const {
    ::close(ends[0]);
    ::close(ends[1]);
  }
};

/// Notes a build where other processes can count it.
void noteBuild(const std::string &log) {
  int fd = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  [[maybe_unused]] ssize_t done = ::write(fd, "b", 1);
  ::close(fd);
}

/// A child that calls for `name`, building slowly and noting it in `log`.
int buildOnce(const std::string &directory, const std::string &name, const std::string &log,
              std::chrono::milliseconds buildTime) {
  Cache cache(optionsFor(directory));
  auto kernel = cache.getOrBuild(keyOf(name), [&]() -> Result<KernelImage> {
    noteBuild(log);
    std::this_thread::sleep_for(buildTime);
    return imageOf(name);
  });
  return isImageOf(kernel, name) ? 0 : 1;
}

} // namespace

TEST_CASE("F56: 16 processes on an empty cache build once and leave one entry, 50 times") {
  TempDir dir;
  for (int round = 0; round < 50; ++round) {
    const std::string cacheDir = dir / fmt::format("{}/new", round);
    const std::string log = dir / fmt::format("log{}", round);
    Gate gate;
    std::vector<Child> children;
    for (int i = 0; i < 16; ++i)
      children.emplace_back([&] {
        gate.waitInChild();
        return buildOnce(cacheDir, "race", log, 2ms);
      });
    gate.open();
    int wrong = 0;
    for (Child &child : children)
      wrong += child.wait() != 0;
    CHECK(wrong == 0);
    CHECK(readText(log) == "b");
    CHECK(namesIn(cacheDir) ==
          std::vector<std::string>{keyOf("race").digest() + ".kernel", "lock"});
  }
}

TEST_CASE("F77: 8 ranks that start with 24 kernels build each of them once") {
  TempDir dir;
  const std::string log = dir / "log";
  Gate gate;
  std::vector<Child> ranks;
  for (int rank = 0; rank < 8; ++rank)
    ranks.emplace_back([&, rank] {
      gate.waitInChild();
      Cache cache(optionsFor(dir / "cache"));
      for (int i = 0; i < 24; ++i) { // each begins elsewhere, so that they spread
        const std::string name = fmt::format("kernel{}", (i + 3 * rank) % 24);
        auto kernel = cache.getOrBuild(keyOf(name), [&]() -> Result<KernelImage> {
          noteBuild(log);
          std::this_thread::sleep_for(5ms);
          return imageOf(name);
        });
        if (!isImageOf(kernel, name))
          return 1;
      }
      return 0;
    });
  gate.open();
  for (Child &rank : ranks)
    CHECK(rank.wait() == 0);
  CHECK(readText(log).size() == 24);
}

TEST_CASE("F58: a builder killed while it compiles holds nobody up") {
  TempDir dir;
  Child builder([&] { return buildOnce(dir.path(), "killed", dir / "first", 60s); });
  while (readText(dir / "first").empty())
    std::this_thread::sleep_for(1ms);
  std::vector<Child> others;
  for (int i = 0; i < 4; ++i)
    others.emplace_back([&] { return buildOnce(dir.path(), "killed", dir / "second", 2ms); });
  std::this_thread::sleep_for(30ms);
  CHECK(readText(dir / "second").empty()); // they wait for the living one
  builder.signal(SIGKILL);
  const auto killed = std::chrono::steady_clock::now();
  CHECK(builder.wait() == -SIGKILL);
  for (Child &child : others)
    CHECK(child.wait() == 0);
  CHECK(std::chrono::steady_clock::now() - killed < 5s);
  CHECK(readText(dir / "second") == "b");
}

TEST_CASE("F58: a builder that hangs is named, and waited for only so long, asleep") {
  TempDir dir;
  Child builder([&] { return buildOnce(dir.path(), "hung", dir / "log", 60s); });
  while (readText(dir / "log").empty())
    std::this_thread::sleep_for(1ms);
  builder.signal(SIGSTOP);

  std::vector<std::string> warnings;
  Options options = optionsFor(dir.path(), &warnings);
  options.waitLimit = 400ms;
  Cache cache(options);
  const std::clock_t before = std::clock();
  CHECK(isImageOf(cache.getOrBuild(keyOf("hung"), builderOf("hung")), "hung"));
  CHECK(double(std::clock() - before) / CLOCKS_PER_SEC < 0.1);
  CHECK(cache.counters().leaseTimeouts == 1);
  CHECK(cache.counters().published == 1);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find(fmt::format("pid {} on host ", builder.pid())) != std::string::npos);
  CHECK(warnings[0].find(dir / "lock") != std::string::npos);

  builder.signal(SIGKILL);
  builder.wait();
  Cache next(options); // what was published is whole
  CHECK(isImageOf(next.getOrBuild(keyOf("hung"), builderOf("hung")), "hung"));
  CHECK(next.counters().diskHits == 1);
}

TEST_CASE("F58: a process forked during a build does not keep the lease") {
  TempDir dir;
  std::optional<Child> bystander;
  Cache cache(optionsFor(dir.path()));
  auto failed = cache.getOrBuild(keyOf("forked"), [&]() -> Result<KernelImage> {
    bystander.emplace([] {
      std::this_thread::sleep_for(60s);
      return 0;
    });
    return Error{ErrorCode::Unsupported, "not today"};
  });
  CHECK_FALSE(failed);
  const auto start = std::chrono::steady_clock::now();
  Cache other(optionsFor(dir.path()));
  CHECK(isImageOf(other.getOrBuild(keyOf("forked"), builderOf("forked")), "forked"));
  CHECK(std::chrono::steady_clock::now() - start < 5s);
  bystander->signal(SIGKILL);
  bystander->wait();
}

TEST_CASE("F59: a dead holder's note with the id of a living process means nothing") {
  TempDir dir;
  const std::string digest = keyOf("note").digest();
  const size_t slot = std::stoul(digest.substr(14, 2), nullptr, 16) * 192;
  writeText(dir / "lock", std::string(slot, ' ') + fmt::format("{} pid {} on host here since now\n",
                                                               digest.substr(0, 16), getpid()));
  std::vector<std::string> warnings;
  Cache cache(optionsFor(dir.path(), &warnings));
  const auto start = std::chrono::steady_clock::now();
  CHECK(isImageOf(cache.getOrBuild(keyOf("note"), builderOf("note")), "note"));
  CHECK(std::chrono::steady_clock::now() - start < 5s);
  CHECK(warnings.empty());
}

TEST_CASE("F59: a holder killed in one container frees the waiter with its process id in another") {
  TempDir dir;
  auto inContainer = [&](const char *log, std::chrono::milliseconds buildTime) {
    return Child([&dir, log, buildTime] {
      if (unshare(CLONE_NEWPID) != 0)
        return skipped;
      Child first([&] {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        return getpid() == 1 ? buildOnce(dir.path(), "contained", dir / log, buildTime) : 98;
      });
      return first.wait();
    });
  };
  Child holder = inContainer("first", 60s);
  while (readText(dir / "first").empty())
    if (waitpid(holder.pid(), nullptr, WNOHANG) != 0) {
      WARN("skipped: this process may not make process namespaces");
      return;
    } else
      std::this_thread::sleep_for(1ms);
  Child waiter = inContainer("second", 2ms);
  std::this_thread::sleep_for(50ms);
  CHECK(readText(dir / "second").empty());
  holder.signal(SIGKILL);
  CHECK(holder.wait() == -SIGKILL);
  CHECK(waiter.wait() == 0);
  CHECK(readText(dir / "second") == "b");
}

TEST_CASE("F60: killed at any step, the next run is right and nothing unfinished counts") {
  constexpr size_t codeBytes = 500'000; // several writes
  auto build = [] { return Result<KernelImage>(imageOf("step", codeBytes)); };
  int points = 0;
  for (bool killed = true; killed; ++points) {
    TempDir dir;
    const std::string cacheDir = dir / "a/b";
    Child victim([&] {
      int step = 0;
      Options options = optionsFor(cacheDir);
      options.fileHook = [&](FileOp, const std::string &) {
        if (step++ == points)
          raise(SIGKILL);
        return 0;
      };
      Cache cache(options);
      return isImageOf(cache.getOrBuild(keyOf("step"), build), "step", codeBytes) ? 0 : 1;
    });
    const int end = victim.wait();
    INFO("step " << points);
    killed = end == -SIGKILL;
    CHECK((killed || end == 0));

    auto entries = Directory(cacheDir, FileOps()).verify();
    REQUIRE(entries);
    for (const EntryInfo &info : *entries)
      CHECK(info.entry.state == EntryState::Good);
    Cache cache(optionsFor(cacheDir));
    CHECK(isImageOf(cache.getOrBuild(keyOf("step"), build), "step", codeBytes));
    CHECK(cache.counters().builds == (entries->empty() ? 1 : 0));
    REQUIRE(cache.directory()->collect(uint64_t(1) << 30, 0s));
    CHECK(namesIn(cacheDir) ==
          std::vector<std::string>{keyOf("step").digest() + ".kernel", "lock"});
  }
  CHECK(points >= 20);
}

TEST_CASE("F65: clearing in a loop beside 4 users costs them compiles only") {
  const bool wipe = GENERATE(false, true); // `attune cache clear`, or rm -rf
  TempDir dir;
  const std::string cacheDir = dir / "shared";
  std::vector<Child> users;
  for (int i = 0; i < 4; ++i)
    users.emplace_back([&] {
      for (int round = 0; round < 60; ++round) {
        const std::string name = fmt::format("user{}", round % 5);
        std::vector<std::string> warnings;
        Cache cache(optionsFor(cacheDir, &warnings));
        if (!isImageOf(cache.getOrBuild(keyOf(name), builderOf(name)), name))
          return 1;
        if (!wipe && !warnings.empty())
          return 2;
      }
      return 0;
    });
  std::atomic<bool> stop = false;
  std::atomic<int> clears = 0;
  std::thread cleaner([&] {
    while (!stop) {
      std::error_code failed;
      if (wipe)
        std::filesystem::remove_all(cacheDir, failed);
      else if (!Directory(cacheDir, FileOps()).clear())
        break;
      ++clears;
      std::this_thread::sleep_for(1ms);
    }
  });
  for (Child &user : users)
    CHECK(user.wait() == 0);
  const bool loopHeld = !stop.exchange(true);
  cleaner.join();
  CHECK(loopHeld);
  CHECK(clears > 5);
  CHECK(temporariesIn(cacheDir).empty());
}
