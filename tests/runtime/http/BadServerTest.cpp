// The shared tier on servers that misbehave: what a call costs then is bounded, and what it gives
// is right.
#include "tests/runtime/http/Sharing.h"
#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace attune;
using namespace attune::cache;
using namespace attune::cache::testing;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

struct Call {
  Counters counters;
  std::vector<std::string> warnings;
  Clock::duration took;
};

/// A call in a new directory with this store.
Call callOnce(const std::string &url) {
  TempDir dir;
  Call call;
  Cache cache(sharing(dir.path(), url, false, &call.warnings, timeout));
  const auto start = Clock::now();
  CHECK(isImageOf(cache.getOrBuild(keyOf("x"), builderOf("x")), "x"));
  call.took = Clock::now() - start;
  call.counters = cache.counters();
  CHECK(call.took < timeout + slack);
  CHECK(call.counters.remoteErrors + call.counters.remoteHits + call.counters.remoteMisses +
            call.counters.corrupt + call.counters.foreign ==
        1);
  CHECK(call.counters.builds == 1 - call.counters.remoteHits);
  return call;
}

std::string goodEntry(const std::string &name) {
  const Key key = keyOf(name);
  const Bytes bytes = encodeEntry(key.text(), imageOf(name));
  return {bytes.begin(), bytes.end()};
}

void expectError(const RawServer::Answer &answer, const std::string &saying) {
  INFO(saying);
  RawServer server(answer);
  const Call call = callOnce(server.url());
  CHECK(call.counters.remoteErrors == 1);
  REQUIRE(call.warnings.size() == 1);
  CHECK(call.warnings[0].find(server.url()) != std::string::npos);
  CAPTURE(call.warnings[0]);
  CHECK(call.warnings[0].find(saying) != std::string::npos);
}

} // namespace

TEST_CASE("A store that never answers costs the timeout, whenever it falls silent") {
  expectError([](int c, const SeenRequest &) { hang(c); }, " ");
  expectError(
      [](int c, const SeenRequest &) {
        sendText(c, "HTTP/1.1 200 OK\r\n");
        hang(c);
      },
      " ");
  expectError(
      [](int c, const SeenRequest &) {
        sendText(c, "HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\nATTUNEK\n");
        hang(c);
      },
      " ");
}

TEST_CASE("A store that drips costs the timeout: it counts in all, not per byte") {
  expectError(
      [](int c, const SeenRequest &) {
        sendText(c, "HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n");
        while (sendText(c, "A"))
          std::this_thread::sleep_for(20ms);
      },
      " ");
}

TEST_CASE("An unknown name, an address without a route, a port nobody listens on: bounded") {
  for (const char *url :
       {"http://no-such-host.invalid", "http://192.0.2.1", "http://127.0.0.1:1"}) {
    const Call call = callOnce(url);
    CHECK(call.counters.remoteErrors == 1);
    CHECK(call.warnings.size() == 1);
  }
}

TEST_CASE("Refusals, failures and nonsense are errors that name the store") {
  for (int status : {400, 401, 403, 429, 500, 502, 503, 204, 206, 304})
    expectError([=](int c, const SeenRequest &) { reply(c, status); },
                fmt::format("HTTP status {}", status));
  expectError([](int, const SeenRequest &) {}, "Empty reply");
  expectError([](int c, const SeenRequest &) { sendText(c, "hello, who is there?\n"); },
              "HTTP/0.9");
  expectError(
      [](int c, const SeenRequest &) {
        sendText(c, "HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\nATTUNEK\n");
      },
      "bytes remaining");
}

TEST_CASE("404 and 410 are misses, without a warning") {
  for (int status : {404, 410}) {
    RawServer server([=](int c, const SeenRequest &) { reply(c, status, "not here"); });
    const Call call = callOnce(server.url());
    CHECK(call.counters.remoteMisses == 1);
    CHECK(call.warnings.empty());
  }
}

TEST_CASE("Bodies larger than any entry are cut off, whether announced or not") {
  expectError(
      [](int c, const SeenRequest &) {
        sendText(c, fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", 1ull << 40));
        hang(c);
      },
      "larger than 67108864 bytes");
  // Without a length it ends by size or by time, whichever comes first.
  expectError(
      [](int c, const SeenRequest &) {
        sendText(c, "HTTP/1.1 200 OK\r\n\r\n");
        const std::string chunk(1 << 20, 'A');
        while (sendText(c, chunk)) {
        }
      },
      " ");
}

TEST_CASE("A body that is no entry, or cut where the connection ends, is damage") {
  const std::string good = goodEntry("x");
  for (const std::string &body :
       {std::string("<html>Please log in to this network</html>"), good.substr(0, 1000)}) {
    RawServer server([=](int c, const SeenRequest &) {
      sendText(c, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body);
    });
    const Call call = callOnce(server.url());
    CHECK(call.counters.corrupt == 1);
    CHECK(call.warnings.size() == 1);
  }
  RawServer server([=](int c, const SeenRequest &) { reply(c, 200, goodEntry("y")); });
  CHECK(callOnce(server.url()).counters.foreign == 1);
}

TEST_CASE("Redirects are followed three times and not for ever; the token stays at home") {
  const std::string good = goodEntry("x");
  std::string base;
  RawServer target([&](int c, const SeenRequest &) { reply(c, 200, good); });
  RawServer chain([&](int c, const SeenRequest &request) {
    const size_t hops = std::count(request.path.begin(), request.path.end(), '~');
    const std::string next = hops == 2 ? fmt::format("http://localhost:{}/found", target.port())
                                       : base + request.path + "~";
    reply(c, 302, "", "Location: " + next + "\r\n");
  });
  base = chain.url();
  TempDir dir;
  Options options = sharing(dir.path(), chain.url(), false);
  options.remote.token = "secret";
  Cache cache(options);
  CHECK(isImageOf(cache.getOrBuild(keyOf("x"), builderOf("x")), "x"));
  CHECK(cache.counters().remoteHits == 1);
  REQUIRE(target.requests().size() == 1);
  CHECK(target.requests()[0].head.find("secret") == std::string::npos);
  REQUIRE(chain.requests().size() == 3);
  for (const SeenRequest &request : chain.requests())
    CHECK(request.head.find("Authorization: Bearer secret") != std::string::npos);

  expectError(
      [](int c, const SeenRequest &request) {
        reply(c, 302, "", "Location: " + request.path + "\r\n");
      },
      "redirects");
  expectError(
      [](int c, const SeenRequest &) { reply(c, 302, "", "Location: file:///etc/hostname\r\n"); },
      "rotocol");
}
