// kernel_timer MODE KERNELS.json [N]: what the ways to a kernel cost in this process, as JSON; for
// runtime_bench.py. It sees attune.h and nothing behind it, as a program of a user does.
//
//   each   every kernel N times, each time in a new context, so that no memory has it: compiled or
//          read, as the environment says
//   start  one context that gets all kernels, by N threads that share the list
#include "runtime/include/attune/attune.hpp"
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

struct Wish {
  attune::Spec spec;
  attune::Settings knobs;
};

double milliseconds(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

double processorMs() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e3 * double(now.tv_sec) + 1e-6 * double(now.tv_nsec);
}

attune::Settings settingsOf(const json &object) {
  attune::Settings made;
  for (const auto &[name, value] : object.items())
    made.emplace_back(name, value.get<std::string>());
  return made;
}

std::vector<Wish> wishesOf(const char *file) {
  std::vector<Wish> wishes;
  for (const json &one : json::parse(std::ifstream(file)))
    wishes.push_back({attune::Spec::file(one.at("spec"), "", settingsOf(one.at("set"))),
                      settingsOf(one.at("knob"))});
  return wishes;
}

/// FNV-1a, to tell code objects apart.
std::string hashOf(std::string_view bytes) {
  uint64_t hash = 14695981039346656037u;
  for (unsigned char byte : bytes)
    hash = (hash ^ byte) * 1099511628211u;
  return std::to_string(bytes.size()) + ":" + std::to_string(hash);
}

bool mapped(const std::string &library) {
  std::ostringstream maps;
  maps << std::ifstream("/proc/self/maps").rdbuf();
  return maps.str().find(library) != std::string::npos;
}

void addCounters(json &sums, const attune::Context &context) {
  std::istringstream lines(context.counters());
  std::string name;
  uint64_t value = 0;
  while (lines >> name >> value)
    sums[name] = sums.value(name, uint64_t(0)) + value;
}

json eachOften(const std::vector<Wish> &wishes, int times) {
  json rows = json::array(), counters = json::object();
  int64_t ready = 0;
  double readyBusy = 0;
  for (const Wish &wish : wishes) {
    json row{{"ms", json::array()}, {"cpu_ms", json::array()}};
    for (int i = 0; i < times; ++i) {
      attune::Context context("sim");
      const auto start = Clock::now();
      const double busy = processorMs();
      const attune::Kernel kernel(context, wish.spec, wish.knobs);
      row["cpu_ms"].push_back(processorMs() - busy);
      row["ms"].push_back(milliseconds(Clock::now() - start));
      row["code"] = hashOf(kernel.code());
      if (!ready) {
        ready = Clock::now().time_since_epoch().count();
        readyBusy = processorMs();
      }
      addCounters(counters, context);
    }
    rows.push_back(std::move(row));
  }
  return {
      {"kernels", rows}, {"counters", counters}, {"ready_ns", ready}, {"ready_cpu_ms", readyBusy}};
}

json allAtOnce(const std::vector<Wish> &wishes, int threads) {
  attune::Context context("sim");
  std::vector<std::string> codes(wishes.size());
  std::atomic<size_t> next{0};
  std::exception_ptr failed;
  std::mutex mutex;
  const auto work = [&] {
    try {
      for (size_t i = 0; (i = next++) < wishes.size();)
        codes[i] = hashOf(attune::Kernel(context, wishes[i].spec, wishes[i].knobs).code());
    } catch (...) {
      std::lock_guard lock(mutex);
      failed = std::current_exception();
    }
  };
  const auto start = Clock::now();
  const double busy = processorMs();
  std::vector<std::thread> team;
  for (int i = 0; i < threads; ++i)
    team.emplace_back(work);
  for (std::thread &thread : team)
    thread.join();
  const double took = milliseconds(Clock::now() - start), worked = processorMs() - busy;
  if (failed)
    std::rethrow_exception(failed);
  json rows = json::array(), counters = json::object();
  for (const std::string &code : codes)
    rows.push_back({{"code", code}});
  addCounters(counters, context);
  return {{"kernels", rows}, {"counters", counters}, {"ms", took}, {"cpu_ms", worked}};
}

} // namespace

int main(int argc, char **argv) try {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (argc < 3 || (mode != "each" && mode != "start")) {
    std::fprintf(stderr, "usage: kernel_timer each|start KERNELS.json [N]\n");
    return 2;
  }
  const int number = argc > 3 ? std::atoi(argv[3]) : 1;
  const std::vector<Wish> wishes = wishesOf(argv[2]);
  json report = mode == "each" ? eachOften(wishes, number) : allAtOnce(wishes, number);
  report["llvm_mapped"] = mapped("libLLVM");
  std::printf("%s\n", report.dump().c_str());
  return 0;
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
