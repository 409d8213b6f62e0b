// Damage of every kind is refused with a reason, at the latest when the damaged kernel is taken;
// and nothing, damaged by chance or on purpose, makes the reader leave the file.
#include "runtime/bundle/Bundle.h"
#include "runtime/bundle/Format.h"
#include "tests/runtime/bundle/Kernels.h"
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <random>

using namespace attune;
using namespace attune::bundle;
using namespace attune::bundle::testing;

namespace {

const std::vector<Sample> all = {{.spec = "a", .code = "code of a"},
                                 {.spec = "b", .code = "code of b"},
                                 {.spec = "c", .code = "code of c"}};

/// What open says; empty: nothing.
std::string refusalOf(const std::string &path) {
  auto bundle = Bundle::open(path);
  return bundle ? "" : bundle.error().message;
}

/// Every kernel of `bytes` is the right one or refused; the number that is right.
int rightKernels(const Bytes &bytes) {
  auto bundle = Bundle::fromMemory(bytes);
  if (!bundle)
    return 0;
  int right = 0;
  for (const Sample &sample : all)
    if (auto kernel = bundle->find(keyOf(sample).digest()))
      if (auto entry = bundle->load(*kernel)) {
        CHECK(entry->keyText == keyOf(sample).text());
        CHECK(std::string(entry->image.codeObject.begin(), entry->image.codeObject.end()) ==
              sample.code);
        ++right;
      }
  return right;
}

Header headOf(const Bytes &bytes) {
  Header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  return header;
}

/// The CRC of a changed index put right: damage on purpose.
void forge(Bytes &bytes) {
  Header header = headOf(bytes);
  header.indexCrc = crcOfIndex(std::span(bytes).first(Tables(header.kernels, header.objects).end));
  std::memcpy(bytes.data(), &header, sizeof(header));
}

} // namespace

TEST_CASE("A file that is no whole bundle is refused when it is opened, and the reason is named") {
  TempDir folder;
  const Bytes good = bundleOf(all);
  auto says = [&](const Bytes &bytes) { return refusalOf(folder.write("b.attune", bytes)); };
  using Catch::Matchers::Contains;
  CHECK(says(good).empty());
  CHECK_THAT(says({}), Contains("less than any bundle"));
  CHECK_THAT(says(Bytes(good.begin(), good.begin() + good.size() / 2)), Contains("its head says"));
  CHECK_THAT(says(Bytes(good.begin() + 1, good.end())), Contains("does not begin like a bundle"));
  Bytes longer = good;
  longer.push_back(0);
  CHECK_THAT(says(longer), Contains("its head says"));
  Bytes other = good;
  other[8] = 2;
  CHECK_THAT(says(other), Contains("format 2, this version reads format 1"));
  other = good;
  other[sizeof(Header) + 3] ^= 1;
  CHECK_THAT(says(other), Contains("its index is damaged"));
  std::filesystem::create_directory(folder / "d.attune");
  CHECK_THAT(refusalOf(folder / "d.attune"), Contains("not a file"));
  auto missing = Bundle::open(folder / "missing.attune");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == ErrorCode::NotFound);
  CHECK_THAT(missing.error().message, Contains("missing.attune"));
}

TEST_CASE(
    "A changed bit anywhere is found by verify, and costs at most the kernels it is part of") {
  const Bytes good = bundleOf(all);
  REQUIRE(rightKernels(good) == 3);
  const size_t index = Tables(3, 3).end, trailer = good.size() - sizeof(RawDigest);
  for (size_t at = 0; at < good.size(); ++at) {
    Bytes bad = good;
    bad[at] = uint8_t(bad[at] ^ (1u << (at % 8)));
    auto bundle = Bundle::fromMemory(bad);
    CAPTURE(at);
    if (at < index) {
      CHECK_FALSE(bundle);
      continue;
    }
    REQUIRE(bundle);
    CHECK_FALSE(bundle->verify());
    CHECK(rightKernels(bad) == (at < trailer ? 2 : 3));
  }
}

TEST_CASE("Kernels whose records or code objects are exchanged are refused") {
  const Bytes good = bundleOf(all);
  const Tables tables(3, 3);
  auto exchange = [&](size_t a, size_t b, size_t bytes) {
    Bytes bad = good;
    std::swap_ranges(bad.begin() + a, bad.begin() + a + bytes, bad.begin() + b);
    forge(bad);
    return rightKernels(bad);
  };
  const size_t place = offsetof(KernelRow, offset), row = sizeof(KernelRow);
  CHECK(exchange(tables.rows + place, tables.rows + row + place, row - place) == 1);
  CHECK(exchange(tables.objectRows, tables.objectRows + sizeof(ObjectRow), sizeof(ObjectRow)) == 1);
}

TEST_CASE("An index that was forged leads to refusals, not outside the file") {
  const Bytes good = bundleOf(all);
  const size_t index = Tables(3, 3).end;
  std::mt19937 random(1);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    Bytes bad = good;
    const size_t at = sizeof(Header) + random() % (index - sizeof(Header) - 8);
    const uint64_t value = round % 3 ? random() : ~uint64_t(random() % 64);
    std::memcpy(bad.data() + at, &value, 8);
    forge(bad);
    refused += rightKernels(bad) < 3;
    auto bundle = Bundle::fromMemory(bad);
    REQUIRE(bundle);
    for (const Sample &sample : all)
      if (auto kernel = bundle->findAnyBuild(fieldsOf(sample)))
        (void)bundle->load(*kernel);
    (void)bundle->list();
    (void)bundle->nearest(fieldsOf({}));
    CHECK_FALSE(bundle->verify());
  }
  CHECK(refused > 1000);
  for (uint64_t count : {uint64_t(4), uint64_t(1) << 32, ~uint64_t(0)}) {
    Bytes bad = good;
    Header header = headOf(good);
    header.kernels = count;
    std::memcpy(bad.data(), &header, sizeof(header));
    CHECK_FALSE(Bundle::fromMemory(bad));
  }
}
