// HTTP requests that a thread of their own makes.
//
// The thread that waits for a reply is never the one that talks to the network. Looking up a name,
// loading libcurl or a TLS library's start cannot be interrupted, so whoever promises to wait only
// so long must not be the one who does them. All requests of a client share one thread and its
// connections; the thread comes with the first request, goes after two seconds without any, and
// handles no signals.
#pragma once
#include "runtime/cache/EntryFile.h"
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace attune::cache {

using HttpClock = std::chrono::steady_clock;

enum class HttpMethod { Get, Put, MakeCollection }; ///< the last is WebDAV's mkdir

struct HttpRequest {
  HttpMethod method = HttpMethod::Get;
  std::string url;
  std::shared_ptr<const Bytes> body; ///< of Put
  HttpClock::time_point deadline;    ///< of the reply's last byte
};

struct HttpReply {
  long status = 0; ///< 0: none came, and `problem` says why
  Bytes body;      ///< of Get
  std::string problem;
};

struct HttpSettings {
  std::string token;  ///< sent as "Authorization: Bearer TOKEN" to the URL's host; empty: none
  std::string caFile; ///< certificates that a server's is checked against; empty: the system's
  uint64_t mostBodyBytes = 0; ///< of a reply; what is larger is a problem
};

class HttpClient {
public:
  /// Called with the reply, on the client's thread. May answer with a request to be made next in
  /// this one's place. Has to own what it touches: it may still be running when the client is gone.
  using Done = std::function<std::optional<HttpRequest>(HttpReply)>;

  explicit HttpClient(HttpSettings);
  /// Drops what is not done. Waits for the thread for a quarter of a second at most: one that is
  /// stuck in a name lookup is left behind.
  ~HttpClient();
  HttpClient(const HttpClient &) = delete;
  HttpClient &operator=(const HttpClient &) = delete;

  void send(HttpRequest, Done);
  /// Waits until all requests are done; whether they are.
  bool drain(std::chrono::milliseconds limit);

  struct State; ///< what a client shares with its thread

private:
  std::shared_ptr<State> state();

  const HttpSettings settings_;
  std::mutex mutex_;
  std::shared_ptr<State> state_;
};

} // namespace attune::cache
