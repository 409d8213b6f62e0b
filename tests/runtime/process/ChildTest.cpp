// A child's answer is whole or an error that says how the child ended; no child outlives its
// object, and no file stays open. `cat` answers a frame with the same frame.
#include "runtime/process/Child.h"
#include "tests/support/TempDir.h"
#include <catch2/catch.hpp>
#include <cerrno>
#include <csignal>
#include <fmt/format.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace attune;
using namespace std::chrono_literals;
using Catch::Contains;

namespace {

const TimeLimit plenty{60s, ""};

Result<std::string> shell(const std::string &script, const TimeLimit &limit = plenty,
                          const std::string &request = "?") {
  Result<Child> child = Child::start({"sh", "-c", script});
  if (!child)
    FAIL(child.error().message);
  return callChild(std::move(*child), request, limit);
}

std::string failureOf(const Result<std::string> &reply) {
  return reply ? "answered: " + *reply : reply.error().message;
}

size_t openFiles() { return attune::testing::namesIn("/proc/self/fd").size(); }

bool isRunning(pid_t pid) { return kill(pid, 0) == 0; }

} // namespace

TEST_CASE("A child answers one request after another, of any size") {
  const size_t before = openFiles();
  {
    Result<Child> child = Child::start({"cat"});
    REQUIRE(child);
    // The last is more than both sockets hold: it has to be written and read at once.
    for (size_t bytes : {0, 1, 7, 8, 9, 100'000, 5'000'000}) {
      std::string request(bytes, 'x');
      if (bytes > 0)
        request.back() = 'y';
      child->ask(request);
      std::optional<Result<std::string>> answer;
      while (!(answer = child->answer())) {
        CHECK(child->busy());
        std::vector<pollfd> files;
        child->watch(files);
        REQUIRE(poll(files.data(), nfds_t(files.size()), 10'000) > 0);
      }
      REQUIRE(*answer);
      CHECK(**answer == request);
      CHECK_FALSE(child->busy());
    }
  }
  CHECK(openFiles() == before);
}

TEST_CASE("How a child ended is said in words, with its last ones") {
  CHECK(failureOf(shell("exit 3")) == "ended with status 3 and no answer");
  CHECK(failureOf(shell("kill -9 $$")) == "died of signal 9 (Killed)");
  CHECK(failureOf(shell("echo LLVM ERROR: out of memory >&2; kill -6 $$")) ==
        "died of signal 6 (Aborted); it said: LLVM ERROR: out of memory");
  // An answer that is not whole is none, whatever the status.
  CHECK(failureOf(shell(R"(printf '\5\0\0\0\0\0\0\0abcd')")) ==
        "ended with status 0 and no answer");
  CHECK(failureOf(shell("echo this is what a library prints; sleep 60")) ==
        "answered with what is no answer");
}

TEST_CASE("A child that talks a lot is not held up, and its last lines are kept") {
  const std::string said = failureOf(
      shell("i=0; while [ $i -lt 20000 ]; do echo line $i of many; i=$((i+1)); done >&2; exit 1"));
  CHECK_THAT(said, Catch::StartsWith("ended with status 1 and no answer; it said: line ") &&
                       Catch::EndsWith("line 19999 of many"));
  CHECK(said.size() < 2200);
  CHECK(said.size() > 1900);
  // What it says beside a good answer concerns nobody.
  const Result<std::string> reply = shell("echo a warning >&2; exec cat", plenty, "request");
  REQUIRE(reply);
  CHECK(*reply == "request");
}

TEST_CASE("A child that hangs is killed, and the limit is named with its setting") {
  const auto start = std::chrono::steady_clock::now();
  Result<Child> child = Child::start({"sleep", "60"});
  REQUIRE(child);
  const pid_t pid = child->pid();
  CHECK(failureOf(callChild(std::move(*child), "?", {150ms, "THIS_VARIABLE"})) ==
        "was killed after its limit of 0.15 s, which THIS_VARIABLE sets");
  CHECK_FALSE(isRunning(pid));
  CHECK(failureOf(shell("sleep 60", {1ms, ""})) == "was killed after its limit of 0.001 s");
  // Its side is closed, so there is nothing to wait for but its end.
  CHECK(failureOf(shell("exec sleep 60 <&- >&-")) == "died of signal 9 (Killed)");
  CHECK(std::chrono::steady_clock::now() - start < 30s);
}

TEST_CASE("A busy child goes with its object at once, an idle one when its input ends") {
  pid_t pid = 0;
  {
    Result<Child> child = Child::start({"sleep", "60"});
    REQUIRE(child);
    child->ask("?");
    pid = child->pid();
    CHECK(isRunning(pid));
  }
  CHECK_FALSE(isRunning(pid));
  attune::testing::TempDir dir;
  { // killed, it would not have come to its last command
    Result<Child> child = Child::start({"sh", "-c", "cat; echo done > " + dir / "end"});
    REQUIRE(child);
  }
  CHECK(attune::testing::readText(dir / "end") == "done\n");
}

TEST_CASE("A program that is not there is named") {
  const size_t before = openFiles();
  for (const char *program : {"/nowhere/compile-worker", "no-such-program-of-attune"}) {
    Result<Child> child = Child::start({program});
    REQUIRE_FALSE(child);
    CHECK(child.error().code == ErrorCode::NotFound);
    CHECK(child.error().message ==
          std::string(program) + " cannot be started: No such file or directory");
  }
  CHECK(openFiles() == before);
}

TEST_CASE("A function in a fork answers without being asked") {
  const std::string large(3'000'000, 'z');
  const auto call = [](const std::function<std::string()> &work, const TimeLimit &limit = plenty) {
    Result<Child> child = Child::fork(work);
    REQUIRE(child);
    return callChild(std::move(*child), "", limit);
  };
  const Result<std::string> good = call([&] { return large; });
  REQUIRE(good);
  CHECK(*good == large);
  CHECK(failureOf(call([]() -> std::string { _exit(4); })) == "ended with status 4 and no answer");
  CHECK(failureOf(call([]() -> std::string {
          [[maybe_unused]] ssize_t done = write(2, "an assertion\n", 13);
          std::abort();
        })) == "died of signal 6 (Aborted); it said: an assertion");
  CHECK(failureOf(call(
            []() -> std::string {
              for (;;)
                pause();
            },
            {50ms, ""})) == "was killed after its limit of 0.05 s");
}

TEST_CASE("The program's handlers, masks and closed files are not the child's") {
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  auto former = std::signal(SIGPIPE, SIG_IGN);
  const std::string masked = failureOf(shell("kill -TERM $$; exit 1"));
  const std::string piped = failureOf(shell("kill -PIPE $$; exit 1"));
  std::signal(SIGPIPE, former);
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  CHECK(masked == "died of signal 15 (Terminated)");
  CHECK(piped == "died of signal 13 (Broken pipe)");

  Result<Child> daemon = Child::fork([] {
    close(0), close(1), close(2);
    Result<Child> child = Child::start({"cat"});
    return child ? failureOf(callChild(std::move(*child), "through", plenty)) : "not started";
  });
  REQUIRE(daemon);
  CHECK(failureOf(callChild(std::move(*daemon), "", plenty)) == "answered: answered: through");
}

TEST_CASE("A program that takes its children's status itself loses only the reason") {
  auto former = std::signal(SIGCHLD, SIG_IGN); // the kernel reaps
  const Result<std::string> good = shell("exec cat", plenty, "whole");
  const std::string bad = failureOf(shell("exit 3"));
  std::signal(SIGCHLD, former);
  REQUIRE(good);
  CHECK(*good == "whole");
  CHECK(bad == "ended without an answer");
}

TEST_CASE("Many threads have children at once") {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        const std::string request = fmt::format("{} {}", t, i);
        Result<Child> child = Child::start({"cat"});
        const Result<std::string> reply =
            child ? callChild(std::move(*child), request, plenty) : child.error();
        wrong += !reply || *reply != request;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(wrong == 0);
}
