// Layers, limits, threads and modes of the cache in one process.
#include "tests/runtime/cache/Testing.h"
#include <catch2/catch.hpp>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <sys/stat.h>
#include <thread>

using namespace attune;
using namespace attune::cache;
using namespace attune::cache::testing;
using namespace std::chrono_literals;

namespace fs = std::filesystem;

namespace {

/// Sets the time of an entry's last use.
void setLastUse(const std::string &path, int64_t secondsAgo) {
  timespec times[2] = {};
  clock_gettime(CLOCK_REALTIME, &times[0]);
  times[0].tv_sec -= secondsAgo;
  times[1] = times[0];
  REQUIRE(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

int64_t lastUse(const std::string &path) {
  struct stat status{};
  REQUIRE(stat(path.c_str(), &status) == 0);
  return status.st_mtime;
}

} // namespace

TEST_CASE("A kernel is built once, then read from disk once, then found in memory") {
  TempDir dir;
  std::atomic<int> builds = 0;
  for (uint64_t process = 0; process < 2; ++process) {
    Cache cache(optionsFor(dir.path()));
    const Key key = keyOf("layers");
    CHECK(cache.find(key) == nullptr);
    auto first = cache.getOrBuild(key, builderOf("layers", &builds));
    auto second = cache.getOrBuild(key, builderOf("layers", &builds));
    CHECK(isImageOf(first, "layers"));
    CHECK(*first == *second); // the same object
    CHECK(cache.find(key) == *first);
    const Counters counters = cache.counters();
    CHECK(counters.diskHits == process);
    CHECK(counters.misses == 1 - process);
    CHECK(counters.memoryHits == 1);
  }
  CHECK(builds == 1);
}

TEST_CASE("A lookup finds what memory and directories have, and builds nothing") {
  TempDir dir;
  Cache writer(optionsFor(dir.path())), reader(optionsFor(dir.path()));
  CHECK(reader.lookup(keyOf("looked")) == nullptr);
  auto built = writer.getOrBuild(keyOf("looked"), builderOf("looked"));
  CHECK(writer.lookup(keyOf("looked")) == *built);
  KernelRef found = reader.lookup(keyOf("looked"));
  CHECK(isImageOf(found, "looked"));
  CHECK(reader.find(keyOf("looked")) == found);
  CHECK(reader.counters().diskHits == 1);
  CHECK(reader.counters().builds == 0);
}

TEST_CASE("Of many threads that miss one key one builds, and all get its kernel or its error") {
  TempDir dir;
  const bool fails = GENERATE(false, true), onDisk = GENERATE(false, true);
  Cache cache(optionsFor(onDisk ? dir.path() : ""));
  std::atomic<int> builds = 0, right = 0, ready = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      const Key key = keyOf("threads");
      for (++ready; ready < 8;)
        std::this_thread::yield();
      auto kernel = cache.getOrBuild(key, [&]() -> Result<KernelImage> {
        ++builds;
        std::this_thread::sleep_for(100ms);
        if (fails)
          return Error{ErrorCode::Unsupported, "no such instruction"};
        return imageOf("threads");
      });
      right += fails ? !kernel && kernel.error().message == "no such instruction"
                     : isImageOf(kernel, "threads");
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(right == 8);
  CHECK(builds == 1);
}

TEST_CASE("An error and an exception of the build reach the caller and are not kept") {
  TempDir dir;
  Cache cache(optionsFor(dir.path()));
  const Key key = keyOf("again");
  auto failed = cache.getOrBuild(
      key, []() -> Result<KernelImage> { return Error{ErrorCode::Unsupported, "refused"}; });
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == ErrorCode::Unsupported);
  auto thrown = cache.getOrBuild(
      key, []() -> Result<KernelImage> { throw std::runtime_error("out of luck"); });
  REQUIRE_FALSE(thrown);
  CHECK(thrown.error().message.find("out of luck") != std::string::npos);
  CHECK(isImageOf(cache.getOrBuild(key, builderOf("again")), "again"));
  CHECK(isImageOf(cache.getOrBuild(key, builderOf("again")), "again"));
  CHECK(namesIn(dir.path()) == std::vector<std::string>{key.digest() + ".kernel", "lock"});
}

TEST_CASE("F36, F66, F68: every field of the key makes another kernel") {
  TempDir dir;
  Cache cache(optionsFor(dir.path()));
  auto base = [] { return KeyBuilder().add("spec", "s").add("compiler", "b1"); };
  std::vector<Key> keys;
  for (auto builder :
       {base().add("arch", "gfx950"), base().add("arch", "gfx942"),
        base().add("arch", "gfx950:xnack+"), base().add("arch", "gfx950").add("abi", "2"),
        KeyBuilder().add("spec", "s").add("compiler", "b2").add("arch", "gfx950")})
    keys.push_back(*builder.build());
  for (size_t i = 0; i < keys.size(); ++i) {
    const std::string name = fmt::format("variant{}", i);
    CHECK(isImageOf(cache.getOrBuild(keys[i], builderOf(name)), name));
  }
  CHECK(cache.counters().builds == keys.size());
  CHECK(namesIn(dir.path()).size() == keys.size() + 1);
}

TEST_CASE("F69: two specs with one name, and names that are no file names") {
  TempDir dir;
  Cache cache(optionsFor(dir / "cache"));
  for (const std::string &label : {std::string("same"), std::string(300, 'n'),
                                   std::string("../../escape"), std::string("Ä☃/\n\\ \"")}) {
    auto one = KeyBuilder().label(label).add("name", label).add("spec", "softcap 30").build();
    auto two = KeyBuilder().label(label).add("name", label).add("spec", "softcap 50").build();
    REQUIRE((one && two));
    for (int round = 0; round < 2; ++round) {
      CHECK(isImageOf(cache.getOrBuild(*one, builderOf("cap30")), "cap30"));
      CHECK(isImageOf(cache.getOrBuild(*two, builderOf("cap50")), "cap50"));
    }
  }
  CHECK(cache.counters().builds == 8);
  CHECK(namesIn(dir.path()) == std::vector<std::string>{"cache"});
  CHECK(namesIn(dir / "cache").size() == 9);
}

TEST_CASE("F71: a cache that was moved or copied to another path still hits") {
  TempDir dir;
  REQUIRE(Cache(optionsFor(dir / "here")).getOrBuild(keyOf("moved"), builderOf("moved")));
  CHECK(readText(entryIn(dir / "here", "moved")).find(dir.path()) == std::string::npos);
  fs::copy(dir / "here", dir / "copied", fs::copy_options::recursive);
  fs::rename(dir / "here", dir / "there");
  for (const char *place : {"there", "copied"}) {
    Cache cache(optionsFor(dir / place));
    CHECK(isImageOf(cache.getOrBuild(keyOf("moved"), builderOf("wrong")), "moved"));
    CHECK(cache.counters().diskHits == 1);
  }
}

TEST_CASE("F73: with the cache off a process builds each kernel once and touches no disk") {
  TempDir dir;
  Options options = optionsFor(dir / "never");
  options.mode = Mode::Off;
  std::atomic<int> builds = 0;
  Cache cache(options);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const std::string name = i % 2 ? "odd" : "even";
        wrong += !isImageOf(cache.getOrBuild(keyOf(name), builderOf(name, &builds)), name);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(wrong == 0);
  CHECK(builds == 2);
  CHECK_FALSE(fs::exists(dir / "never"));
}

TEST_CASE("Base directories are read in order and never written") {
  TempDir dir;
  REQUIRE(Cache(optionsFor(dir / "base1")).getOrBuild(keyOf("one"), builderOf("one")));
  REQUIRE(Cache(optionsFor(dir / "base2")).getOrBuild(keyOf("two"), builderOf("two")));
  setLastUse(entryIn(dir / "base1", "one"), 1000);
  const auto before = namesIn(dir / "base1");
  Options options = optionsFor(dir / "user");
  options.base = {dir / "missing", dir / "base1", dir / "base2"};
  Cache cache(options);
  for (const char *name : {"one", "two"})
    CHECK(isImageOf(cache.getOrBuild(keyOf(name), builderOf("wrong")), name));
  CHECK(cache.counters().baseHits == 2);
  CHECK_FALSE(fs::exists(dir / "user"));
  CHECK(isImageOf(cache.getOrBuild(keyOf("three"), builderOf("three")), "three"));
  CHECK(namesIn(dir / "base1") == before);
  CHECK(namesIn(dir / "user").size() == 2);
  CHECK_FALSE(fs::exists(dir / "missing"));

  writeText(entryIn(dir / "base2", "two"), "damaged");
  Cache later(options);
  CHECK(isImageOf(later.getOrBuild(keyOf("two"), builderOf("two")), "two"));
  CHECK(later.counters().corrupt == 1);
  CHECK(readText(entryIn(dir / "base2", "two")) == "damaged");
}

TEST_CASE("Read-only mode reads and writes nothing") {
  TempDir dir;
  REQUIRE(Cache(optionsFor(dir.path())).getOrBuild(keyOf("kept"), builderOf("kept")));
  const auto before = namesIn(dir.path());
  Options options = optionsFor(dir.path());
  options.mode = Mode::ReadOnly;
  Cache cache(options);
  CHECK(isImageOf(cache.getOrBuild(keyOf("kept"), builderOf("wrong")), "kept"));
  CHECK(isImageOf(cache.getOrBuild(keyOf("new"), builderOf("new")), "new"));
  CHECK(namesIn(dir.path()) == before);
}

TEST_CASE("Where compiling is forbidden a miss names the key, the command and the nearest entry") {
  TempDir dir;
  auto other = KeyBuilder()
                   .add("spec", "attention strict")
                   .add("arch", "gfx950")
                   .add("compiler", "build 2")
                   .build();
  REQUIRE(Cache(optionsFor(dir.path())).getOrBuild(*other, builderOf("strict")));
  REQUIRE(Cache(optionsFor(dir.path())).getOrBuild(keyOf("ready"), builderOf("ready")));
  Options options = optionsFor(dir.path());
  options.mayBuild = false;
  Cache cache(options);
  std::atomic<int> builds = 0;
  CHECK(isImageOf(cache.getOrBuild(keyOf("ready"), builderOf("ready", &builds)), "ready"));
  auto missing = cache.getOrBuild(keyOf("strict"), builderOf("strict", &builds));
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == ErrorCode::NotFound);
  CHECK(builds == 0);
  CHECK(cache.counters().refused == 1);
  const std::string &text = missing.error().message;
  CHECK(text.find("strict (" + keyOf("strict").digest() + ")") != std::string::npos);
  CHECK(text.find("build it with: attune cache warm strict") != std::string::npos);
  CHECK(text.find(dir.path()) != std::string::npos);
  CHECK(text.find("nearest: " + other->digest() + ", which differs in compiler") !=
        std::string::npos);
}

TEST_CASE("F64: over its limit the directory gives up what was unused longest") {
  TempDir dir;
  uint64_t size = 0;
  for (int i = 0; i < 5; ++i) {
    const std::string name = fmt::format("age{}", i);
    REQUIRE(Cache(optionsFor(dir.path())).getOrBuild(keyOf(name), builderOf(name)));
    setLastUse(entryIn(dir.path(), name), 10'000 - 1000 * i);
    size = fs::file_size(entryIn(dir.path(), name));
  }
  // A hit is a use.
  REQUIRE(Cache(optionsFor(dir.path())).getOrBuild(keyOf("age0"), builderOf("wrong")));
  CHECK(std::time(nullptr) - lastUse(entryIn(dir.path(), "age0")) < 100);

  SECTION("by gc") {
    auto report = Directory(dir.path(), FileOps()).collect(2 * size + 10);
    REQUIRE(report);
    CHECK(report->removedEntries == 3);
    CHECK(report->keptEntries == 2);
    CHECK(report->keptBytes == 2 * size);
    CHECK(fs::exists(entryIn(dir.path(), "age0")));
    CHECK(fs::exists(entryIn(dir.path(), "age4")));
  }
  SECTION("by itself, when an entry is published") {
    Options options = optionsFor(dir.path());
    options.limitBytes = 3 * size + 10;
    REQUIRE(Cache(options).getOrBuild(keyOf("age5"), builderOf("age5")));
    for (int i : {0, 4, 5})
      CHECK(fs::exists(entryIn(dir.path(), fmt::format("age{}", i))));
    CHECK(namesIn(dir.path()).size() == 4);
  }
}

TEST_CASE("F64: memory gives up its oldest kernels, and takes none from its users") {
  Options options;
  options.memoryBytes = 200'000;
  Cache cache(options);
  auto first = cache.getOrBuild(keyOf("held"), builderOf("held"));
  uint64_t most = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::string name = fmt::format("many{}", i);
    REQUIRE(cache.getOrBuild(keyOf(name), builderOf(name)));
    most = std::max(most, cache.memoryBytes());
  }
  CHECK(cache.counters().builds == 2001);
  CHECK(most <= options.memoryBytes + 16 * 5000); // each of 16 shards keeps its newest
  CHECK(cache.find(keyOf("many1999")) != nullptr);
  CHECK(isImageOf(first, "held"));
}

TEST_CASE("Housekeeping lists, checks and removes only what is the cache's") {
  TempDir dir;
  for (const char *name : {"good", "bad"})
    REQUIRE(Cache(optionsFor(dir.path())).getOrBuild(keyOf(name), builderOf(name)));
  setLastUse(entryIn(dir.path(), "bad"), 500);
  writeText(entryIn(dir.path(), "bad"), "damaged");
  setLastUse(entryIn(dir.path(), "bad"), 500);
  const std::string strange(64, 'a');
  fs::copy(entryIn(dir.path(), "good"), dir / (strange + ".kernel"));
  setLastUse(dir / (strange + ".kernel"), 1000);
  const std::vector<std::string> foreign = {"notes.txt", strange + ".txt", "b.kernel", "x.tmp"};
  for (const std::string &name : foreign)
    writeText(dir / name, "mine");
  writeText(dir / (strange + ".0123.tmp"), "left over");
  setLastUse(dir / (strange + ".0123.tmp"), 7200);
  writeText(dir / (strange + ".4567.tmp"), "being written");

  Directory directory(dir.path(), FileOps());
  auto entries = directory.verify();
  auto heads = directory.list();
  REQUIRE((entries && heads));
  REQUIRE(entries->size() == 3);
  REQUIRE(heads->size() == 3);
  for (size_t i = 0; i < 3; ++i) {
    CHECK((*heads)[i].digest == (*entries)[i].digest);
    CHECK((*heads)[i].entry.state == (*entries)[i].entry.state);
    CHECK((*heads)[i].entry.keyText == (*entries)[i].entry.keyText);
  }
  CHECK((*heads)[0].entry.image.sidecar.problem.specName == "good");
  CHECK((*heads)[0].entry.image.codeObject.empty());
  CHECK((*entries)[0].digest == keyOf("good").digest());
  CHECK((*entries)[0].entry.state == EntryState::Good);
  CHECK((*entries)[0].entry.image.sidecar.problem.specName == "good");
  CHECK((*entries)[1].entry.state == EntryState::Corrupt);
  CHECK((*entries)[2].entry.state == EntryState::Foreign);
  for (const EntryInfo &info : *entries)
    if (info.entry.state != EntryState::Good)
      CHECK(directory.remove(info));
  CHECK(directory.verify()->size() == 1);

  CHECK(directory.collect(uint64_t(1) << 30)->removedLeftovers == 1);
  CHECK(fs::exists(dir / (strange + ".4567.tmp")));
  auto report = directory.clear(0s);
  REQUIRE(report);
  CHECK(report->removedEntries == 1);
  for (const std::string &name : foreign)
    CHECK(readText(dir / name) == "mine");
  CHECK(namesIn(dir.path()).size() == foreign.size() + 1); // and the lock
}

TEST_CASE("A damaged entry that was replaced since it was checked stays") {
  TempDir dir;
  REQUIRE(Cache(optionsFor(dir.path())).getOrBuild(keyOf("healed"), builderOf("healed")));
  writeText(entryIn(dir.path(), "healed"), "damaged");
  Directory directory(dir.path(), FileOps());
  auto entries = directory.verify();
  REQUIRE(Cache(optionsFor(dir.path())).getOrBuild(keyOf("healed"), builderOf("healed")));
  CHECK(directory.remove((*entries)[0]));
  CHECK(directory.verify()->size() == 1);
}

TEST_CASE("An empty or missing directory has no entries to list or collect") {
  TempDir dir;
  Directory directory(dir / "missing", FileOps());
  CHECK(directory.verify()->empty());
  CHECK(directory.collect(100)->keptEntries == 0);
  CHECK(directory.clear()->removedEntries == 0);
  CHECK_FALSE(fs::exists(dir / "missing"));
}
