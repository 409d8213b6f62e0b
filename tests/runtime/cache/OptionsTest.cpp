// The environment: what each variable does, homes that are none.
#include "tests/runtime/cache/Testing.h"
#include <catch2/catch.hpp>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <unistd.h>

using namespace attune;
using namespace attune::cache;
using namespace attune::cache::testing;

namespace fs = std::filesystem;

namespace {

Result<Options> read(const std::map<std::string, std::string> &values) {
  return optionsFromEnvironment([&](Variable variable) -> std::optional<std::string> {
    auto found = values.find(nameOf(variable));
    return found == values.end() ? std::nullopt : std::optional(found->second);
  });
}

} // namespace

TEST_CASE("Each variable has its effect") {
  auto options = read({{"ATTUNE_CACHE", "readonly"},
                       {"ATTUNE_CACHE_DIR", "/data/kernels"},
                       {"ATTUNE_CACHE_BASE", "/opt/a::/opt/b/"},
                       {"ATTUNE_CACHE_LIMIT", "512M"},
                       {"ATTUNE_NO_JIT", "1"}});
  REQUIRE(options);
  CHECK(options->mode == Mode::ReadOnly);
  CHECK(options->directory == "/data/kernels");
  CHECK(options->base == std::vector<std::string>{"/opt/a", "/opt/b/"});
  CHECK(options->limitBytes == uint64_t(512) << 20);
  CHECK_FALSE(options->mayBuild);
  auto plain = read({{"HOME", "/home/someone"}});
  REQUIRE(plain);
  CHECK(plain->mode == Mode::On);
  CHECK(plain->mayBuild);
  CHECK(plain->directory == "/home/someone/.cache/attune");
  CHECK(plain->limitBytes == uint64_t(1) << 30);
  CHECK(plain->startWarning.empty());
  CHECK(read({{"HOME", "/home/a"}, {"XDG_CACHE_HOME", "/xdg"}})->directory == "/xdg/attune");
  CHECK(read({{"HOME", "/h"}, {"XDG_CACHE_HOME", "relative"}})->directory == "/h/.cache/attune");
  CHECK(read({{"ATTUNE_CACHE_DIR", "here"}})->directory == fs::current_path().string() + "/here");
  CHECK(read({{"ATTUNE_CACHE", "off"}, {"HOME", "/home/a"}})->directory.empty());
}

TEST_CASE("The variables of the shared tier") {
  auto options = read({{"HOME", "/home/a"},
                       {"ATTUNE_CACHE_URL", "https://me:word@store:8443/attune/v1//"},
                       {"ATTUNE_CACHE_URL_CA", "/etc/ca.pem"},
                       {"ATTUNE_CACHE_URL_MODE", "readwrite"},
                       {"ATTUNE_CACHE_URL_TIMEOUT", "150"},
                       {"ATTUNE_CACHE_URL_TOKEN", "abc"}});
  REQUIRE(options);
  CHECK(options->remote.url == "https://me:word@store:8443/attune/v1");
  CHECK(options->remote.caFile == "/etc/ca.pem");
  CHECK(options->remote.mayWrite);
  CHECK(options->remote.timeout == std::chrono::milliseconds(150));
  CHECK(options->remote.token == "abc");
  auto plain = read({{"HOME", "/home/a"}, {"ATTUNE_CACHE_URL", "http://s"}});
  CHECK(plain->remote.url == "http://s");
  CHECK_FALSE(plain->remote.mayWrite);
  CHECK(plain->remote.timeout == std::chrono::milliseconds(2000));
  CHECK(read({{"HOME", "/home/a"}})->remote.url.empty());
  CHECK(read({{"ATTUNE_CACHE", "off"}, {"ATTUNE_CACHE_URL", "http://s"}})->remote.url.empty());
  for (auto [name, value] : {std::pair("ATTUNE_CACHE_URL", "ftp://host"),
                             {"ATTUNE_CACHE_URL", "http://"},
                             {"ATTUNE_CACHE_URL", "http:///path"},
                             {"ATTUNE_CACHE_URL", "http://host/a b"},
                             {"ATTUNE_CACHE_URL", "http://host/a?b"},
                             {"ATTUNE_CACHE_URL_MODE", "write"},
                             {"ATTUNE_CACHE_URL_TIMEOUT", "0"},
                             {"ATTUNE_CACHE_URL_TIMEOUT", "2s"},
                             {"ATTUNE_CACHE_URL_TIMEOUT", "600001"}}) {
    auto wrong = read({{"HOME", "/h"}, {"ATTUNE_CACHE_URL", "http://host"}, {name, value}});
    // A map keeps the first of a name.
    if (name == std::string("ATTUNE_CACHE_URL"))
      wrong = read({{"HOME", "/h"}, {name, value}});
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().message.find(fmt::format("{}={}: legal values are ", name, value)) == 0);
  }
}

TEST_CASE("Messages about the shared tier show no secrets") {
  auto url = read({{"HOME", "/h"}, {"ATTUNE_CACHE_URL", "http://me:word@host/a b"}});
  REQUIRE_FALSE(url);
  CHECK(url.error().message.find("ATTUNE_CACHE_URL=http://host/a b: ") == 0);
  auto token = read({{"HOME", "/h"},
                     {"ATTUNE_CACHE_URL", "http://host"},
                     {"ATTUNE_CACHE_URL_TOKEN", "two words"}});
  REQUIRE_FALSE(token);
  CHECK(token.error().message.find("words") == std::string::npos);
  CHECK(withoutPassword("https://host/a@b") == "https://host/a@b");
  CHECK(withoutPassword("https://u:p@w@host/a") == "https://host/a");
}

TEST_CASE("A wrong value is refused with the variable and its legal values") {
  for (auto [name, value] : {std::pair("ATTUNE_CACHE", "yes"),
                             {"ATTUNE_CACHE_LIMIT", "lots"},
                             {"ATTUNE_NO_JIT", "yes"}}) {
    auto options = read({{name, value}, {"HOME", "/home/a"}});
    REQUIRE_FALSE(options);
    CHECK(options.error().message.find(fmt::format("{}={}: legal values are ", name, value)) == 0);
  }
}

TEST_CASE("Sizes have units and do not overflow") {
  CHECK(*parseBytes("0") == 0);
  CHECK(*parseBytes("123") == 123);
  CHECK(*parseBytes("4K") == 4096);
  CHECK(*parseBytes("2T") == uint64_t(2) << 40);
  for (const char *text : {"", "K", "-1", "1.5G", "1GB", "1 G", "1g", "99999999999999999999",
                           "18446744073709551615K", "0x10"})
    CHECK_FALSE(parseBytes(text));
}

TEST_CASE("F62: without a home the cache is private and temporary, with one warning") {
  TempDir dir;
  const std::string expected = dir / fmt::format("attune-{}", geteuid());
  for (const auto &home :
       {std::map<std::string, std::string>{}, {{"HOME", "/"}}, {{"HOME", "//"}}, {{"HOME", "."}}}) {
    auto values = home;
    values["TMPDIR"] = dir.path();
    auto options = read(values);
    REQUIRE(options);
    CHECK(options->directory == expected);
    CHECK((fs::status(expected).permissions() & fs::perms::all) == fs::perms(0700));
    CHECK(options->startWarning.find("ATTUNE_CACHE_DIR") != std::string::npos);
    std::vector<std::string> warnings;
    options->warn = [&](const std::string &text) { warnings.push_back(text); };
    Cache cache(*options);
    CHECK(isImageOf(cache.getOrBuild(keyOf("homeless"), builderOf("homeless")), "homeless"));
    CHECK(warnings.size() == 1);
  }
}

TEST_CASE("F62: a temporary directory that others could have filled is not trusted") {
  TempDir dir;
  const std::string path = dir / fmt::format("attune-{}", geteuid());
  SECTION("writable by others") {
    fs::create_directory(path);
    fs::permissions(path, fs::perms::all);
  }
  SECTION("a link") {
    fs::create_directory(dir / "elsewhere");
    fs::create_directory_symlink(dir / "elsewhere", path);
  }
  SECTION("a file") { writeText(path, ""); }
  SECTION("someone else's") {
    fs::create_directory(path);
    if (chown(path.c_str(), 12345, 12345) != 0) {
      WARN("skipped: this process may not give files away");
      return;
    }
  }
  std::vector<std::string> warnings;
  auto options = read({{"TMPDIR", dir.path()}});
  REQUIRE(options);
  CHECK(options->directory.empty());
  options->warn = [&](const std::string &text) { warnings.push_back(text); };
  Cache cache(*options);
  CHECK(isImageOf(cache.getOrBuild(keyOf("memory"), builderOf("memory")), "memory"));
  CHECK(cache.find(keyOf("memory")) != nullptr);
  CHECK(warnings.size() == 1);
}

TEST_CASE("F62: uid 12345 with no passwd entry and HOME=/ works") {
  TempDir dir;
  fs::permissions(dir.path(), fs::perms::all | fs::perms::sticky_bit);
  Child user([&] {
    if (geteuid() == 0 && (setgid(12345) != 0 || setuid(12345) != 0))
      return skipped;
    for (uint64_t hits = 0; hits < 2; ++hits) {
      Cache cache(*read({{"HOME", "/"}, {"TMPDIR", dir.path()}}));
      if (!isImageOf(cache.getOrBuild(keyOf("nobody"), builderOf("nobody")), "nobody") ||
          cache.counters().diskHits != hits)
        return 1;
    }
    return 0;
  });
  const int end = user.wait();
  if (end == skipped)
    WARN("skipped: this process may not become another user");
  else
    CHECK(end == 0);
}
