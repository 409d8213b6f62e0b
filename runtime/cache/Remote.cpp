// Names, verdicts and patience of the shared tier.
#include "runtime/cache/Remote.h"
#include <condition_variable>
#include <fmt/format.h>

namespace attune::cache {

namespace {

/// Uploads have nobody waiting for them, and take turns.
constexpr int uploadPatience = 10;
/// Of uploads that wait in memory.
constexpr uint64_t mostWaitingBytes = mostRemoteBytes;

std::string pathOf(const std::string &digest) {
  return fmt::format("/{}/{}.kernel", digest.substr(0, 2), digest);
}

bool isSuccess(const HttpReply &reply) { return reply.status >= 200 && reply.status < 300; }

std::string problemOf(const HttpReply &reply) {
  return reply.status == 0 ? reply.problem : fmt::format("HTTP status {}", reply.status);
}

/// A reply that someone waits for until a moment, and not longer.
struct Pending {
  std::mutex mutex;
  std::condition_variable came;
  std::optional<HttpReply> reply;
};

} // namespace

bool Breaker::allows() {
  std::unique_lock lock(mutex_);
  if (inRow_ < failures_)
    return true;
  const auto now = HttpClock::now();
  if (now < offUntil_)
    return false;
  offUntil_ = now + pause_; // for the others, while this one tries
  return true;
}

void Breaker::report(bool good) {
  std::unique_lock lock(mutex_);
  inRow_ = good ? 0 : inRow_ + 1;
  offUntil_ = HttpClock::now() + pause_;
}

struct Remote::Uploads {
  Uploads(const RemoteOptions &options, PutReport tell)
      : breaker(options.failures, options.pause), report(std::move(tell)) {}

  Breaker breaker;
  std::atomic<uint64_t> waitingBytes{0};
  std::mutex mutex;
  PutReport report; ///< empty once nobody listens

  void end(const std::string &problem, bool answered) {
    std::unique_lock lock(mutex);
    if (report)
      report(problem, answered);
  }
};

Remote::Remote(const RemoteOptions &options, PutReport report)
    : options_(options), reads_(options.failures, options.pause),
      uploads_(std::make_shared<Uploads>(options, std::move(report))),
      client_({options.token, options.caFile, mostRemoteBytes}) {}

Remote::~Remote() {
  client_.drain(options_.timeout);
  std::unique_lock lock(uploads_->mutex);
  uploads_->report = nullptr;
}

std::string Remote::urlOf(const std::string &digest) const { return options_.url + pathOf(digest); }

std::string Remote::nameOf(const std::string &digest) const {
  return withoutPassword(options_.url) + pathOf(digest);
}

RemoteReply Remote::get(const std::string &digest) {
  if (!reads_.allows())
    return {};
  const auto deadline = HttpClock::now() + options_.timeout;
  auto pending = std::make_shared<Pending>();
  client_.send({HttpMethod::Get, urlOf(digest), nullptr, deadline},
               [pending](HttpReply reply) -> std::optional<HttpRequest> {
                 std::unique_lock lock(pending->mutex);
                 pending->reply = std::move(reply);
                 pending->came.notify_all();
                 return std::nullopt;
               });
  std::unique_lock lock(pending->mutex);
  pending->came.wait_until(lock, deadline, [&] { return pending->reply.has_value(); });
  HttpReply reply =
      pending->reply
          ? std::move(*pending->reply)
          : HttpReply{0, {}, fmt::format("no answer in {} ms", options_.timeout.count())};
  const bool missing = reply.status == 404 || reply.status == 410;
  const bool good = reply.status == 200;
  reads_.report(good || missing);
  if (good)
    return {RemoteState::Answered, std::move(reply.body), {}};
  if (missing)
    return {RemoteState::Miss, {}, {}};
  return {RemoteState::Failed, {}, fmt::format("{}: {}", nameOf(digest), problemOf(reply))};
}

bool Remote::put(const std::string &digest, Bytes entry) {
  if (!uploads_->breaker.allows())
    return false;
  const uint64_t bytes = entry.size();
  const std::string name = nameOf(digest), url = urlOf(digest);
  auto uploads = uploads_;
  if (bytes > mostRemoteBytes || uploads->waitingBytes + bytes > mostWaitingBytes) {
    uploads->end(fmt::format("{}: {} bytes are too many to store at once", name, bytes), true);
    return true;
  }
  uploads->waitingBytes += bytes;
  const auto deadline = HttpClock::now() + uploadPatience * options_.timeout;
  const HttpRequest upload{HttpMethod::Put, url, std::make_shared<const Bytes>(std::move(entry)),
                           deadline};
  const HttpRequest makeFolder{HttpMethod::MakeCollection, url.substr(0, url.rfind('/') + 1),
                               nullptr, deadline};
  enum class Step { First, Folder, Second };
  client_.send(upload,
               [=, step = Step::First](HttpReply reply) mutable -> std::optional<HttpRequest> {
                 // WebDAV's "there is no such folder". Whether making it works (another process may
                 // have been first) the second try tells.
                 if (step == Step::First && reply.status == 409) {
                   step = Step::Folder;
                   return makeFolder;
                 }
                 if (step == Step::Folder) {
                   step = Step::Second;
                   return upload;
                 }
                 uploads->waitingBytes -= bytes;
                 uploads->breaker.report(isSuccess(reply));
                 uploads->end(isSuccess(reply) ? "" : fmt::format("{}: {}", name, problemOf(reply)),
                              reply.status != 0);
                 return std::nullopt;
               });
  return true;
}

} // namespace attune::cache
