// The C API under random call orders: whatever is called with whatever is at hand, every call
// returns a status, and one that fails leaves a text.
#include "tests/runtime/api/Testing.h"
#include <array>
#include <catch2/catch.hpp>
#include <mutex>
#include <random>
#include <thread>

using namespace attune;
using namespace attune::testing;

namespace {

/// Slots of handles that threads take from and put into; destroying one goes through a lock so that
/// no other thread is in a call with it, as the header demands.
template <class T> class Slots {
public:
  explicit Slots(void (*destroy)(T *)) : destroy_(destroy) {}
  ~Slots() {
    for (auto &slot : slots_)
      slot.reset();
  }
  std::shared_ptr<T> at(uint32_t i) {
    std::lock_guard lock(mutex_);
    return slots_[i % slots_.size()];
  }
  void put(uint32_t i, T *handle) {
    std::shared_ptr<T> owned(handle, destroy_);
    std::lock_guard lock(mutex_);
    slots_[i % slots_.size()].swap(owned);
  }

private:
  void (*destroy_)(T *);
  std::mutex mutex_;
  std::array<std::shared_ptr<T>, 4> slots_;
};

struct World {
  TempDir dir;
  Slots<attune_context> contexts{attune_context_destroy};
  Slots<attune_spec> specs{attune_spec_destroy};
  Slots<attune_kernel> kernels{attune_kernel_destroy};
  Slots<attune_plan> plans{attune_plan_destroy};
  std::atomic<int> ok{0}, failed{0}, mute{0};
};

class Player {
public:
  Player(World &world, uint32_t seed) : w_(world), random_(seed) {}

  void play(int calls) {
    for (int i = 0; i < calls; ++i) {
      const attune_status status = call(random_() % 11);
      if (status == ATTUNE_OK || status == ATTUNE_PENDING)
        ++w_.ok;
      else
        ++w_.failed;
      if (status != ATTUNE_OK && status != ATTUNE_PENDING && !*attune_last_error())
        ++w_.mute;
    }
  }

private:
  uint32_t next(uint32_t n) { return random_() % n; }

  attune_status createContext() {
    attune_context_options options{};
    options.size = next(8) ? sizeof options : next(64);
    options.device = next(10) ? "sim" : "none";
    options.cache_directory = next(4) ? w_.dir.path().c_str() : "/proc/nowhere";
    options.no_jit = next(4) == 0;
    options.sim_threads = int(next(3)) - (next(20) == 0 ? 5 : 0);
    options.compile_in_child = next(12) == 0;
    options.compile_timeout = next(12) ? 0 : int(next(200'000)) - 50'000;
    attune_context *context = nullptr;
    const attune_status status = attune_context_create(&options, &context);
    w_.contexts.put(random_(), context);
    return status;
  }

  attune_status parse() {
    static const char *const names[] = {"a", "b", "refuse", "garbage", "c"};
    std::string text = specText(names[next(5)]);
    if (next(4) == 0)
      text[next(uint32_t(text.size()))] = char(next(256));
    attune_spec *spec = nullptr;
    const attune_status status = attune_spec_parse(text.data(), text.size(), nullptr, &spec);
    w_.specs.put(random_(), spec);
    return status;
  }

  attune_status get(bool soon) {
    const auto context = w_.contexts.at(random_());
    const auto spec = w_.specs.at(random_());
    attune_setting knob{"waves", next(2) ? "2" : nullptr};
    attune_kernel_options options{};
    options.size = sizeof options;
    options.knobs = next(9) ? &knob : nullptr;
    options.num_knobs = next(2);
    attune_kernel *kernel = nullptr;
    const attune_status status = (soon ? attune_kernel_get_async : attune_kernel_get)(
        context.get(), spec.get(), next(2) ? &options : nullptr, &kernel);
    w_.kernels.put(random_(), kernel);
    return status;
  }

  attune_tensor tensor(int rank, std::initializer_list<int64_t> shape) {
    attune_tensor t = attune_packed(ATTUNE_BF16, rank, shape.begin());
    if (next(12) == 0)
      t.strides[next(8)] = int64_t(random_()) << next(40);
    if (next(12) == 0)
      t.shape[next(8)] = int64_t(random_()) - (1 << 20);
    if (next(12) == 0)
      t.rank = int(next(12)) - 1;
    if (next(12) == 0)
      t.dtype = int(next(12));
    return t;
  }

  attune_status plan() {
    const auto kernel = w_.kernels.at(random_());
    const int64_t tokens = next(20);
    attune_shapes s{};
    s.size = sizeof s;
    s.q = tensor(3, {tokens, 4, 64});
    s.out = tensor(3, {tokens, 4, 64});
    s.k = tensor(3, {tokens, 2, 64});
    s.v = tensor(3, {tokens, 2, 64});
    s.lse = tensor(2, {4, tokens});
    s.lse.dtype = ATTUNE_F32;
    s.batch = next(5);
    s.max_q_len = next(30);
    attune_plan *made = nullptr;
    const attune_status status = attune_plan_create(kernel.get(), &s, &made);
    w_.plans.put(random_(), made);
    return status;
  }

  attune_status run() {
    const auto plan = w_.plans.at(random_());
    attune_pointers p{};
    p.size = next(20) ? sizeof p : next(300);
    // The fake kernel follows no pointer.
    p.q = p.k = p.v = p.out = p.lse = p.cu_seqlens_q = p.cu_seqlens_k =
        next(9) ? 0x100000 : random_();
    p.batch = int64_t(next(3)) - 1;
    if (p.size > sizeof p)
      p.size = sizeof p;
    return attune_run(plan.get(), &p, nullptr);
  }

  attune_status call(uint32_t which) {
    switch (which) {
    case 0:
      return createContext();
    case 1:
    case 2:
      return parse();
    case 3:
      return get(true);
    case 4:
    case 5:
      return get(false);
    case 6:
    case 7:
      return plan();
    case 8:
    case 9:
      return run();
    default: {
      const auto context = w_.contexts.at(random_());
      uint64_t memory = 0;
      const attune_status status = attune_alloc(context.get(), next(5000), &memory);
      if (status == ATTUNE_OK)
        attune_free(context.get(), memory);
      return status;
    }
    }
  }

  World &w_;
  std::mt19937 random_;
};

} // namespace

TEST_CASE("Random calls of the C API, from one thread and from four") {
  useFakeCompiler();
  for (int threads : {1, 4}) {
    World world;
    std::vector<std::thread> players;
    for (int t = 0; t < threads; ++t)
      players.emplace_back([&world, t, threads] {
        Player(world, uint32_t(100 * threads + t)).play(4000 / threads);
      });
    for (std::thread &player : players)
      player.join();
    CHECK(world.mute == 0);
    CHECK(world.ok > 500); // it gets somewhere
    CHECK(world.failed > 500);
  }
}
