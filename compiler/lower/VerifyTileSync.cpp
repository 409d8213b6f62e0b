// Proof, before LLVM sees anything, that LDS is used in order.
//
// All waves run the same program, so one wave's program order tells what the others may be doing
// between barriers. Per buffer of an LDS tile the checker follows whether its DMA has landed for
// this wave (a tile.wait covers it), whether every wave knows (a barrier came after that wait), and
// whether a reader may still be at work (a read with no `tile.wait lds` and barrier after it). Then
//   a read needs a buffer that every wave knows to be filled,
//   a DMA needs a buffer that nobody fills or reads,
//   the end of the kernel needs every DMA to have landed, or it would write into the next
//   workgroup's LDS.
// vmcnt counts in issue order. Other memory instructions are left out of the count: each can only
// make a wait stricter. Loops run on sets of states until no new one appears, so the proof holds
// for every trip count; buffer numbers are followed as concrete values through the loop-carried
// arguments.
#include "compiler/dialect/tile/TileOps.h"
#include "compiler/lower/Lower.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/Pass.h"
#include <map>
#include <set>

namespace attune {
using namespace mlir;

namespace {

struct Buffer {
  bool filling = false; ///< a DMA is on its way
  bool landed = false;  ///< for this wave
  bool known = false;   ///< to all waves
  bool reading = false; ///< this wave may have reads in flight
  bool readers = false; ///< some wave may not be done reading
  int64_t nextPart = 0; ///< of a fill that was begun; 0: all of it was issued
  auto operator<=>(const Buffer &) const = default;
};

using BufferId = std::pair<void *, int64_t>; // the alloc's value, the buffer's number

struct State {
  std::map<BufferId, Buffer> buffers;
  std::vector<std::pair<BufferId, int64_t>>
      queue;                        ///< DMAs in flight, oldest first, with their instruction counts
  std::map<void *, int64_t> values; ///< known i32 loop-carried values
  auto operator<=>(const State &) const = default;
};

using States = std::set<State>;

class SyncChecker {
public:
  LogicalResult check(tile::KernelOp kernel) {
    FailureOr<States> end = runBlock(kernel.getBody().front(), {State()});
    if (failed(end))
      return failure();
    for (const State &s : *end) {
      if (!s.queue.empty())
        return kernel.emitError() << "ends with LDS-DMA in flight; wait for vmcnt = 0 first";
      for (const auto &[id, b] : s.buffers)
        if (b.nextPart)
          return kernel.emitError()
                 << "ends before part " << b.nextPart << " of a fill of buffer " << id.second;
    }
    return success();
  }

private:
  static constexpr size_t kMaxStates =
      256; // far above what a software pipeline needs; a bound on the checker's work

  std::optional<int64_t> known(const State &s, Value v) const {
    APInt constant;
    if (matchPattern(v, m_ConstantInt(&constant)))
      return constant.getSExtValue();
    if (auto x = v.getDefiningOp<arith::XOrIOp>()) {
      auto a = known(s, x.getLhs()), b = known(s, x.getRhs());
      if (a && b)
        return *a ^ *b;
    }
    auto it = s.values.find(v.getAsOpaquePointer());
    return it == s.values.end() ? std::nullopt : std::optional(it->second);
  }

  void bind(State &s, Value to, std::optional<int64_t> value) const {
    if (value && to.getType().isInteger(32))
      s.values[to.getAsOpaquePointer()] = *value;
    else
      s.values.erase(to.getAsOpaquePointer());
  }

  FailureOr<BufferId> bufferOf(Operation *op, const State &s, Value lds, Value buffer) const {
    auto index = known(s, buffer);
    int64_t count = cast<tile::LdsType>(lds.getType()).getBuffers();
    if (!index)
      return op->emitOpError(
          "uses a buffer whose number can't be followed; toggle it with xor from a constant");
    if (*index < 0 || *index >= count)
      return op->emitOpError() << "uses buffer " << *index << " of " << count;
    return BufferId(lds.getAsOpaquePointer(), *index);
  }

  FailureOr<States> runBlock(Block &block, States in) {
    for (Operation &op : block) {
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        FailureOr<States> out = runLoop(loop, in);
        if (failed(out))
          return failure();
        in = std::move(*out);
        continue;
      }
      if (auto branch = dyn_cast<scf::IfOp>(op)) {
        FailureOr<States> out = runIf(branch, in);
        if (failed(out))
          return failure();
        in = std::move(*out);
        continue;
      }
      if (!touchesLds(op))
        continue;
      States out;
      for (State s : in) {
        if (failed(step(op, s)))
          return failure();
        out.insert(std::move(s));
      }
      in = std::move(out);
    }
    return in;
  }

  FailureOr<States> runLoop(scf::ForOp loop, const States &in) {
    States heads, work;
    for (State s : in) {
      for (auto [arg, init] : llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs()))
        bind(s, arg, known(s, init));
      work.insert(std::move(s));
    }
    while (!work.empty()) {
      State s = *work.begin();
      work.erase(work.begin());
      if (!heads.insert(s).second)
        continue;
      if (heads.size() > kMaxStates)
        return loop.emitError("is too irregular for the LDS order to be proven");
      FailureOr<States> ends = runBlock(*loop.getBody(), {s});
      if (failed(ends))
        return failure();
      for (State e : *ends) {
        SmallVector<std::optional<int64_t>> next;
        for (Value v : loop.getYieldedValues())
          next.push_back(known(e, v));
        for (auto [arg, value] : llvm::zip(loop.getRegionIterArgs(), next))
          bind(e, arg, value);
        work.insert(std::move(e));
      }
    }
    // A loop may stop after any number of trips: every head is a possible exit.
    States out;
    for (State s : heads) {
      for (auto [result, arg] : llvm::zip(loop.getResults(), loop.getRegionIterArgs()))
        bind(s, result, known(s, arg));
      for (Value arg : loop.getRegionIterArgs())
        s.values.erase(arg.getAsOpaquePointer());
      out.insert(std::move(s));
    }
    return out;
  }

  FailureOr<States> runIf(scf::IfOp branch, const States &in) {
    FailureOr<States> out = runBlock(branch.getThenRegion().front(), in);
    if (failed(out))
      return failure();
    if (branch.getElseRegion().empty()) {
      out->insert(in.begin(), in.end());
      return out;
    }
    FailureOr<States> other = runBlock(branch.getElseRegion().front(), in);
    if (failed(other))
      return failure();
    out->insert(other->begin(), other->end());
    return out;
  }

  static bool touchesLds(Operation &op) {
    return isa<tile::BarrierOp, tile::DmaOp, tile::ReadOp, tile::ReadTrOp, tile::WaitOp>(op);
  }

  LogicalResult step(Operation &op, State &s) {
    if (auto dma = dyn_cast<tile::DmaOp>(op))
      return fill(dma, s);
    if (auto read = dyn_cast<tile::ReadOp>(op))
      return use(op, s, read.getLds(), read.getBuffer());
    if (auto read = dyn_cast<tile::ReadTrOp>(op))
      return use(op, s, read.getLds(), read.getBuffer());
    if (auto wait = dyn_cast<tile::WaitOp>(op))
      waitFor(wait, s);
    if (isa<tile::BarrierOp>(op))
      for (auto &[id, b] : s.buffers) {
        b.known = b.landed;
        b.readers = b.reading;
      }
    return success();
  }

  LogicalResult fill(tile::DmaOp dma, State &s) const {
    FailureOr<BufferId> id = bufferOf(dma, s, dma.getLds(), dma.getBuffer());
    if (failed(id))
      return failure();
    Buffer &b = s.buffers[*id];
    const int64_t part = int64_t(dma.getPart().value_or(0));
    const int64_t parts = int64_t(dma.getParts().value_or(1));
    if (part != b.nextPart)
      return dma.emitOpError() << "is part " << part << " of a fill of buffer " << id->second
                               << " that goes on with part " << b.nextPart;
    b.nextPart = (part + 1) % parts;
    s.queue.emplace_back(*id, dma.instructions());
    if (part > 0)
      return success();
    if (b.filling)
      return dma.emitOpError() << "fills buffer " << id->second
                               << " while an earlier DMA into it is in flight";
    if (b.readers)
      return dma.emitOpError() << "overwrites buffer " << id->second
                               << " while a wave may still read it; it needs `tile.wait lds` and a "
                                  "barrier after the last read";
    b = Buffer{.filling = true, .nextPart = b.nextPart};
    return success();
  }

  LogicalResult use(Operation &op, State &s, Value lds, Value buffer) const {
    FailureOr<BufferId> id = bufferOf(&op, s, lds, buffer);
    if (failed(id))
      return failure();
    Buffer &b = s.buffers[*id];
    if (!b.landed)
      return op.emitOpError() << "reads buffer " << id->second
                              << (b.filling ? " before a tile.wait covers the DMA that fills it"
                                            : " that nothing has filled");
    if (!b.known)
      return op.emitOpError() << "reads buffer " << id->second
                              << " with no barrier after the wait for its DMA";
    b.reading = b.readers = true;
    return success();
  }

  static void waitFor(tile::WaitOp wait, State &s) {
    if (wait.getLds())
      for (auto &[id, b] : s.buffers)
        b.reading = false;
    if (!wait.getVmcnt())
      return;
    int64_t outstanding = 0;
    for (auto &[id, count] : s.queue)
      outstanding += count;
    // A DMA has landed when everything younger fills the allowance; one that is covered in part
    // stays in the queue.
    while (!s.queue.empty() && outstanding - s.queue.front().second >= int64_t(*wait.getVmcnt())) {
      auto [id, count] = s.queue.front();
      outstanding -= count;
      Buffer &b = s.buffers[id];
      const bool last =
          llvm::count_if(s.queue, [&](const auto &entry) { return entry.first == id; }) == 1;
      if (last && b.nextPart == 0) {
        b.filling = false;
        b.landed = true;
      }
      s.queue.erase(s.queue.begin());
    }
  }
};

struct VerifyTileSync : PassWrapper<VerifyTileSync, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(VerifyTileSync)
  StringRef getArgument() const final { return "verify-tile-sync"; }
  StringRef getDescription() const final {
    return "prove that LDS reads follow their DMA and that no reader is overwritten";
  }
  void runOnOperation() final {
    for (tile::KernelOp kernel : getOperation().getOps<tile::KernelOp>())
      if (failed(SyncChecker().check(kernel)))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace

std::unique_ptr<Pass> createVerifyTileSyncPass() { return std::make_unique<VerifyTileSync>(); }

} // namespace attune
