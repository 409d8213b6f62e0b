// An observer sees every instruction, access and barrier of a launch, and can stop it.
#include "runtime/sim/Observer.h"
#include "tests/sim/coreHarness.h"
#include <catch2/catch.hpp>

using namespace attune::sim;
using namespace simtest;

namespace {

struct Seen : ObserverFactory {
  std::vector<std::string> calls;
  bool stopAtStore = false;

  struct Watch : Observer {
    explicit Watch(Seen &seen) : seen(seen) {}
    Seen &seen;
    void begin(const Workgroup &, std::span<const std::unique_ptr<Wave>> waves) override {
      seen.calls.push_back("begin " + std::to_string(waves.size()));
    }
    void before(Wave &w, const Inst &i) override {
      seen.calls.emplace_back(kOpcodes[i.opcode].mnemonic);
      if (seen.stopAtStore && kOpcodes[i.opcode].mnemonic == "global_store_dword")
        w.fault("stopped by the observer");
    }
    void issued(Wave &, const Access &a, Counter) override {
      bool scalar = kOpcodes[a.inst->opcode].format == Format::SMEM; // one address, no lanes
      seen.calls.push_back(scalar ? "scalar access"
                                  : "access of lane 3 at +" +
                                        std::to_string(a.address[3] - a.address[0]));
    }
    void released(const Workgroup &) override { seen.calls.emplace_back("released"); }
    void end(const Workgroup &) override { seen.calls.emplace_back("end"); }
  };
  std::unique_ptr<Observer> make(const Dispatch &) override {
    return std::make_unique<Watch>(*this);
  }
};

} // namespace

TEST_CASE("an observer sees instructions, accesses and barriers in order, and can end the launch") {
  Fixture f(assemble(kernelText("  s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
                                "  v_lshlrev_b32 v1, 2, v0\n"
                                "  s_barrier\n"
                                "  s_waitcnt lgkmcnt(0)\n"
                                "  global_store_dword v1, v0, s[4:5]\n"
                                "  s_endpgm\n")));
  uint64_t out = f.upload(std::vector<uint32_t>(64, 77));
  Seen seen;
  SECTION("to its end") {
    REQUIRE(f.launch("k", 1, 64, Args().add(out), {.observers = &seen}) == "");
    CHECK(seen.calls == std::vector<std::string>{"begin 1", "s_load_dwordx2", "scalar access",
                                                 "v_lshlrev_b32", "s_barrier", "released",
                                                 "s_waitcnt", "global_store_dword",
                                                 "access of lane 3 at +12", "s_endpgm", "end"});
    CHECK(f.download<uint32_t>(out, 64)[5] == 5);
  }
  SECTION("stopped before the store") {
    seen.stopAtStore = true;
    std::string message = f.launch("k", 1, 64, Args().add(out), {.observers = &seen});
    CHECK(message.find("stopped by the observer") != std::string::npos);
    CHECK(message.find("global_store_dword") != std::string::npos);
    CHECK(f.download<uint32_t>(out, 64)[5] == 77);
  }
}
