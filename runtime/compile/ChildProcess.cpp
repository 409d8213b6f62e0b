#include "runtime/compile/ChildProcess.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace attune {
namespace {

/// The parent's ends of the child's standard input and output.
struct Child {
  pid_t pid = -1;
  int in = -1, out = -1;
};

void closeOnce(int &fd) {
  if (fd >= 0)
    close(fd);
  fd = -1;
}

/// A socket for the input: writing to a child that is gone must be an error of this call and not a
/// SIGPIPE for the host process, and only sockets have a flag for that.
Result<Child> start(const ChildCall &call) {
  int in[2], out[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) != 0)
    return Error{ErrorCode::Io, fmt::format("no socket for a child: {}", std::strerror(errno))};
  if (pipe2(out, O_CLOEXEC) != 0) {
    close(in[0]), close(in[1]);
    return Error{ErrorCode::Io, fmt::format("no pipe for a child: {}", std::strerror(errno))};
  }
  std::vector<char *> argv{const_cast<char *>(call.program.c_str())};
  for (const std::string &argument : call.arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  Child child{-1, in[1], out[0]};
  const int failed =
      posix_spawn(&child.pid, call.program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]), close(out[1]);
  if (failed == 0)
    return child;
  closeOnce(child.in), closeOnce(child.out);
  return Error{ErrorCode::NotFound,
               fmt::format("{} cannot be started: {}", call.program, std::strerror(failed))};
}

/// Writes and reads at once, so that neither side waits for a full pipe. False: the time is over.
bool talk(Child &child, const ChildCall &call, std::string &reply) {
  const auto end = std::chrono::steady_clock::now() + call.timeout;
  size_t written = 0;
  fcntl(child.in, F_SETFL, O_NONBLOCK);
  while (child.out >= 0) {
    if (written == call.input.size())
      closeOnce(child.in);
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd fds[] = {{child.out, POLLIN, 0}, {child.in, POLLOUT, 0}};
    if (left.count() <= 0 || poll(fds, child.in >= 0 ? 2 : 1, int(left.count())) == 0)
      return false;
    if (child.in >= 0 && fds[1].revents) {
      const ssize_t n =
          send(child.in, call.input.data() + written, call.input.size() - written, MSG_NOSIGNAL);
      if (n >= 0)
        written += size_t(n);
      else if (errno != EAGAIN && errno != EINTR)
        closeOnce(child.in); // it does not listen; its exit says why
    }
    if (fds[0].revents) {
      char buffer[1 << 16];
      const ssize_t n = read(child.out, buffer, sizeof buffer);
      if (n > 0)
        reply.append(buffer, size_t(n));
      else if (n == 0 || errno != EINTR)
        closeOnce(child.out);
    }
  }
  return true;
}

} // namespace

Result<std::string> callChild(const ChildCall &call) {
  Result<Child> child = start(call);
  if (!child)
    return child.error();
  std::string reply;
  const bool inTime = talk(*child, call, reply);
  closeOnce(child->in), closeOnce(child->out);
  if (!inTime)
    kill(child->pid, SIGKILL);
  int status = 0;
  while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!inTime)
    return Error{ErrorCode::Internal,
                 fmt::format("the compiler's process was killed after {} s", call.timeout.count())};
  if (WIFSIGNALED(status))
    return Error{ErrorCode::Internal, fmt::format("the compiler's process died of signal {} ({})",
                                                  WTERMSIG(status), strsignal(WTERMSIG(status)))};
  if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
    return Error{ErrorCode::Internal,
                 fmt::format("the compiler's process ended with status {}", WEXITSTATUS(status))};
  return reply;
}

} // namespace attune
