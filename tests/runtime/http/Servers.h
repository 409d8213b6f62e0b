// Servers for the tests of the shared tier: one of a few lines that does what a test tells it, be
// it against all rules of HTTP, and nginx.
#pragma once
#include "tests/runtime/cache/Testing.h"
#include <list>
#include <map>
#include <mutex>
#include <thread>

namespace attune::cache::testing {

struct SeenRequest {
  std::string method, path, head, body;
};

/// Serves each connection on a thread of its own, one request per connection.
class RawServer {
public:
  /// Writes to the connection what it likes. It is closed afterwards.
  using Answer = std::function<void(int connection, const SeenRequest &)>;

  explicit RawServer(Answer answer);
  ~RawServer();
  RawServer(const RawServer &) = delete;
  RawServer &operator=(const RawServer &) = delete;

  std::string url() const;
  int port() const { return port_; }
  std::vector<SeenRequest> requests() const;

private:
  void accept();
  void serve(int connection);

  const Answer answer_;
  int port_ = 0, listener_ = -1; ///< in the order in which they are found
  mutable std::mutex mutex_;
  std::vector<SeenRequest> requests_;
  std::vector<int> connections_;
  std::list<std::thread> threads_;
  bool stopping_ = false;
  std::thread accepting_;
};

/// False: the other side is gone.
bool sendText(int connection, const std::string &text);
/// A reply with its right length; `head`: further lines, each with its end.
void reply(int connection, int status, const std::string &body = "", const std::string &head = "");
/// Says nothing until the other side has gone.
void hang(int connection);

/// A store as object stores are: no folders, PUT makes what it names.
RawServer::Answer objectStore(std::map<std::string, std::string> &objects, std::mutex &);

/// nginx on a free port of 127.0.0.1, with the server block of docs/cache.md.
class Nginx {
public:
  static bool isThere(); ///< or says that the test is skipped

  /// Of texts in the block, each of which must be there.
  using Replacements = std::vector<std::pair<std::string, std::string>>;

  explicit Nginx(const Replacements &replacements = {});
  ~Nginx();
  Nginx(const Nginx &) = delete;
  Nginx &operator=(const Nginx &) = delete;

  std::string url() const; ///< http
  int port() const { return port_; }
  const std::string &root() const { return root_; }
  std::string entry(const std::string &name) const; ///< the file of keyOf(name)
  void stop();

private:
  TempDir dir_;
  std::string root_ = dir_ / "store";
  int port_;
  pid_t process_ = -1;
};

/// The server block of docs/cache.md.
std::string documentedBlock();

} // namespace attune::cache::testing
