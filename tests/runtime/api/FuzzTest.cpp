// The C API under random call orders: whatever is called with whatever is at hand, every call
// returns a status, and one that fails leaves a text. Every function of attune.h is among them.
//
//   ATTUNE_FUZZ_SECONDS=300 api_tests "Random calls*"      goes on with other seeds for so long
#include "tests/runtime/api/Testing.h"
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
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

/// A bundle with the kernel of attention "a", and what became of copies of it on bad disks.
std::vector<std::vector<uint8_t>> bundles() {
  TempDir dir;
  Result<std::shared_ptr<Context>> builder = Context::create(optionsFor(dir.path()));
  REQUIRE(builder);
  Result<cache::Key> key = (*builder)->key(specOf("a"), {});
  Result<cache::KernelRef> image = (*builder)->image(specOf("a"), {});
  REQUIRE((key && image));
  Result<std::vector<uint8_t>> whole = bundle::writeBundle({{key->text(), "a", **image}});
  REQUIRE(whole);
  std::vector<std::vector<uint8_t>> all(6, *whole);
  all[3].resize(whole->size() / 2);
  all[4][whole->size() / 2] ^= 1;
  all[5].assign(1, 'a');
  return all;
}

struct World {
  World() {
    for (size_t i = 0; i < bundles.size(); ++i) {
      files.push_back(dir / ("bundle" + std::to_string(i)));
      std::ofstream(files.back(), std::ios::binary)
          .write(reinterpret_cast<const char *>(bundles[i].data()),
                 std::streamsize(bundles[i].size()));
    }
    std::ofstream(dir / "file.attn") << specText("a");
    files.push_back(dir / "none");
  }

  TempDir dir;
  const std::vector<std::vector<uint8_t>> bundles = ::bundles(); // outlive the contexts
  std::vector<std::string> files;
  Slots<attune_context> contexts{attune_context_destroy};
  Slots<attune_spec> specs{attune_spec_destroy};
  Slots<attune_kernel> kernels{attune_kernel_destroy};
  Slots<attune_plan> plans{attune_plan_destroy};
  std::atomic<int> ok{0}, failed{0}, mute{0}, wrong{0};
};

class Player {
public:
  Player(World &world, uint32_t seed) : w_(world), random_(seed) {}

  void play(int count) {
    for (int i = 0; i < count; ++i) {
      const attune_status status = (this->*calls[next(std::size(calls))])();
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

  /// What a getter says of a handle, or of none.
  void expect(bool right) { w_.wrong += !right; }

  attune_status askContext() {
    const auto context = w_.contexts.at(random_());
    const char *device = attune_context_device(context.get());
    const char *arch = attune_context_arch(context.get());
    expect(context ? device && arch && !strcmp(arch, "gfx950") : !device && !arch);
    const char *text = nullptr; // another thread may ask too: it is not read
    return attune_context_counters(context.get(), next(20) ? &text : nullptr);
  }

  attune_status addBundle() {
    const auto context = w_.contexts.at(random_());
    const uint32_t which = next(uint32_t(w_.files.size()));
    if (next(2))
      return attune_context_add_bundle(context.get(), w_.files[which].c_str());
    if (which == w_.bundles.size())
      return attune_context_add_bundle_memory(context.get(), nullptr, 0);
    return attune_context_add_bundle_memory(context.get(), w_.bundles[which].data(),
                                            w_.bundles[which].size());
  }

  attune_status parse() {
    static const char *const names[] = {"a", "b", "refuse", "garbage", "c"};
    std::string text = specText(names[next(5)]);
    if (next(4) == 0)
      text[next(uint32_t(text.size()))] = char(next(256));
    const attune_setting parameters[] = {{"reach", "9"}, {"reach", next(2) ? nullptr : "8"}};
    attune_spec_options options{};
    options.size = next(8) ? sizeof options : next(sizeof options);
    options.file_name = next(2) ? "fuzz.attn" : nullptr;
    options.attention = next(8) ? nullptr : "a";
    options.parameters = next(8) ? nullptr : parameters;
    options.num_parameters = next(8) ? 0 : next(3);
    const attune_spec_options *given = next(2) ? &options : nullptr;
    attune_spec *spec = nullptr;
    const attune_status status =
        next(4) ? attune_spec_parse(text.data(), next(2) ? text.size() : SIZE_MAX, given, &spec)
                : attune_spec_parse_file((w_.dir / (next(4) ? "file.attn" : "none")).c_str(), given,
                                         &spec);
    w_.specs.put(random_(), spec);
    return status;
  }

  attune_status askSpec() {
    const auto spec = w_.specs.at(random_());
    const char *name = attune_spec_name(spec.get()), *digest = attune_spec_digest(spec.get());
    expect(spec ? name && digest && strlen(digest) == 64 : !name && !digest);
    return ATTUNE_OK;
  }

  attune_status getNow() { return get(attune_kernel_get); }
  attune_status getSoon() { return get(attune_kernel_get_async); }

  attune_status get(decltype(attune_kernel_get) function) {
    const auto context = w_.contexts.at(random_());
    const auto spec = w_.specs.at(random_());
    attune_setting knob{"waves", next(2) ? "2" : nullptr};
    attune_kernel_options options{};
    options.size = sizeof options;
    options.knobs = next(9) ? &knob : nullptr;
    options.num_knobs = next(2);
    attune_kernel *kernel = nullptr;
    const attune_status status =
        function(context.get(), spec.get(), next(2) ? &options : nullptr, &kernel);
    w_.kernels.put(random_(), kernel);
    return status;
  }

  attune_status askKernel() {
    const auto kernel = w_.kernels.at(random_());
    const int32_t index = int32_t(next(5)) - 2;
    expect(!attune_kernel_tensor_name(kernel.get(), index)); // it has none
    expect(!attune_kernel_scalar_name(kernel.get(), index));
    const void *code = nullptr;
    size_t bytes = 0;
    expect((attune_kernel_code(kernel.get(), &code, &bytes) == ATTUNE_OK) == bool(kernel));
    expect(!kernel || !memcmp(code, "\177ELF", 4));
    attune_kernel_info info{};
    info.size = next(8) ? sizeof info : next(sizeof info);
    const attune_status status = attune_kernel_get_info(kernel.get(), &info);
    if (status == ATTUNE_OK && info.size == sizeof info)
      expect(!strcmp(info.name, "k") && strstr(info.sidecar, "\"k\""));
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

  attune_status askPlan() {
    const auto plan = w_.plans.at(random_());
    attune_plan_info info{};
    info.size = next(8) ? sizeof info : next(sizeof info);
    const attune_status status = attune_plan_get_info(plan.get(), &info);
    if (status == ATTUNE_OK && info.size == sizeof info)
      expect(*info.valid_while && info.batch < 5);
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

  /// Memory of a context: what was copied in comes out, and nothing beyond its end.
  attune_status useMemory() {
    const auto context = w_.contexts.at(random_());
    const uint32_t bytes = next(5000), copied = next(6000);
    uint64_t memory = 0;
    if (auto status = attune_alloc(context.get(), next(50) ? bytes : uint64_t(random_()) << 32,
                                   next(20) ? &memory : nullptr))
      return status;
    const std::vector<uint8_t> in(copied, uint8_t(next(256)));
    std::vector<uint8_t> out(copied);
    attune_status status = attune_copy_in(context.get(), memory, in.data(), copied);
    if (status == ATTUNE_OK) {
      expect(attune_copy_out(context.get(), out.data(), memory, copied) == ATTUNE_OK && in == out);
      status = attune_synchronize(context.get(), nullptr);
    }
    attune_free(context.get(), next(20) ? memory : 1);
    return status;
  }

  attune_status ask() {
    const auto status = attune_status(int(next(14)) - 2);
    expect(*attune_status_name(status) && attune_abi_version() == ATTUNE_ABI_VERSION);
    return ATTUNE_OK;
  }

  using Call = attune_status (Player::*)();
  static constexpr Call calls[] = {&Player::createContext, &Player::parse,     &Player::parse,
                                   &Player::getSoon,       &Player::getNow,    &Player::getNow,
                                   &Player::plan,          &Player::plan,      &Player::run,
                                   &Player::run,           &Player::useMemory, &Player::ask,
                                   &Player::askContext,    &Player::askSpec,   &Player::askKernel,
                                   &Player::askPlan,       &Player::addBundle};

  World &w_;
  std::mt19937 random_;
};

} // namespace

TEST_CASE("Random calls of the C API, from one thread and from four") {
  useFakeCompiler();
  const char *wanted = std::getenv("ATTUNE_FUZZ_SECONDS");
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::seconds(wanted ? std::atoi(wanted) : 0);
  uint32_t seed = 0, calls = 0;
  do
    for (int threads : {1, 4}) {
      INFO("round " << seed << ", " << threads << " threads");
      World world;
      std::vector<std::thread> players;
      for (int t = 0; t < threads; ++t)
        players.emplace_back(
            [&world, threads, s = ++seed] { Player(world, s).play(6000 / threads); });
      for (std::thread &player : players)
        player.join();
      CHECK(world.mute == 0);
      CHECK(world.wrong == 0);
      CHECK(world.ok > 500); // it gets somewhere
      CHECK(world.failed > 500);
      calls += uint32_t(world.ok + world.failed);
    }
  while (std::chrono::steady_clock::now() < end);
  if (wanted)
    WARN(calls << " calls");
}
