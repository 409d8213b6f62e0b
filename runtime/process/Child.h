// A child process, because a piece of work may crash, hang or eat all memory, and what takes a
// server down with it is no error handling. The compiler, comgr and the workers of `attune aot` run
// in children; starting, asking, limiting and ending them is here and nowhere else.
//
// A child is a program, or a function that runs in a fork of the calling thread. It answers
// requests with frames (Frame.h) over one socket, its standard input and output: writing to a child
// that is gone is then an error here, not a SIGPIPE for the process. The last words on its stderr
// are kept for the message, and it dumps no core. The program may reap the child before us (a
// SIGCHLD handler of its own); that costs the reason of a death and nothing else.
#pragma once
#include "runtime/abi/Result.h"
#include <chrono>
#include <functional>
#include <optional>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace attune {

class Child {
public:
  /// A program, by its path or found by PATH, and its arguments. Errors: NotFound if it cannot be
  /// started; Io without a socket or a process.
  static Result<Child> start(const std::vector<std::string> &command);
  /// A fork that answers once, with what `answer` returns, and needs no request. Errors: Io.
  static Result<Child> fork(const std::function<std::string()> &answer);

  Child(Child &&) noexcept;
  Child &operator=(Child &&) noexcept;
  /// A busy child is killed; an idle one sees the end of its input, and is killed if it goes on.
  ~Child();

  /// A request, of which the child gets as much at a time as it takes. It must not be busy.
  void ask(std::string_view request);
  bool busy() const { return busy_; } ///< an answer is to come
  pid_t pid() const { return pid_; }

  /// Adds what poll should wait for before answer() is called.
  void watch(std::vector<pollfd> &) const;
  /// Takes what there is, without waiting. Nothing: more is to come. Error: Internal, how the child
  /// ended, for a sentence: "died of signal 9 (Killed)".
  std::optional<Result<std::string>> answer();
  /// answer() will say `reason` instead of how it ended.
  void kill(std::string reason);

private:
  Child() = default;
  void sendSome();
  void hear(); ///< what it says on stderr
  Error end(); ///< waits for the end of a child that has closed its side
  std::string lastWords() const;
  void close();

  pid_t pid_ = -1;
  int channel_ = -1, stderr_ = -1;
  bool busy_ = false;
  std::string outgoing_, incoming_, said_, reason_;
};

struct TimeLimit {
  std::chrono::milliseconds time;
  std::string setting; ///< for the message: what sets it; empty: nothing does
};

/// Asks a child, or waits for the answer of a fork. Errors: Internal, how the child ended; that it
/// was killed because of the limit, which is named with its setting.
Result<std::string> callChild(Child, std::string_view request, const TimeLimit &);

} // namespace attune
