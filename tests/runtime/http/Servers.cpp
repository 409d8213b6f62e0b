// Sockets, and nginx as a child.
#include "tests/runtime/http/Servers.h"
#include <arpa/inet.h>
#include <catch2/catch.hpp>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <netinet/in.h>
#include <stdexcept>
#include <strings.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace attune::cache::testing {

namespace fs = std::filesystem;

namespace {

constexpr const char *nginxPath = "/usr/sbin/nginx";

sockaddr_in localAddress(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(uint16_t(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// A socket that is bound to a free port of this machine.
int bindFree(int &port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = localAddress(0);
  socklen_t size = sizeof(address);
  if (::bind(fd, reinterpret_cast<sockaddr *>(&address), size) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr *>(&address), &size) != 0)
    throw std::runtime_error("no free port");
  port = ntohs(address.sin_port);
  return fd;
}

bool canConnect(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = localAddress(port);
  const bool connected =
      ::connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0;
  ::close(fd);
  return connected;
}

/// Head and body as the Content-Length says; false: it ends before.
bool readRequest(int connection, SeenRequest &request) {
  std::string text;
  size_t head = std::string::npos, body = 0;
  while (head == std::string::npos || text.size() < head + 4 + body) {
    char buffer[16384];
    const ssize_t got = ::recv(connection, buffer, sizeof(buffer), 0);
    if (got <= 0)
      return false;
    text.append(buffer, size_t(got));
    head = text.find("\r\n\r\n");
    if (const size_t at = text.find("Content-Length: "); at < head)
      body = std::stoul(text.substr(at + 16));
  }
  request.head = text.substr(0, head);
  request.body = text.substr(head + 4);
  const size_t method = text.find(' '), path = text.find(' ', method + 1);
  request.method = text.substr(0, method);
  request.path = text.substr(method + 1, path - method - 1);
  return true;
}

} // namespace

RawServer::RawServer(Answer answer) : answer_(std::move(answer)), listener_(bindFree(port_)) {
  if (::listen(listener_, 64) != 0)
    throw std::runtime_error("cannot listen");
  accepting_ = std::thread([this] { accept(); });
}

RawServer::~RawServer() {
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    for (int connection : connections_)
      ::shutdown(connection, SHUT_RDWR);
  }
  accepting_.join();
  for (std::thread &thread : threads_)
    thread.join();
  for (int connection : connections_)
    ::close(connection);
  ::close(listener_);
}

void RawServer::accept() {
  for (;;) {
    const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    std::unique_lock lock(mutex_);
    if (connection >= 0)
      connections_.push_back(connection);
    if (connection < 0 || stopping_)
      return;
    threads_.emplace_back([this, connection] { serve(connection); });
  }
}

void RawServer::serve(int connection) {
  SeenRequest request;
  if (readRequest(connection, request)) {
    {
      std::unique_lock lock(mutex_);
      requests_.push_back(request);
    }
    answer_(connection, request);
  }
  ::shutdown(connection, SHUT_RDWR); // closed with the server: its number must stay ours till then
}

std::string RawServer::url() const { return fmt::format("http://127.0.0.1:{}", port_); }

std::vector<SeenRequest> RawServer::requests() const {
  std::unique_lock lock(mutex_);
  return requests_;
}

bool sendText(int connection, const std::string &text) {
  for (size_t sent = 0; sent < text.size();) {
    const ssize_t done = ::send(connection, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (done <= 0)
      return false;
    sent += size_t(done);
  }
  return true;
}

void reply(int connection, int status, const std::string &body, const std::string &head) {
  sendText(
      connection,
      fmt::format("HTTP/1.1 {} Whatever\r\nContent-Length: {}\r\nConnection: close\r\n{}\r\n{}",
                  status, body.size(), head, body));
}

void hang(int connection) {
  char byte;
  while (::recv(connection, &byte, 1, 0) > 0) {
  }
}

RawServer::Answer objectStore(std::map<std::string, std::string> &objects, std::mutex &mutex) {
  return [&](int connection, const SeenRequest &request) {
    std::unique_lock lock(mutex);
    const auto found = objects.find(request.path);
    if (request.method == "PUT") {
      objects[request.path] = request.body;
      reply(connection, 200);
    } else if (found != objects.end())
      reply(connection, 200, found->second);
    else
      reply(connection, 404, "<Error><Code>NoSuchKey</Code></Error>");
  };
}

std::string documentedBlock() {
  const std::string page = readText(ATTUNE_SOURCE_DIR "/docs/cache.md");
  const std::string begin = "```nginx\n";
  const size_t from = page.find(begin);
  const size_t to = page.find("```", from + begin.size());
  if (from == std::string::npos || to == std::string::npos)
    throw std::runtime_error("docs/cache.md shows no nginx block");
  return page.substr(from + begin.size(), to - from - begin.size());
}

bool Nginx::isThere() {
  const bool there = ::access(nginxPath, X_OK) == 0;
  if (!there)
    WARN("skipped: there is no " << nginxPath << " (Debian: nginx-light)");
  return there;
}

Nginx::Nginx(const Replacements &replacements) {
  ::close(bindFree(port_));
  std::string block = documentedBlock();
  auto replace = [&](const std::string &from, const std::string &to) {
    size_t at = block.find(from);
    if (at == std::string::npos)
      throw std::runtime_error("docs/cache.md: no \"" + from + "\" in the nginx block");
    for (; at != std::string::npos; at = block.find(from, at + to.size()))
      block.replace(at, from.size(), to);
  };
  for (const auto &[from, to] : replacements)
    replace(from, to);
  replace("listen 8080", fmt::format("listen 127.0.0.1:{}", port_));
  replace("/srv/attune-cache", root_);
  if (block.find("10.0.0.0/8") != std::string::npos)
    replace("10.0.0.0/8", "127.0.0.0/8");
  fs::create_directory(root_);
  std::string config = fmt::format("daemon off;\nworker_processes 1;\npid {0}/pid;\n"
                                   "error_log {0}/error.log;\n{1}events {{}}\nhttp {{\n"
                                   "access_log {0}/access.log;\n",
                                   dir_.path(), ::geteuid() == 0 ? "user root;\n" : "");
  for (const char *kind : {"proxy", "fastcgi", "uwsgi", "scgi"})
    config += fmt::format("{0}_temp_path {1}/{0};\n", kind, dir_.path());
  writeText(dir_ / "nginx.conf", config + block + "}\n");

  process_ = ::fork();
  if (process_ == 0) {
    const std::string file = dir_ / "nginx.conf", log = dir_ / "error.log";
    ::execl(nginxPath, "nginx", "-c", file.c_str(), "-e", log.c_str(), nullptr);
    _exit(99);
  }
  for (int i = 0; i < 1000 && !canConnect(port_); ++i) {
    if (::waitpid(process_, nullptr, WNOHANG) != 0)
      throw std::runtime_error("nginx does not start: " + readText(dir_ / "error.log"));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

Nginx::~Nginx() { stop(); }

void Nginx::stop() {
  if (process_ > 0) {
    ::kill(process_, SIGTERM);
    ::waitpid(process_, nullptr, 0);
  }
  process_ = -1;
}

std::string Nginx::url() const { return fmt::format("http://127.0.0.1:{}", port_); }

std::string Nginx::entry(const std::string &name) const {
  const std::string digest = keyOf(name).digest();
  return fmt::format("{}/{}/{}.kernel", root_, digest.substr(0, 2), digest);
}

} // namespace attune::cache::testing
