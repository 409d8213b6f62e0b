// The property test: on 10,000 random masks, with random lengths, q blocks and tiles,
//   - no tile is called empty or full that is not (checked key by key);
//   - if the bounds claim to be exact, every tile's class is the one found key by key;
//   - if the hulls claim to be exact, some row sees each key of them;
//   - if the keys of a row are known in closed form, the mask shows it these and no others;
//   - intervals come in order, and the emitted ops compute what the bounds say.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "tests/analysis/TileClasses.h"
#include <catch2/catch.hpp>

using namespace mlir;
using namespace attune;
using namespace attune::test;

namespace {

constexpr int kWorldsPerMask = 6;

World randomWorld(Random &r) {
  World w;
  w.kvLen = pick(r, 0, 40);
  w.qLen = pick(r, 1, 44); // longer than kv_len now and then: negative positions
  w.b = pick(r, 0, 2);
  w.h = pick(r, 0, 7);
  for (int i = 0; i < kScalars; ++i)
    w.scalars.push_back(pick(r, -3, 20));
  for (int i = 0; i < 3; ++i)
    w.perBatch.push_back(pick(r, -2, 45));
  for (int64_t i = 0, doc = 0; i < std::max<int64_t>(w.kvLen, 1); ++i)
    w.perToken.push_back(doc += pick(r, 0, 6) == 0);
  return w;
}

QBlock randomBlock(Random &r, const World &w) {
  QBlock block;
  block.q0 = w.ctx() + pick(r, 0, w.qLen - 1);
  block.q1 = std::min(block.q0 + pick(r, 0, 14), w.kvLen - 1);
  block.tile = pick(r, 1, 9);
  return block;
}

void checkOrder(const Analysed &a, const World &w, const QBlock &block) {
  for (size_t i = 1; i < a.bounds.intervals.size(); ++i)
    if (a.value(a.bounds.intervals[i - 1].anyLo, w, block) >
        a.value(a.bounds.intervals[i].anyLo, w, block))
      FAIL("intervals out of order: " << a.str(w, block));
}

/// Tiles checked.
int checkClasses(const Analysed &a, const World &w, const QBlock &block) {
  int tiles = 0;
  for (int64_t key = 0; key < w.kvLen; key += block.tile, ++tiles) {
    TileClass claimed = a.classify(w, block, key), found = bruteForce(*a.mask, w, block, key);
    if (claimed != found && (claimed != TileClass::Partial || a.bounds.exact))
      FAIL("tile at " << key << " is called " << int(claimed) << " but is " << int(found) << ": "
                      << a.str(w, block));
  }
  return tiles;
}

bool holds(const Analysed &a, const analysis::Bound &lo, const analysis::Bound &hi, const World &w,
           const QBlock &block, int64_t key) {
  return a.value(lo, w, block) <= key && key <= a.value(hi, w, block);
}

void checkHulls(const Analysed &a, const World &w, const QBlock &block) {
  for (int64_t key = 0; key < w.kvLen && a.bounds.exactHulls; ++key) {
    bool hull = llvm::any_of(a.bounds.intervals, [&](const analysis::VisibleInterval &i) {
      return holds(a, i.anyLo, i.anyHi, w, block, key);
    });
    if (hull && bruteForce(*a.mask, w, {block.q0, block.q1, 1}, key) == TileClass::Empty)
      FAIL("no row sees key " << key << " of a hull: " << a.str(w, block));
  }
}

/// Keys checked.
int checkRows(const Analysed &a, const World &w, const QBlock &block) {
  int keys = 0;
  for (int64_t q = block.q0; q <= block.q1 && !a.bounds.row.empty(); ++q)
    for (int64_t key = 0; key < w.kvLen; ++key, ++keys) {
      bool claimed = llvm::any_of(a.bounds.row, [&](const analysis::RowKeys &part) {
        return holds(a, part.lo, part.hi, w, {q, q, 1}, key);
      });
      if (claimed != bool(evaluate(*a.mask, w, q, key)))
        FAIL("row " << q << " sees key " << key << " or not: " << a.str(w, block));
    }
  return keys;
}

/// Materialised on constants, a bound folds to the number that evaluate gives.
void checkMaterialized(const Analysed &a, const World &w, const QBlock &block) {
  OpBuilder b(a.module.get().getContext());
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(b.getUnknownLoc());
  b.setInsertionPointToEnd(scratch->getBody());
  auto constant = [&](int64_t v, Type type) -> Value {
    return arith::ConstantOp::create(b, b.getUnknownLoc(), b.getIntegerAttr(type, v));
  };
  auto i32 = b.getI32Type();
  Value q0 = constant(block.q0, i32), q1 = constant(block.q1, i32), kvLen = constant(w.kvLen, i32);
  auto uniform = [&](Value v) {
    auto it = a.origin.find(v);
    return constant(it != a.origin.end() ? evaluate(*it->second, w, 0, 0) : w.ctx(), v.getType());
  };
  for (const analysis::VisibleInterval &i : a.bounds.intervals)
    for (const analysis::Bound *bound : {&i.anyLo, &i.anyHi, &i.allLo, &i.allHi}) {
      Value value = analysis::materialize(b, b.getUnknownLoc(), *bound, q0, q1, kvLen, uniform);
      llvm::APInt folded;
      REQUIRE(matchPattern(value, m_ConstantInt(&folded)));
      if (folded.getSExtValue() != a.value(*bound, w, block))
        FAIL(bound->str() << " is emitted as " << folded.getSExtValue() << ": " << a.str(w, block));
    }
}

struct Totals {
  int64_t tiles = 0, exact = 0, keys = 0;
};

Totals checkMasks(Random random, int masks) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<attn::AttnDialect, arith::ArithDialect>();
  Totals totals;
  for (int i = 0; i < masks; ++i) {
    Analysed a(context, randomMask(random, static_cast<int>(pick(random, 0, 3))));
    totals.exact += a.bounds.exact;
    REQUIRE(a.bounds.exact == a.bounds.unanalysed.empty());
    REQUIRE(!a.bounds.intervals.empty());
    REQUIRE(a.bounds.intervals.size() <= 4);
    for (int j = 0; j < kWorldsPerMask; ++j) {
      World w = randomWorld(random);
      QBlock block = randomBlock(random, w);
      if (block.q0 > block.q1)
        continue;
      checkOrder(a, w, block);
      totals.tiles += checkClasses(a, w, block);
      totals.keys += checkRows(a, w, block);
      checkHulls(a, w, block);
      if (j == 0 && i % 8 == 0)
        checkMaterialized(a, w, block);
    }
  }
  return totals;
}

} // namespace

TEST_CASE("no tile of a random mask is called empty or full that is not") {
  Totals totals = checkMasks(Random(20261129), 10000);
  CHECK(totals.tiles > 300000);
  CHECK(totals.exact > 4000); // the analysis must not pass by giving up
  CHECK(totals.keys > 1000000);
}

TEST_CASE("the same for ten minutes' worth of masks", "[.long]") {
  for (uint64_t seed = 1; seed <= 40; ++seed)
    checkMasks(Random(seed), 20000);
}
