// Reads the environment.
#include "runtime/cache/Options.h"
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <system_error>
#include <unistd.h>

namespace attune::cache {

namespace {

/// Other people can write to /tmp, and what lies in a cache runs: the directory has to be ours
/// alone, whoever made it.
bool isPrivate(const std::string &path) {
  struct stat status;
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return false;
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == geteuid() && (status.st_mode & 022) == 0;
}

void chooseDirectory(const Environment &get, Options &options) {
  auto isUsable = [](const std::optional<std::string> &path) {
    return path && path->starts_with('/') && path->find_first_not_of('/') != std::string::npos;
  };
  if (auto xdg = get(Variable::XDG_CACHE_HOME); isUsable(xdg)) {
    options.directory = *xdg + "/attune";
    return;
  }
  const auto home = get(Variable::HOME);
  if (isUsable(home)) {
    options.directory = *home + "/.cache/attune";
    return;
  }
  const auto temporary = get(Variable::TMPDIR);
  const std::string path =
      fmt::format("{}/attune-{}", isUsable(temporary) ? *temporary : "/tmp", geteuid());
  const std::string trouble =
      home ? fmt::format("HOME={} is no home directory", *home) : "HOME is not set";
  if (isPrivate(path)) {
    options.directory = path;
    options.startWarning =
        fmt::format("{}: kernels are cached in {}; set {} to keep them elsewhere", trouble, path,
                    nameOf(Variable::ATTUNE_CACHE_DIR));
  } else
    options.startWarning = fmt::format(
        "{} and {} is not a directory of ours alone: kernels are cached in memory only; set {}",
        trouble, path, nameOf(Variable::ATTUNE_CACHE_DIR));
}

std::string absolute(const std::string &path) {
  std::error_code failed;
  auto full = std::filesystem::absolute(path, failed).lexically_normal();
  return failed ? path : full.string();
}

void splitList(const std::string &list, std::vector<std::string> &out) {
  for (size_t at = 0; at <= list.size();) {
    size_t end = std::min(list.find(':', at), list.size());
    if (end > at)
      out.push_back(absolute(list.substr(at, end - at)));
    at = end + 1;
  }
}

/// http or https, a host, and nothing behind the path: entries' names are put there. The message
/// must not show a password.
bool isStoreUrl(const std::string &url) {
  const size_t host = url.starts_with("http://") ? 7 : url.starts_with("https://") ? 8 : 0;
  const std::string_view rest = std::string_view(url).substr(host);
  return host != 0 && !rest.empty() && rest.front() != '/' && rest.front() != ':' &&
         std::all_of(rest.begin(), rest.end(),
                     [](char c) { return c > ' ' && c < 127 && c != '?' && c != '#'; });
}

Result<void> readRemote(const Environment &get, RemoteOptions &remote) {
  const auto url = get(Variable::ATTUNE_CACHE_URL);
  if (!url)
    return {};
  if (!isStoreUrl(*url))
    return illegalValue(Variable::ATTUNE_CACHE_URL, withoutPassword(*url));
  remote.url = url->substr(0, url->find_last_not_of('/') + 1);
  remote.caFile = get(Variable::ATTUNE_CACHE_URL_CA).value_or("");
  remote.token = get(Variable::ATTUNE_CACHE_URL_TOKEN).value_or("");
  if (!std::all_of(remote.token.begin(), remote.token.end(),
                   [](char c) { return c > ' ' && c < 127; }))
    return illegalValue(Variable::ATTUNE_CACHE_URL_TOKEN, "...");
  if (auto mode = get(Variable::ATTUNE_CACHE_URL_MODE)) {
    remote.mayWrite = *mode == "readwrite";
    if (!remote.mayWrite && *mode != "read")
      return illegalValue(Variable::ATTUNE_CACHE_URL_MODE, *mode);
  }
  const auto timeout = numberFrom(get, Variable::ATTUNE_CACHE_URL_TIMEOUT, 1, 600'000, 2000);
  if (!timeout)
    return timeout.error();
  remote.timeout = std::chrono::milliseconds(*timeout);
  return {};
}

} // namespace

std::string withoutPassword(const std::string &url) {
  const size_t scheme = url.find("://");
  const size_t host = scheme == std::string::npos ? 0 : scheme + 3;
  const size_t user = url.rfind('@', url.find('/', host));
  return user == std::string::npos || user < host ? url
                                                  : url.substr(0, host) + url.substr(user + 1);
}

Result<uint64_t> parseBytes(std::string_view text) {
  uint64_t value = 0;
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view unit(end, size_t(text.data() + text.size() - end));
  constexpr std::string_view units = "KMGT";
  const size_t power = unit.empty() ? 0 : units.find(unit.front()) + 1; // npos + 1 = 0
  const bool isUnit = unit.empty() || (unit.size() == 1 && power > 0);
  if (failed != std::errc() || !isUnit || value > UINT64_MAX >> (10 * power))
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("\"{}\" is no size: write bytes, or a number with K, M, G or T", text)};
  return value << (10 * power);
}

Result<Options> optionsFromEnvironment(const Environment &get) {
  Options options;
  if (auto mode = get(Variable::ATTUNE_CACHE)) {
    if (*mode == "readonly")
      options.mode = Mode::ReadOnly;
    else if (*mode == "off")
      options.mode = Mode::Off;
    else if (*mode != "on")
      return illegalValue(Variable::ATTUNE_CACHE, *mode);
  }
  if (auto limit = get(Variable::ATTUNE_CACHE_LIMIT)) {
    auto bytes = parseBytes(*limit);
    if (!bytes)
      return illegalValue(Variable::ATTUNE_CACHE_LIMIT, *limit);
    options.limitBytes = *bytes;
  }
  if (auto strict = get(Variable::ATTUNE_NO_JIT)) {
    if (*strict != "0" && *strict != "1")
      return illegalValue(Variable::ATTUNE_NO_JIT, *strict);
    options.mayBuild = *strict == "0";
  }
  if (options.mode == Mode::Off)
    return options;
  if (auto read = readRemote(get, options.remote); !read)
    return read.error();
  if (auto base = get(Variable::ATTUNE_CACHE_BASE))
    splitList(*base, options.base);
  if (auto directory = get(Variable::ATTUNE_CACHE_DIR))
    options.directory = absolute(*directory);
  else
    chooseDirectory(get, options);
  return options;
}

} // namespace attune::cache
