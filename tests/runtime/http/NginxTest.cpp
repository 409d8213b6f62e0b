// The shared tier on nginx, configured as docs/cache.md says.
#include "runtime/cache/HttpClient.h"
#include "tests/runtime/http/Sharing.h"
#include <catch2/catch.hpp>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>

using namespace attune;
using namespace attune::cache;
using namespace attune::cache::testing;
using namespace std::chrono_literals;

namespace {

/// One call in a cache of its own. When this returns, what it stores is stored.
Counters callOnce(const Options &options, const std::string &name) {
  Cache cache(options);
  CHECK(isImageOf(cache.getOrBuild(keyOf(name), builderOf(name)), name));
  return cache.counters();
}

/// The status of a reply to one request.
long statusOf(HttpMethod method, const std::string &url) {
  struct {
    std::mutex mutex;
    std::condition_variable came;
    std::optional<long> status;
  } answer;
  HttpClient client({"", "", 1000});
  const std::string text = "echo";
  client.send(
      {method, url, std::make_shared<Bytes>(text.begin(), text.end()), HttpClock::now() + 20s},
      [&](HttpReply reply) -> std::optional<HttpRequest> {
        std::unique_lock lock(answer.mutex);
        answer.status = reply.status;
        answer.came.notify_all();
        return std::nullopt;
      });
  std::unique_lock lock(answer.mutex);
  answer.came.wait(lock, [&] { return answer.status.has_value(); });
  return *answer.status;
}

} // namespace

TEST_CASE("What one machine builds, others read: the same bytes in store and directories") {
  if (!Nginx::isThere())
    return;
  Nginx nginx;
  TempDir a, b;
  const Counters built = callOnce(sharing(a.path(), nginx.url()), "shared");
  CHECK(built.remoteMisses == 1);
  CHECK(built.builds == 1);
  {
    Cache cache(sharing(a.path(), nginx.url()));
    CHECK(isImageOf(cache.getOrBuild(keyOf("more"), builderOf("more")), "more"));
    while (cache.counters().remotePuts == 0 && cache.counters().remoteErrors == 0)
      std::this_thread::sleep_for(1ms);
    CHECK(cache.counters().remotePuts == 1);
  }
  const std::string entry = readText(entryIn(a.path(), "shared"));
  REQUIRE(!entry.empty());
  CHECK(readText(nginx.entry("shared")) == entry); // stored when the cache is gone, at the latest
  const Counters read = callOnce(sharing(b.path(), nginx.url(), false), "shared");
  CHECK(read.remoteHits == 1);
  CHECK(read.builds == 0);
  CHECK(read.published == 1);
  CHECK(readText(entryIn(b.path(), "shared")) == entry);
  CHECK(callOnce(optionsFor(b.path()), "shared").diskHits == 1); // from now on without the store
}

TEST_CASE("Without readwrite, or with a cache that is only read, nothing is stored") {
  if (!Nginx::isThere())
    return;
  Nginx nginx;
  TempDir dir;
  callOnce(sharing(dir.path(), nginx.url(), false), "read");
  Options readOnly = sharing(dir.path(), nginx.url());
  readOnly.mode = Mode::ReadOnly;
  CHECK(callOnce(readOnly, "only").remoteMisses == 1);
  Options off = sharing(dir.path(), nginx.url());
  off.mode = Mode::Off;
  CHECK(callOnce(off, "off").remoteMisses == 0);
  CHECK(namesIn(nginx.root()) == std::vector<std::string>{".incoming"});
}

TEST_CASE("16 machines on one store: all are right, and later ones build nothing") {
  if (!Nginx::isThere())
    return;
  Nginx nginx;
  TempDir dir;
  const std::vector<std::string> names = {"a", "b", "c", "d"};
  for (int round = 0; round < 2; ++round) {
    std::vector<Child> children;
    for (int i = 0; i < 16; ++i)
      children.emplace_back([&, i] {
        Cache cache(sharing(dir / fmt::format("{}-{}", round, i), nginx.url()));
        for (const std::string &name : names)
          if (!isImageOf(cache.getOrBuild(keyOf(name), builderOf(name)), name))
            return 1;
        const Counters counters = cache.counters();
        return counters.remoteErrors != 0 || (round == 1 && counters.builds != 0) ? 2 : 0;
      });
    for (Child &child : children)
      CHECK(child.wait() == 0);
  }
  for (const std::string &name : names)
    CHECK(readText(nginx.entry(name)) == readText(entryIn(dir / "1-7", name)));
  CHECK(namesIn(nginx.root() + "/.incoming").empty());
}

TEST_CASE("F61: an entry that lies damaged in the store is counted, rebuilt and replaced") {
  if (!Nginx::isThere())
    return;
  Nginx nginx;
  TempDir first;
  callOnce(sharing(first.path(), nginx.url()), "hurt");
  const std::string good = readText(nginx.entry("hurt"));
  std::string flipped = good;
  flipped[good.size() / 2] ^= 1;
  TempDir other;
  callOnce(optionsFor(other.path()), "other");
  const std::string foreign = readText(entryIn(other.path(), "other"));
  for (const std::string &bad :
       {std::string(), good.substr(0, good.size() / 2), flipped, foreign, good + "x"}) {
    writeText(nginx.entry("hurt"), bad);
    TempDir dir;
    std::vector<std::string> warnings;
    const Counters counters = callOnce(sharing(dir.path(), nginx.url(), true, &warnings), "hurt");
    CHECK(counters.corrupt + counters.foreign == 1);
    CHECK(counters.foreign == (bad == foreign ? 1 : 0));
    CHECK(counters.remoteHits == 0);
    CHECK(counters.builds == 1);
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0].find(nginx.url()) != std::string::npos);
    CHECK(readText(nginx.entry("hurt")) == good);
  }
}

TEST_CASE("The documented server takes entries from its network and nothing else") {
  if (!Nginx::isThere())
    return;
  const std::string entry = "/ab/ab" + std::string(62, '0') + ".kernel";
  {
    Nginx nginx;
    CHECK(statusOf(HttpMethod::Put, nginx.url() + entry) == 201);
    CHECK(statusOf(HttpMethod::Get, nginx.url() + entry) == 200);
    CHECK(statusOf(HttpMethod::Put, nginx.url() + "/ab/run.sh") == 404);
    CHECK(statusOf(HttpMethod::Put, nginx.url() + "/../ab/x.kernel") >= 400);
    CHECK(statusOf(HttpMethod::Get, nginx.url() + "/") == 404);
    struct stat status;
    REQUIRE(stat((nginx.root() + entry).c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0644);
  }
  Nginx elsewhere(Nginx::Replacements{{"10.0.0.0/8", "192.0.2.0/24"}}); // we are not in its network
  CHECK(statusOf(HttpMethod::Put, elsewhere.url() + entry) == 403);
  CHECK(statusOf(HttpMethod::Get, elsewhere.url() + entry) == 404);
}

TEST_CASE("A store that takes nothing is still read, with one warning") {
  if (!Nginx::isThere())
    return;
  Nginx nginx(Nginx::Replacements{{"10.0.0.0/8", "192.0.2.0/24"}});
  TempDir dir, filled;
  callOnce(optionsFor(filled.path()), "old");
  std::filesystem::create_directories(std::filesystem::path(nginx.entry("old")).parent_path());
  writeText(nginx.entry("old"), readText(entryIn(filled.path(), "old")));
  std::vector<std::string> warnings;
  {
    Cache cache(sharing(dir.path(), nginx.url(), true, &warnings));
    for (const char *name : {"new1", "new2", "new3", "new4", "new5"})
      CHECK(isImageOf(cache.getOrBuild(keyOf(name), builderOf(name)), name));
    CHECK(isImageOf(cache.getOrBuild(keyOf("old"), builderOf("old")), "old"));
    CHECK(cache.counters().remoteHits == 1);
    CHECK(cache.counters().remoteMisses == 5);
  }
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("HTTP status 403") != std::string::npos);
}

TEST_CASE("TLS: a certificate has to be known, and nobody leads to an unencrypted store") {
  if (!Nginx::isThere())
    return;
  TempDir keys, filled;
  const std::string certificate = keys / "cert.pem", key = keys / "key.pem";
  const std::string make =
      fmt::format("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 "
                  "-nodes -days 2 -subj /CN=localhost -addext "
                  "subjectAltName=DNS:localhost -keyout {} -out {} 2>/dev/null",
                  key, certificate);
  if (std::system(make.c_str()) != 0) {
    WARN("skipped: no openssl that makes certificates");
    return;
  }
  callOnce(optionsFor(filled.path()), "x");
  const std::string entry = readText(entryIn(filled.path(), "x"));
  RawServer open([&](int c, const SeenRequest &) { reply(c, 200, entry); });
  const std::string secure = fmt::format("listen 8080 ssl;\n  ssl_certificate {};\n"
                                         "  ssl_certificate_key {};",
                                         certificate, key);
  Nginx store(Nginx::Replacements{{"listen 8080;", secure}});
  Nginx leading(
      {{"listen 8080;", secure},
       {"location / { return 404; }", fmt::format("return 302 {}$request_uri;", open.url())}});
  std::filesystem::create_directories(std::filesystem::path(store.entry("x")).parent_path());
  writeText(store.entry("x"), entry);

  auto call = [&](int port, const std::string &host, const std::string &caFile,
                  std::string saying) {
    TempDir dir;
    std::vector<std::string> warnings;
    Options options =
        sharing(dir.path(), fmt::format("https://{}:{}", host, port), false, &warnings);
    options.remote.caFile = caFile;
    const Counters counters = callOnce(options, "x");
    CHECK(counters.remoteErrors == (saying.empty() ? 0 : 1));
    CHECK(counters.remoteHits == (saying.empty() ? 1 : 0));
    if (!saying.empty()) {
      REQUIRE(warnings.size() == 1);
      CAPTURE(warnings[0]);
      CHECK(warnings[0].find(saying) != std::string::npos);
    }
  };
  call(store.port(), "localhost", certificate, "");
  call(store.port(), "localhost", "", "certificate");
  call(store.port(), "127.0.0.1", certificate, "certificate"); // another name than it was made for
  call(leading.port(), "localhost", certificate, "rotocol");
  CHECK(open.requests().empty());
}

TEST_CASE("A store that is gone costs one warning, and after three tries no request") {
  if (!Nginx::isThere())
    return;
  Nginx nginx;
  nginx.stop();
  TempDir dir;
  std::vector<std::string> warnings;
  Cache cache(sharing(dir.path(), nginx.url(), false, &warnings));
  for (const char *name : {"1", "2", "3", "4", "5"})
    CHECK(isImageOf(cache.getOrBuild(keyOf(name), builderOf(name)), name));
  CHECK(cache.counters().remoteErrors == 3);
  CHECK(cache.counters().remoteSkips == 2);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find(nginx.url()) != std::string::npos);
}
