#include "runtime/process/Child.h"
#include "runtime/process/Frame.h"
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

extern char **environ;

namespace attune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t mostWords = 2048;           ///< bytes of stderr that a message shows
constexpr std::chrono::seconds timeToEnd{2}; ///< for a child that has closed its side
constexpr std::chrono::milliseconds firstLook{1}, lastLook{20};

void closeFile(int &file) {
  if (file >= 0)
    close(file);
  file = -1;
}

/// Both ends of the channel and of the child's stderr: the parent's first.
struct Lines {
  std::array<int, 2> channel{-1, -1}, words{-1, -1};
  Lines() = default;
  Lines(const Lines &) = delete;
  ~Lines() {
    for (int *file : {&channel[0], &channel[1], &words[0], &words[1]})
      closeFile(*file);
  }
};

/// A process without a standard input would get its number for a line; the child's numbers 0 to 2
/// are about to be replaced.
bool moveUp(int &file) {
  if (file > STDERR_FILENO)
    return true;
  const int moved = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  close(std::exchange(file, moved));
  return file >= 0;
}

Result<void> open(Lines &lines) {
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, lines.channel.data()) == 0 &&
      pipe2(lines.words.data(), O_CLOEXEC) == 0 && moveUp(lines.channel[0]) &&
      moveUp(lines.channel[1]) && moveUp(lines.words[0]) && moveUp(lines.words[1]) &&
      fcntl(lines.words[0], F_SETFL, O_NONBLOCK) == 0)
    return {};
  return Error{ErrorCode::Io, fmt::format("no line to a child: {}", std::strerror(errno))};
}

/// The program's own handlers and masks are not for the child.
constexpr int signals[] = {SIGABRT, SIGALRM, SIGBUS,  SIGFPE,  SIGHUP,  SIGILL,
                           SIGINT,  SIGPIPE, SIGQUIT, SIGSEGV, SIGTERM, SIGTRAP};

int spawn(pid_t &pid, const std::vector<std::string> &command, const Lines &lines) {
  std::vector<char *> words;
  for (const std::string &word : command)
    words.push_back(const_cast<char *>(word.c_str()));
  words.push_back(nullptr);
  sigset_t none, usual;
  sigemptyset(&none), sigemptyset(&usual);
  for (int number : signals)
    sigaddset(&usual, number);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, lines.channel[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, lines.channel[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, lines.words[1], STDERR_FILENO);
  const int failed = posix_spawnp(&pid, words[0], &actions, &attributes, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return failed;
}

[[noreturn]] void runFork(const Lines &lines, const std::function<std::string()> &answer) {
  for (int number : signals)
    std::signal(number, SIG_DFL);
  std::signal(SIGPIPE, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const rlimit noCore{0, 0};
  setrlimit(RLIMIT_CORE, &noCore);
  dup2(lines.words[1], STDOUT_FILENO);
  dup2(lines.words[1], STDERR_FILENO);
  const std::string text = answer();
  _exit(sendFrame(lines.channel[1], text) ? 0 : 1);
}

/// The status of a child; nothing if somebody else has taken it. It is killed if it does not end.
std::optional<int> reap(pid_t pid) {
  const auto end = Clock::now() + timeToEnd;
  for (auto pause = firstLook;; pause = std::min(2 * pause, lastLook)) {
    int status = 0;
    const pid_t got = waitpid(pid, &status, WNOHANG);
    if (got == pid)
      return status;
    if (got < 0 && errno != EINTR)
      return std::nullopt;
    if (Clock::now() >= end)
      ::kill(pid, SIGKILL);
    std::this_thread::sleep_for(pause);
  }
}

std::string inWords(std::optional<int> status) {
  if (status && WIFSIGNALED(*status))
    return fmt::format("died of signal {} ({})", WTERMSIG(*status), strsignal(WTERMSIG(*status)));
  if (status && WIFEXITED(*status))
    return fmt::format("ended with status {} and no answer", WEXITSTATUS(*status));
  return "ended without an answer";
}

} // namespace

Result<Child> Child::start(const std::vector<std::string> &command) {
  Lines lines;
  if (auto ok = open(lines); !ok)
    return ok.error();
  Child child;
  if (int failed = spawn(child.pid_, command, lines)) {
    child.pid_ = -1;
    return Error{ErrorCode::NotFound,
                 fmt::format("{} cannot be started: {}", command[0], std::strerror(failed))};
  }
  child.channel_ = std::exchange(lines.channel[0], -1);
  child.stderr_ = std::exchange(lines.words[0], -1);
  return child;
}

Result<Child> Child::fork(const std::function<std::string()> &answer) {
  Lines lines;
  if (auto ok = open(lines); !ok)
    return ok.error();
  Child child;
  const pid_t pid = ::fork();
  if (pid == 0)
    runFork(lines, answer);
  if (pid < 0)
    return Error{ErrorCode::Io, fmt::format("no process: {}", std::strerror(errno))};
  child.pid_ = pid;
  child.channel_ = std::exchange(lines.channel[0], -1);
  child.stderr_ = std::exchange(lines.words[0], -1);
  child.busy_ = true;
  return child;
}

Child::Child(Child &&other) noexcept { *this = std::move(other); }

Child &Child::operator=(Child &&other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(channel_, other.channel_);
  std::swap(stderr_, other.stderr_);
  std::swap(busy_, other.busy_);
  std::swap(outgoing_, other.outgoing_);
  std::swap(incoming_, other.incoming_);
  std::swap(said_, other.said_);
  std::swap(reason_, other.reason_);
  return *this;
}

Child::~Child() { close(); }

void Child::close() {
  closeFile(channel_);
  if (pid_ > 0) {
    if (busy_)
      ::kill(pid_, SIGKILL);
    reap(std::exchange(pid_, -1));
  }
  closeFile(stderr_); // after its end, or its last words would kill it
}

void Child::ask(std::string_view request) {
  outgoing_ = frameHead(request.size()).append(request);
  busy_ = true;
  sendSome();
}

void Child::watch(std::vector<pollfd> &files) const {
  if (channel_ >= 0)
    files.push_back({channel_, short(outgoing_.empty() ? POLLIN : POLLIN | POLLOUT), 0});
  if (stderr_ >= 0)
    files.push_back({stderr_, POLLIN, 0});
}

/// A child that does not listen ends sooner or later, and its end says why.
void Child::sendSome() {
  while (!outgoing_.empty()) {
    const ssize_t sent =
        send(channel_, outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent < 0 && errno != EAGAIN)
      outgoing_.clear();
    if (sent <= 0)
      return;
    outgoing_.erase(0, size_t(sent));
  }
}

void Child::hear() {
  std::array<char, 4096> chunk;
  while (stderr_ >= 0) {
    const ssize_t got = read(stderr_, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR)
      continue;
    if (got == 0)
      closeFile(stderr_);
    if (got <= 0)
      return;
    said_.append(chunk.data(), size_t(got));
    if (said_.size() > mostWords)
      said_.erase(0, said_.size() - mostWords);
  }
}

std::optional<Result<std::string>> Child::answer() {
  hear();
  sendSome();
  std::array<char, 65536> chunk;
  for (;;) {
    const ssize_t got = recv(channel_, chunk.data(), chunk.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0 && errno == EAGAIN)
      return std::nullopt;
    if (got <= 0)
      return Result<std::string>(end());
    incoming_.append(chunk.data(), size_t(got));
    uint64_t bytes = 0;
    if (incoming_.size() < sizeof bytes)
      continue;
    std::memcpy(&bytes, incoming_.data(), sizeof bytes);
    if (bytes > mostFrameBytes) {
      kill("answered with what is no answer");
      return Result<std::string>(end());
    }
    if (incoming_.size() - sizeof bytes < bytes)
      continue;
    busy_ = false;
    Result<std::string> whole = incoming_.substr(sizeof bytes);
    incoming_.clear();
    return whole;
  }
}

void Child::kill(std::string reason) {
  reason_ = std::move(reason);
  if (pid_ > 0)
    ::kill(pid_, SIGKILL);
}

Error Child::end() {
  closeFile(channel_);
  const std::optional<int> status = reap(std::exchange(pid_, -1));
  hear();
  busy_ = false;
  std::string text = reason_.empty() ? inWords(status) : reason_;
  if (const std::string words = lastWords(); !words.empty())
    text += "; it said: " + words;
  return {ErrorCode::Internal, std::move(text)};
}

std::string Child::lastWords() const {
  std::string words = said_;
  if (words.size() == mostWords) // cut somewhere: from the next line on
    words.erase(0, words.find('\n') + 1);
  words.erase(words.find_last_not_of(" \n") + 1);
  return words;
}

Result<std::string> callChild(Child child, std::string_view request, const TimeLimit &limit) {
  const auto end = Clock::now() + limit.time;
  if (!child.busy())
    child.ask(request);
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) {
      const double seconds = double(limit.time.count()) / 1000;
      return Error{ErrorCode::Internal,
                   fmt::format("was killed after its limit of {} s{}", seconds,
                               limit.setting.empty() ? "" : ", which " + limit.setting + " sets")};
    }
    std::vector<pollfd> files;
    child.watch(files);
    (void)poll(files.data(), nfds_t(files.size()), int(std::min<int64_t>(left, INT32_MAX)));
    if (auto answer = child.answer())
      return std::move(*answer);
  }
}

} // namespace attune
