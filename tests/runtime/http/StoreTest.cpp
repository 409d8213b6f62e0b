// What the shared tier asks and stores, when, on which thread, and what it waits for.
#include "runtime/cache/Remote.h"
#include "tests/runtime/http/Sharing.h"
#include <atomic>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <filesystem>
#include <fmt/format.h>
#include <glob.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

using namespace attune;
using namespace attune::cache;
using namespace attune::cache::testing;
using namespace std::chrono_literals;

// The thread sanitizer does not like processes that were forked beside threads to start their own,
// which is what one test is about.
extern "C" const char *__tsan_default_options();
extern "C" const char *__tsan_default_options() { return "die_after_fork=0"; }

namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::string> methodsOf(const RawServer &server) {
  std::vector<std::string> methods;
  for (const SeenRequest &request : server.requests())
    methods.push_back(request.method);
  return methods;
}

void answerOnlyReads(int connection, const SeenRequest &request) {
  if (request.method == "GET")
    reply(connection, 404);
  else
    hang(connection);
}

size_t threadsHere() {
  return size_t(std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

} // namespace

TEST_CASE("An object store: 20 kernels arrive before the cache is gone, and serve the next") {
  std::map<std::string, std::string> objects;
  std::mutex mutex;
  RawServer server(objectStore(objects, mutex));
  TempDir a, b;
  {
    Cache cache(sharing(a.path(), server.url() + "/bucket"));
    for (int i = 0; i < 20; ++i) {
      const std::string name = fmt::format("kernel{}", i);
      CHECK(isImageOf(cache.getOrBuild(keyOf(name), builderOf(name)), name));
    }
  }
  CHECK(objects.size() == 20);
  const std::string digest = keyOf("kernel7").digest();
  CHECK(objects[fmt::format("/bucket/{}/{}.kernel", digest.substr(0, 2), digest)] ==
        readText(entryIn(a.path(), "kernel7")));
  Cache cache(sharing(b.path(), server.url() + "/bucket"));
  for (int i = 0; i < 20; ++i) {
    const std::string name = fmt::format("kernel{}", i);
    CHECK(isImageOf(cache.getOrBuild(keyOf(name), builderOf(name)), name));
  }
  CHECK(cache.counters().remoteHits == 20);
  CHECK(cache.counters().builds == 0);
}

TEST_CASE("Storing makes nobody wait, and the end of a cache waits for one timeout") {
  RawServer server(answerOnlyReads);
  TempDir dir;
  auto cache = std::make_unique<Cache>(sharing(dir.path(), server.url(), true, nullptr, timeout));
  for (const char *name : {"1", "2", "3", "4", "5", "6"}) {
    const auto start = Clock::now();
    CHECK(isImageOf(cache->getOrBuild(keyOf(name), builderOf(name)), name));
    CHECK(Clock::now() - start < timeout + slack);
  }
  const auto start = Clock::now();
  cache.reset();
  CHECK(Clock::now() - start >= timeout);
  CHECK(Clock::now() - start < timeout + slack);
}

TEST_CASE("A store that wants folders gets them, once") {
  for (bool folderCanBeMade : {true, false}) {
    std::atomic<int> folders = 0;
    RawServer server([&](int c, const SeenRequest &request) {
      if (request.method == "MKCOL")
        ++folders, reply(c, folderCanBeMade ? 201 : 405);
      else if (request.method == "PUT")
        reply(c, folders > 0 && folderCanBeMade ? 201 : 409);
      else
        reply(c, 404);
    });
    TempDir dir;
    std::vector<std::string> warnings;
    {
      Cache cache(sharing(dir.path(), server.url(), true, &warnings));
      CHECK(isImageOf(cache.getOrBuild(keyOf("x"), builderOf("x")), "x"));
    }
    CHECK(methodsOf(server) == std::vector<std::string>{"GET", "PUT", "MKCOL", "PUT"});
    const SeenRequest folder = server.requests()[2], last = server.requests()[3];
    CHECK(folder.path == "/" + keyOf("x").digest().substr(0, 2) + "/");
    CHECK(last.body == readText(entryIn(dir.path(), "x")));
    CHECK(warnings.size() == (folderCanBeMade ? 0 : 1));
  }
}

TEST_CASE("After three failures a store is left alone, tried once per pause, and used again") {
  std::atomic<bool> works = false;
  RawServer server([&](int c, const SeenRequest &) { reply(c, works ? 404 : 500); });
  TempDir dir;
  std::vector<std::string> warnings;
  Options options = sharing(dir.path(), server.url(), false, &warnings);
  options.remote.pause = 500ms;
  Cache cache(options);
  int next = 0;
  auto call = [&] {
    const std::string name = fmt::format("kernel{}", next++);
    CHECK(isImageOf(cache.getOrBuild(keyOf(name), builderOf(name)), name));
  };
  for (int i = 0; i < 3; ++i)
    call();
  CHECK(cache.counters().remoteErrors == 3);
  std::this_thread::sleep_for(600ms);
  call(); // the trial of this pause; it fails
  CHECK(cache.counters().remoteErrors == 4);
  works = true;
  std::this_thread::sleep_for(600ms);
  for (int i = 0; i < 3; ++i)
    call();
  CHECK(cache.counters().remoteMisses == 3);
  CHECK(cache.counters().remoteErrors == 4);
  CHECK(warnings.size() == 1);
}

TEST_CASE("A breaker allows one trial per pause, also to many at once") {
  Breaker breaker(2, 50ms);
  CHECK(breaker.allows());
  breaker.report(false);
  CHECK(breaker.allows());
  breaker.report(true); // not in a row
  breaker.report(false);
  CHECK(breaker.allows());
  breaker.report(false);
  CHECK_FALSE(breaker.allows());
  std::this_thread::sleep_for(60ms);
  std::atomic<int> allowed = 0;
  Breaker patientOne(1, 1h);
  patientOne.report(false);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] { allowed += breaker.allows() + patientOne.allows(); });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(allowed >= 1); // more only if the machine stood still for a pause
  CHECK(allowed < 8);
}

TEST_CASE("Many threads wait for a silent store at the same time, not in turn") {
  RawServer server([](int c, const SeenRequest &) { hang(c); });
  TempDir dir;
  Cache cache(sharing(dir.path(), server.url(), false, nullptr, timeout));
  const auto start = Clock::now();
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 16; ++i)
    threads.emplace_back([&, i] {
      const std::string name = fmt::format("kernel{}", i);
      right += isImageOf(cache.getOrBuild(keyOf(name), builderOf(name)), name);
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(right == 16);
  CHECK(Clock::now() - start < timeout + slack);
}

TEST_CASE("Threads, and processes on one directory, ask for a kernel once") {
  RawServer server([](int c, const SeenRequest &) {
    std::this_thread::sleep_for(100ms);
    reply(c, 404);
  });
  TempDir dir;
  std::vector<Child> children;
  for (int i = 0; i < 8; ++i)
    children.emplace_back([&] {
      Cache cache(sharing(dir.path(), server.url(), false));
      return isImageOf(cache.getOrBuild(keyOf("x"), builderOf("x")), "x") ? 0 : 1;
    });
  for (Child &child : children)
    CHECK(child.wait() == 0);
  CHECK(server.requests().size() == 1);

  Cache cache(sharing(dir.path(), server.url(), false));
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back(
        [&] { right += isImageOf(cache.getOrBuild(keyOf("y"), builderOf("y")), "y"); });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(right == 8);
  CHECK(server.requests().size() == 2);
}

TEST_CASE("A call is bounded even while the thread that talks to the network is stuck") {
  RawServer server(
      [](int c, const SeenRequest &request) { reply(c, request.method == "GET" ? 404 : 403); });
  std::mutex mutex;
  std::condition_variable changed;
  bool stuck = false, free = false;
  TempDir dir;
  Options options = sharing(dir.path(), server.url(), true, nullptr, timeout);
  options.warn = [&](const std::string &text) { // of the upload: the network's thread tells it
    if (text.find("not shared") == std::string::npos)
      return;
    std::unique_lock lock(mutex);
    stuck = true;
    changed.notify_all();
    changed.wait(lock, [&] { return free; });
  };
  Cache cache(options);
  CHECK(isImageOf(cache.getOrBuild(keyOf("1"), builderOf("1")), "1"));
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return stuck; });
  lock.unlock();
  const auto start = Clock::now();
  CHECK(isImageOf(cache.getOrBuild(keyOf("2"), builderOf("2")), "2"));
  CHECK(Clock::now() - start >= timeout);
  CHECK(Clock::now() - start < timeout + slack);
  CHECK(cache.counters().remoteErrors >= 2);
  lock.lock();
  free = true;
  changed.notify_all();
}

TEST_CASE("A forked process uses the store with a thread of its own, and ends") {
  std::map<std::string, std::string> objects;
  std::mutex mutex;
  RawServer server(objectStore(objects, mutex));
  TempDir dir;
  Cache cache(sharing(dir.path(), server.url()));
  CHECK(isImageOf(cache.getOrBuild(keyOf("parent"), builderOf("parent")), "parent"));
  {
    Child child([&] {
      const bool right = isImageOf(cache.getOrBuild(keyOf("child"), builderOf("child")), "child") &&
                         cache.counters().remoteErrors == 0;
      while (cache.counters().remotePuts < 1 && cache.counters().remoteErrors == 0)
        std::this_thread::sleep_for(1ms);
      return right && cache.counters().remoteErrors == 0 ? 0 : 1;
    });
    CHECK(child.wait() == 0);
  }
  CHECK(isImageOf(cache.getOrBuild(keyOf("after"), builderOf("after")), "after"));
  CHECK(cache.counters().remoteErrors == 0);
}

TEST_CASE("The thread goes when it has had nothing to do, and comes again") {
  RawServer server([](int c, const SeenRequest &) { reply(c, 404); });
  TempDir dir;
  Cache cache(sharing(dir.path(), server.url(), false));
  const size_t before = threadsHere();
  auto settle = [&] { // the server's threads of requests go, too
    const auto start = Clock::now();
    while (threadsHere() > before && Clock::now() - start < patient)
      std::this_thread::sleep_for(20ms);
  };
  CHECK(isImageOf(cache.getOrBuild(keyOf("1"), builderOf("1")), "1"));
  CHECK(threadsHere() > before);
  settle();
  CHECK(threadsHere() == before);
  CHECK(isImageOf(cache.getOrBuild(keyOf("2"), builderOf("2")), "2"));
  CHECK(threadsHere() > before);
  CHECK(cache.counters().remoteMisses == 2);
}

TEST_CASE("With ATTUNE_NO_JIT the store is asked first; the error names it without its password") {
  std::map<std::string, std::string> objects;
  std::mutex mutex;
  RawServer server(objectStore(objects, mutex));
  TempDir filled, dir;
  {
    Cache cache(sharing(filled.path(), server.url()));
    CHECK(isImageOf(cache.getOrBuild(keyOf("there"), builderOf("there")), "there"));
  }
  const std::string port = fmt::format("127.0.0.1:{}", server.port());
  Options options = sharing(dir.path(), "http://me:secret@" + port);
  options.mayBuild = false;
  Cache cache(options);
  CHECK(isImageOf(cache.getOrBuild(keyOf("there"), builderOf("there")), "there"));
  auto missing = cache.getOrBuild(keyOf("gone"), builderOf("gone"));
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == ErrorCode::NotFound);
  CHECK(missing.error().message.find("http://" + port + "/") != std::string::npos);
  CHECK(missing.error().message.find("secret") == std::string::npos);
  // What curl makes of it: me:secret
  CHECK(server.requests().back().head.find("Authorization: Basic bWU6c2VjcmV0") !=
        std::string::npos);
}

TEST_CASE("A lookup that must not wait asks no store") {
  RawServer server([](int c, const SeenRequest &) { reply(c, 404); });
  TempDir dir;
  Cache cache(sharing(dir.path(), server.url()));
  CHECK(cache.lookup(keyOf("x")) == nullptr);
  CHECK(server.requests().empty());
}

TEST_CASE("Hits are used where no directory can keep them") {
  std::map<std::string, std::string> objects;
  std::mutex mutex;
  RawServer server(objectStore(objects, mutex));
  TempDir filled, dir;
  {
    Cache cache(sharing(filled.path(), server.url()));
    CHECK(isImageOf(cache.getOrBuild(keyOf("x"), builderOf("x")), "x"));
  }
  writeText(dir / "file", "in the way");
  for (const std::string &directory : {std::string(), dir / "file"}) {
    Cache cache(sharing(directory, server.url()));
    CHECK(isImageOf(cache.getOrBuild(keyOf("x"), builderOf("x")), "x"));
    CHECK(cache.counters().remoteHits == 1);
    CHECK(cache.counters().builds == 0);
  }
}

TEST_CASE("What is too large to be read back is not stored, with one warning") {
  RawServer server([](int c, const SeenRequest &) { reply(c, 404); });
  std::vector<std::string> warnings;
  Cache cache(sharing("", server.url(), true, &warnings)); // no directory: in memory only
  auto kernel = cache.getOrBuild(keyOf("big"), []() -> Result<KernelImage> {
    KernelImage image = imageOf("big");
    image.codeObject.resize(mostRemoteBytes);
    return image;
  });
  CHECK(kernel);
  CHECK(methodsOf(server) == std::vector<std::string>{"GET"});
  CHECK(cache.counters().remoteErrors == 1);
  CHECK(warnings.size() == 1);
}

TEST_CASE("Where libcurl cannot be loaded: run by the next case", "[.without-libcurl]") {
  RawServer server([](int c, const SeenRequest &) { reply(c, 404); });
  TempDir dir;
  std::mutex mutex; // uploads warn from the network's thread
  std::vector<std::string> warnings;
  Options options = sharing(dir.path(), server.url());
  options.warn = [&](const std::string &text) {
    std::unique_lock lock(mutex);
    warnings.push_back(text);
  };
  Cache cache(options);
  for (const char *name : {"1", "2", "3", "4", "5"})
    REQUIRE(isImageOf(cache.getOrBuild(keyOf(name), builderOf(name)), name));
  REQUIRE(server.requests().empty());
  REQUIRE(cache.counters().remoteHits == 0);
  REQUIRE(warnings.size() == 1);
  REQUIRE(warnings[0].find("libcurl cannot be loaded") != std::string::npos);
}

TEST_CASE("Without libcurl kernels are built, with a warning that says so") {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  Child child([&] {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      return skipped;
    glob_t found = {};
    if (glob("/usr/lib/*/libcurl*.so.4.*", 0, nullptr, &found) != 0)
      return skipped;
    for (size_t i = 0; i < found.gl_pathc; ++i)
      if (mount("/dev/null", found.gl_pathv[i], nullptr, MS_BIND, nullptr) != 0)
        return skipped;
    execl(self.c_str(), self.c_str(), "[.without-libcurl]", nullptr);
    return 1;
  });
  const int end = child.wait();
  if (end == skipped)
    WARN("skipped: this process may not hide libcurl from a child");
  else
    CHECK(end == 0);
}
