// The thread of an HttpClient: jobs come in through a queue, libcurl's multi interface serves them.
#include "runtime/cache/HttpClient.h"
#include "runtime/cache/Curl.h"
#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <deque>
#include <fmt/format.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

namespace attune::cache {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds idleLimit{2000}, endLimit{250};
constexpr long mostRedirects = 3;
/// Uploads take turns, so that they leave lines and connections to those that someone waits for.
constexpr size_t mostUploads = 2;

struct Job {
  HttpRequest request;
  HttpClient::Done done;
};

/// A job that libcurl is busy with.
struct Transfer {
  Job job;
  CURL *easy = nullptr;
  curl_slist *headers = nullptr;
  HttpReply reply;
  uint64_t mostBodyBytes = 0;
  size_t sent = 0;
  bool tooLarge = false;
  char error[CURL_ERROR_SIZE] = "";
};

size_t onBody(char *data, size_t, size_t bytes, void *context) {
  auto &transfer = *static_cast<Transfer *>(context);
  if (transfer.job.request.method != HttpMethod::Get)
    return bytes; // what a server says about an upload is of no use
  transfer.tooLarge = bytes > transfer.mostBodyBytes - transfer.reply.body.size();
  if (transfer.tooLarge)
    return 0;
  transfer.reply.body.insert(transfer.reply.body.end(), data, data + bytes);
  return bytes;
}

size_t onUpload(char *out, size_t, size_t room, void *context) {
  auto &transfer = *static_cast<Transfer *>(context);
  const Bytes &body = *transfer.job.request.body;
  const size_t bytes = std::min(room, body.size() - transfer.sent);
  std::memcpy(out, body.data() + transfer.sent, bytes);
  transfer.sent += bytes;
  return bytes;
}

/// libcurl begins an upload again when a kept connection turns out to be closed.
int onRewind(void *context, curl_off_t offset, int origin) {
  auto &transfer = *static_cast<Transfer *>(context);
  if (origin != SEEK_SET || offset < 0 || uint64_t(offset) > transfer.job.request.body->size())
    return CURL_SEEKFUNC_CANTSEEK;
  transfer.sent = size_t(offset);
  return CURL_SEEKFUNC_OK;
}

} // namespace

struct HttpClient::State {
  explicit State(const HttpSettings &s) : settings(s) {}

  const HttpSettings settings;
  const pid_t process = getpid(); ///< whose thread it is
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Job> reads, uploads; ///< not yet taken by the thread
  size_t open = 0;                ///< jobs that are not done
  bool running = false;           ///< a thread will look at the queues again
  bool stopping = false;
  size_t threads = 0; ///< running, or on its way out
  /// To wake the thread up; null while it has none.
  const Curl *curl = nullptr;
  CURLM *multi = nullptr;
};

namespace {

/// What the thread does, and what only it touches.
class Loop {
public:
  Loop(HttpClient::State &state, const Curl &curl, CURLM *multi)
      : state_(state), curl_(curl), multi_(multi) {}
  ~Loop() {
    for (auto &transfer : active_)
      release(*transfer);
    curl_.multi_cleanup(multi_);
  }

  void run() {
    {
      std::unique_lock lock(state_.mutex);
      state_.curl = &curl_;
      state_.multi = multi_;
    }
    while (takeJobs()) {
      int busy = 0, left = 0;
      curl_.multi_perform(multi_, &busy);
      while (CURLMsg *message = curl_.multi_info_read(multi_, &left))
        if (message->msg == CURLMSG_DONE)
          finish(message->easy_handle, message->data.result);
      curl_.multi_poll(multi_, nullptr, 0, int(idleLimit.count()), nullptr);
    }
  }

private:
  bool takeJobs();
  void start(Job);
  void configure(Transfer &);
  void finish(CURL *, CURLcode);
  void conclude(Job, HttpReply);
  void release(Transfer &);
  size_t activeUploads() const;

  HttpClient::State &state_;
  const Curl &curl_;
  CURLM *multi_;
  std::vector<std::unique_ptr<Transfer>> active_;
  HttpClock::time_point lastWork_ = HttpClock::now();
};

size_t Loop::activeUploads() const {
  return size_t(std::count_if(active_.begin(), active_.end(), [](const auto &transfer) {
    return transfer->job.request.method != HttpMethod::Get;
  }));
}

/// False: there is nothing more to do, and the thread ends. Decided under the lock, so that a job
/// is either seen here or starts a thread of its own.
bool Loop::takeJobs() {
  std::vector<Job> jobs;
  {
    std::unique_lock lock(state_.mutex);
    for (; !state_.reads.empty(); state_.reads.pop_front())
      jobs.push_back(std::move(state_.reads.front()));
    for (size_t n = activeUploads(); n < mostUploads && !state_.uploads.empty(); ++n) {
      jobs.push_back(std::move(state_.uploads.front()));
      state_.uploads.pop_front();
    }
    if (!jobs.empty() || !active_.empty())
      lastWork_ = HttpClock::now();
    if (state_.stopping || HttpClock::now() - lastWork_ >= idleLimit) {
      state_.running = false;
      state_.multi = nullptr;
      return false;
    }
  }
  for (Job &job : jobs)
    start(std::move(job));
  return true;
}

void Loop::start(Job job) {
  if (job.request.deadline <= HttpClock::now())
    return conclude(std::move(job), {0, {}, "its turn did not come in time"});
  auto transfer = std::make_unique<Transfer>();
  transfer->job = std::move(job);
  transfer->mostBodyBytes = state_.settings.mostBodyBytes;
  transfer->easy = curl_.easy_init();
  if (transfer->easy)
    configure(*transfer);
  if (CURLMcode failed = curl_.multi_add_handle(multi_, transfer->easy)) {
    release(*transfer);
    return conclude(std::move(transfer->job),
                    {0, {}, fmt::format("libcurl: {}", curl_.multi_strerror(failed))});
  }
  active_.push_back(std::move(transfer));
}

void Loop::configure(Transfer &transfer) {
  const HttpRequest &request = transfer.job.request;
  const HttpSettings &settings = state_.settings;
  auto set = [&](CURLoption option, auto value) {
    curl_.easy_setopt(transfer.easy, option, value);
  };
  auto header = [&](const std::string &text) {
    transfer.headers = curl_.slist_append(transfer.headers, text.c_str());
  };
  const auto left = std::chrono::ceil<milliseconds>(request.deadline - HttpClock::now());
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_PROTOCOLS, long(CURLPROTO_HTTP | CURLPROTO_HTTPS));
  set(CURLOPT_TIMEOUT_MS, long(std::max<int64_t>(left.count(), 1)));
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_SSL_VERIFYPEER, 1L);
  set(CURLOPT_SSL_VERIFYHOST, 2L);
  if (!settings.caFile.empty())
    set(CURLOPT_CAINFO, settings.caFile.c_str());
  set(CURLOPT_USERAGENT, "attune");
  set(CURLOPT_ERRORBUFFER, transfer.error);
  set(CURLOPT_WRITEFUNCTION, onBody);
  set(CURLOPT_WRITEDATA, &transfer);
  if (!settings.token.empty()) // libcurl keeps this one from hosts that we are redirected to
    header("Authorization: Bearer " + settings.token);
  if (request.method == HttpMethod::Get) {
    // Nobody leads us from an encrypted store to an open one.
    const bool secret = request.url.starts_with("https:");
    set(CURLOPT_FOLLOWLOCATION, 1L);
    set(CURLOPT_MAXREDIRS, mostRedirects);
    set(CURLOPT_REDIR_PROTOCOLS, long(secret ? CURLPROTO_HTTPS : CURLPROTO_HTTP | CURLPROTO_HTTPS));
    set(CURLOPT_MAXFILESIZE_LARGE, curl_off_t(transfer.mostBodyBytes));
  } else if (request.method == HttpMethod::Put) {
    set(CURLOPT_UPLOAD, 1L);
    set(CURLOPT_INFILESIZE_LARGE, curl_off_t(request.body->size()));
    set(CURLOPT_READFUNCTION, onUpload);
    set(CURLOPT_READDATA, &transfer);
    set(CURLOPT_SEEKFUNCTION, onRewind);
    set(CURLOPT_SEEKDATA, &transfer);
    header("Content-Type: application/octet-stream");
    header("Expect:"); // or libcurl waits a second for a "go on" that many servers never say
  } else
    set(CURLOPT_CUSTOMREQUEST, "MKCOL");
  set(CURLOPT_HTTPHEADER, transfer.headers);
}

void Loop::finish(CURL *easy, CURLcode code) {
  auto at = std::find_if(active_.begin(), active_.end(),
                         [&](const auto &transfer) { return transfer->easy == easy; });
  auto transfer = std::move(*at);
  active_.erase(at);
  HttpReply reply = std::move(transfer->reply);
  if (code == CURLE_OK)
    curl_.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &reply.status);
  else if (transfer->tooLarge || code == CURLE_FILESIZE_EXCEEDED)
    reply.problem = fmt::format("the reply is larger than {} bytes", state_.settings.mostBodyBytes);
  else
    reply.problem = transfer->error[0] ? transfer->error : curl_.easy_strerror(code);
  release(*transfer);
  conclude(std::move(transfer->job), std::move(reply));
}

void Loop::conclude(Job job, HttpReply reply) {
  if (auto next = job.done(std::move(reply)))
    return start({std::move(*next), std::move(job.done)});
  std::unique_lock lock(state_.mutex);
  --state_.open;
  state_.changed.notify_all();
}

void Loop::release(Transfer &transfer) {
  curl_.multi_remove_handle(multi_, transfer.easy);
  curl_.easy_cleanup(transfer.easy);
  curl_.slist_free_all(transfer.headers);
}

/// Answers everything that waits with one problem.
void refuseAll(HttpClient::State &state, const std::string &problem) {
  std::deque<Job> jobs;
  {
    std::unique_lock lock(state.mutex);
    std::swap(jobs, state.reads);
    for (Job &job : state.uploads)
      jobs.push_back(std::move(job));
    state.uploads.clear();
    state.running = false;
  }
  for (Job &job : jobs)
    job.done({0, {}, problem});
  std::unique_lock lock(state.mutex);
  state.open -= jobs.size();
  state.changed.notify_all();
}

void runThread(const std::shared_ptr<HttpClient::State> &state) {
  const Result<Curl> &curl = loadCurl();
  CURLM *multi = curl ? curl->multi_init() : nullptr;
  if (multi)
    Loop(*state, *curl, multi).run();
  else
    refuseAll(*state, curl ? "libcurl has no memory" : curl.error().message);
  std::unique_lock lock(state->mutex);
  --state->threads;
  state->changed.notify_all();
}

/// A program's signal handlers are no business of this thread, and a peer that hangs up is no
/// reason to die.
void startThread(const std::shared_ptr<HttpClient::State> &state) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread([state] { runThread(state); }).detach();
  } catch (const std::system_error &error) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    {
      std::unique_lock lock(state->mutex);
      --state->threads;
    }
    refuseAll(*state, fmt::format("no thread can be started: {}", error.what()));
    return;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

} // namespace

HttpClient::HttpClient(HttpSettings settings) : settings_(std::move(settings)) {}

/// A forked process has none of its parent's threads, and may not touch their connections.
std::shared_ptr<HttpClient::State> HttpClient::state() {
  std::unique_lock lock(mutex_);
  if (!state_ || state_->process != getpid())
    state_ = std::make_shared<State>(settings_);
  return state_;
}

void HttpClient::send(HttpRequest request, Done done) {
  auto state = this->state();
  bool isFirst = false;
  {
    std::unique_lock lock(state->mutex);
    auto &queue = request.method == HttpMethod::Get ? state->reads : state->uploads;
    queue.push_back({std::move(request), std::move(done)});
    ++state->open;
    isFirst = !state->running;
    state->running = true;
    state->threads += isFirst;
    if (state->multi)
      state->curl->multi_wakeup(state->multi);
  }
  if (isFirst)
    startThread(state);
}

bool HttpClient::drain(milliseconds limit) {
  auto state = this->state();
  std::unique_lock lock(state->mutex);
  return state->changed.wait_for(lock, limit, [&] { return state->open == 0; });
}

HttpClient::~HttpClient() {
  auto state = this->state();
  std::unique_lock lock(state->mutex);
  state->stopping = true;
  if (state->multi)
    state->curl->multi_wakeup(state->multi);
  state->changed.wait_for(lock, endLimit, [&] { return state->threads == 0; });
}

} // namespace attune::cache
