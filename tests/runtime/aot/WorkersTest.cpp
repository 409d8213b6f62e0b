// Worker processes that answer, crash, end and grow: each request is answered once, and what goes
// wrong with one costs no other.
#include "tools/attune/AotWorkers.h"
#include <catch2/catch.hpp>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <thread>

using namespace attune;
using namespace attune::tool;

namespace {

/// Answers "echo TEXT" with TEXT and "pid" with its process id; the other requests are accidents.
constexpr auto script = R"(
import os, struct, sys, time
source, sink = sys.stdin.buffer, sys.stdout.buffer
while head := source.read(8):
    request = source.read(struct.unpack('<Q', head)[0])
    word, _, rest = request.partition(b' ')
    if word == b'crash':
        os.kill(os.getpid(), 11)
    elif word == b'hang':
        time.sleep(60)
    elif word == b'exit':
        os._exit(3)
    elif word == b'half':
        sink.write(b'\0\0'); sink.flush(); os._exit(0)
    elif word == b'fat':
        kept = b'x' * (100 << 20)
    elif word == b'greedy':
        kept = b'x' * (400 << 20)
        time.sleep(60)
    answer = rest if word == b'echo' else str(os.getpid()).encode()
    sink.write(struct.pack('<Q', len(answer)) + answer); sink.flush()
)";

struct Answers {
  std::map<size_t, std::string> right, wrong;
};

Answers run(const std::vector<std::string> &requests, size_t workers, uint64_t memoryBytes = 0,
            std::chrono::milliseconds time = std::chrono::minutes(10)) {
  Answers answers;
  auto ok = runWorkers(requests, {{"python3", "-c", script}, workers, memoryBytes, time},
                       [&](size_t request, Result<std::string> reply) {
                         CHECK(answers.right.count(request) + answers.wrong.count(request) == 0);
                         if (reply)
                           answers.right[request] = *reply;
                         else
                           answers.wrong[request] = reply.error().message;
                       });
  if (!ok)
    FAIL(ok.error().message);
  CHECK(answers.right.size() + answers.wrong.size() == requests.size());
  return answers;
}

size_t openFiles() {
  size_t count = 0;
  for ([[maybe_unused]] const auto &entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

} // namespace

TEST_CASE("Every request is answered once, whatever the number of workers") {
  std::vector<std::string> requests;
  for (int i = 0; i < 40; ++i)
    requests.push_back(fmt::format("echo {}", i));
  requests.push_back("echo " + std::string(3 << 20, 'x')); // more than a socket holds
  const size_t before = openFiles();
  for (size_t workers : {1, 3, 100}) {
    const Answers answers = run(requests, workers);
    CHECK(answers.wrong.empty());
    for (size_t i = 0; i < requests.size(); ++i)
      CHECK(answers.right.at(i) == requests[i].substr(5));
  }
  CHECK(openFiles() == before);
  CHECK(run({}, 2).right.empty());
}

TEST_CASE("A worker that ends costs the request it was at, and says how it ended") {
  const Answers answers = run({"echo a", "crash", "echo b", "exit", "half", "crash", "echo c"}, 2);
  CHECK(answers.right == std::map<size_t, std::string>{{0, "a"}, {2, "b"}, {6, "c"}});
  CHECK_THAT(answers.wrong.at(1), Catch::Contains("signal 11"));
  CHECK_THAT(answers.wrong.at(5), Catch::Contains("signal 11"));
  CHECK_THAT(answers.wrong.at(3), Catch::Contains("status 3"));
  CHECK_THAT(answers.wrong.at(4), Catch::Contains("no answer"));
}

TEST_CASE("A worker that has grown is replaced, one that goes on growing is stopped") {
  constexpr uint64_t limit = 80 << 20;
  const Answers kept = run({"pid", "pid", "pid"}, 1, limit);
  CHECK(kept.right.at(0) == kept.right.at(2));
  const Answers replaced = run({"pid", "fat", "pid"}, 1, limit);
  CHECK(replaced.right.at(0) == replaced.right.at(1));
  CHECK(replaced.right.at(1) != replaced.right.at(2));
  const Answers stopped = run({"greedy", "echo a"}, 1, limit);
  CHECK_THAT(stopped.wrong.at(0), Catch::Contains("160 MiB"));
  CHECK(stopped.right.at(1) == "a");
}

TEST_CASE("A worker that hangs is stopped after the time limit, and only that one") {
  const Answers answers = run({"hang", "echo a", "echo b"}, 2, 0, std::chrono::seconds(3));
  CHECK(answers.wrong.at(0) == "the compiler's process took longer than 3 s, which "
                               "ATTUNE_COMPILE_TIMEOUT sets");
  CHECK(answers.right == std::map<size_t, std::string>{{1, "a"}, {2, "b"}});
}

TEST_CASE("A program that is not there is an error, not a failed request") {
  auto ok =
      runWorkers({"x"}, {.command = {"/nowhere/attune"}},
                 [](size_t, const Result<std::string> &) { FAIL("nobody can have answered"); });
  REQUIRE_FALSE(ok);
  CHECK_THAT(ok.error().message, Catch::Contains("/nowhere/attune"));
}

TEST_CASE("F79: the number of workers follows memory, not only processors") {
  CHECK(workersThatFit(uint64_t(1) << 60) == 1);
  CHECK(workersThatFit(1 << 20) >= 1);
  CHECK(workersThatFit(1 << 20) <= std::max(1u, std::thread::hardware_concurrency()));
}
