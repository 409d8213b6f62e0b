// What a bundle promises: the same bytes, code kept once, every kernel found, an index that is
// cheap to open.
#include "runtime/bundle/Bundle.h"
#include "runtime/bundle/Format.h"
#include "tests/runtime/bundle/Kernels.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <fmt/format.h>
#include <sys/mman.h>

using namespace attune;
using namespace attune::bundle;
using namespace attune::bundle::testing;

namespace {

std::vector<Sample> samples(int count) {
  std::vector<Sample> all;
  for (int i = 0; i < count; ++i)
    all.push_back({.spec = fmt::format("spec {}", i), .code = fmt::format("code of {}", i)});
  return all;
}

std::string codeOf(const Entry &entry) {
  return {entry.image.codeObject.begin(), entry.image.codeObject.end()};
}

/// The code of the kernel that is found, or what went wrong.
std::string codeAt(const Bundle &bundle, std::optional<uint32_t> kernel) {
  if (!kernel)
    return "not found";
  auto entry = bundle.load(*kernel);
  return entry ? codeOf(*entry) : entry.error().message;
}

Bundle opened(const Bytes &bytes) {
  auto bundle = Bundle::fromMemory(bytes);
  if (!bundle)
    FAIL(bundle.error().message);
  return *bundle;
}

} // namespace

TEST_CASE("The order of entries, repetition and compile times do not change a bundle's bytes") {
  auto all = samples(20);
  const Bytes once = bundleOf(all);
  std::reverse(all.begin(), all.end());
  for (Sample &sample : all)
    sample.compileMs += 1;
  all.push_back(all[3]);
  CHECK(bundleOf(all) == once);
}

TEST_CASE("Every kernel comes back as it was put in, and no other is found") {
  TempDir folder;
  const auto all = samples(100);
  auto bundle = Bundle::open(folder.write("b.attune", bundleOf(all)));
  REQUIRE(bundle);
  REQUIRE(bundle->size() == 100);
  CHECK(bundle->verify());
  for (const Sample &sample : all) {
    const auto kernel = bundle->find(keyOf(sample).digest());
    REQUIRE(kernel);
    auto entry = bundle->load(*kernel);
    REQUIRE(entry);
    CHECK(codeOf(*entry) == sample.code);
    CHECK(entry->keyText == keyOf(sample).text());
    CHECK(entry->label == sample.spec);
    CHECK(entry->image.sidecar.problem.specName == sample.spec);
    CHECK(entry->image.sidecar.compileMs == 0);
  }
  CHECK_FALSE(bundle->find(keyOf({.spec = "another"}).digest()));
  CHECK_FALSE(bundle->find("not a digest"));
  CHECK_FALSE(bundle->find(""));
  CHECK_FALSE(bundle->load(100));
}

TEST_CASE("A bundle outlives the file's name and the object that opened it") {
  TempDir folder;
  const std::string path = folder.write("b.attune", bundleOf(samples(3)));
  std::optional<Bundle> copy;
  {
    auto bundle = Bundle::open(path);
    REQUIRE(bundle);
    copy = *bundle;
  }
  REQUIRE(std::remove(path.c_str()) == 0);
  CHECK(codeAt(*copy, copy->find(keyOf(samples(3)[1]).digest())) == "code of 1");
}

TEST_CASE("An empty bundle is a bundle") {
  const Bytes bytes = bundleOf({});
  const Bundle bundle = opened(bytes);
  CHECK(bundle.size() == 0);
  CHECK(bundle.verify());
  CHECK(bundle.list()->empty());
  CHECK_FALSE(bundle.find(keyOf({}).digest()));
  CHECK_FALSE(bundle.findAnyBuild(fieldsOf({})));
  CHECK_FALSE(bundle.nearest(fieldsOf({})));
}

TEST_CASE("F80: equal code objects are kept once") {
  const std::string code(20000, 'x');
  std::vector<Sample> all;
  for (int i = 0; i < 10; ++i)
    all.push_back({.spec = fmt::format("spec {}", i), .code = i < 9 ? code : code + "y"});
  const Bytes bytes = bundleOf(all);
  const Bundle bundle = opened(bytes);
  CHECK(bundle.size() == 10);
  CHECK(bundle.objects() == 2);
  for (const Sample &sample : all)
    CHECK(codeAt(bundle, bundle.find(keyOf(sample).digest())) == sample.code);
  auto list = bundle.list();
  REQUIRE(list);
  CHECK((*list)[0].objectBytes >= code.size());
  CHECK((*list)[0].packedBytes < 100);
}

TEST_CASE("F69: kernels of one name and different meaning stay apart") {
  std::vector<Sample> all = {{.spec = "cap 1", .code = "one"}, {.spec = "cap 2", .code = "two"}};
  std::vector<Entry> entries = {entryOf(all[0]), entryOf(all[1])};
  entries[0].label = entries[1].label = "../" + std::string(300, 'n') + "\xc3\xa9";
  auto bytes = writeBundle(std::move(entries));
  REQUIRE(bytes);
  const Bundle bundle = opened(*bytes);
  for (const Sample &sample : all)
    CHECK(codeAt(bundle, bundle.find(keyOf(sample).digest())) == sample.code);
}

TEST_CASE("A process without a compiler finds a kernel whoever built it") {
  std::vector<Sample> all = samples(50);
  for (size_t i = 0; i < all.size(); ++i)
    all[i].compiler = fmt::format("build {}", i % 3), all[i].llvm = i % 2 ? "22.1" : "23.0";
  const Bytes bytes = bundleOf(all);
  const Bundle bundle = opened(bytes);
  for (Sample sample : all) {
    sample.compiler = "unknown", sample.llvm = "unknown";
    CHECK_FALSE(bundle.find(keyOf(sample).digest()));
    CHECK(codeAt(bundle, bundle.findAnyBuild(fieldsOf(sample))) == sample.code);
  }
  Sample other = all[7];
  other.options = "waves=8";
  CHECK_FALSE(bundle.findAnyBuild(fieldsOf(other)));
  other = all[7];
  other.arch = "gfx942";
  CHECK_FALSE(bundle.findAnyBuild(fieldsOf(other)));
  CHECK_FALSE(bundle.findAnyBuild({{"compiler", "build 1"}, {"llvm", "23.0"}}));
  CHECK_FALSE(bundle.findAnyBuild({}));
}

TEST_CASE("Of two builds of one kernel the same one is found each time, and both by their keys") {
  const Sample old{.code = "old", .compiler = "1"}, recent{.code = "new", .compiler = "2"};
  const Bytes bytes = bundleOf({old, recent}), swapped = bundleOf({recent, old});
  CHECK(bytes == swapped);
  const Bundle bundle = opened(bytes);
  CHECK(codeAt(bundle, bundle.find(keyOf(old).digest())) == "old");
  CHECK(codeAt(bundle, bundle.find(keyOf(recent).digest())) == "new");
  CHECK(bundle.findAnyBuild(fieldsOf({.compiler = "3"})));
}

TEST_CASE("The nearest kernel differs in the fewest fields and words, and they are named") {
  const std::vector<Sample> all = {
      {.spec = "q heads=32 dim=128 mask causal"},
      {.spec = "q heads=64 dim=128 mask causal", .compiler = "two"},
      {.spec = "q heads=8 dim=64"},
  };
  const Bytes bytes = bundleOf(all);
  const Bundle bundle = opened(bytes);
  auto nearestOf = [&](const Sample &sample) {
    auto nearest = bundle.nearest(fieldsOf(sample));
    REQUIRE(nearest);
    return std::pair(bundle.describe(nearest->kernel)->label, nearest->differing);
  };
  using Names = std::vector<std::string>;
  CHECK(nearestOf({.spec = "q heads=40 dim=128 mask causal"}) ==
        std::pair(all[0].spec, Names{"spec"}));
  CHECK(nearestOf({.spec = "q heads=40 dim=64"}) == std::pair(all[2].spec, Names{"spec"}));
  CHECK(nearestOf({.spec = all[1].spec, .arch = "gfx942", .compiler = "two"}) ==
        std::pair(all[1].spec, Names{"arch"}));
}

TEST_CASE("Merging gives the bytes of building all at once, in any order") {
  const auto all = samples(30);
  const std::vector<Sample> left(all.begin(), all.begin() + 20), right(all.begin() + 10, all.end());
  const Bytes leftBytes = bundleOf(left), rightBytes = bundleOf(right);
  for (bool swapped : {false, true}) {
    std::vector<Bundle> parts = {opened(swapped ? rightBytes : leftBytes),
                                 opened(swapped ? leftBytes : rightBytes)};
    auto merged = mergeBundles(parts);
    REQUIRE(merged);
    CHECK(*merged == bundleOf(all));
  }
  CHECK(*mergeBundles({}) == bundleOf({}));
}

TEST_CASE("A key that is none, or that names only its builder, is refused") {
  Entry entry = entryOf({});
  entry.keyText = "no key";
  CHECK_FALSE(writeBundle({entry}));
  entry.keyText = cache::KeyBuilder().add("llvm", "22").build()->text();
  auto refused = writeBundle({entry});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("who built it") != std::string::npos);
}

TEST_CASE("Opening a bundle of 10,000 kernels and looking one up touches no page of a kernel") {
  const auto all = samples(10000);
  const Bytes bytes = bundleOf(all);
  Header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const size_t page = 4096, index = Tables(header.kernels, header.objects).end;
  const size_t open = (index + page - 1) / page * page;
  REQUIRE(open < bytes.size() / 3);
  auto *at = static_cast<uint8_t *>(
      mmap(nullptr, bytes.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(at != MAP_FAILED);
  std::memcpy(at, bytes.data(), bytes.size());
  REQUIRE(mprotect(at + open, bytes.size() - open, PROT_NONE) == 0); // a touch would be SIGSEGV
  {
    auto bundle = Bundle::fromMemory({at, bytes.size()});
    REQUIRE(bundle);
    CHECK(bundle->size() == 10000);
    CHECK(bundle->find(keyOf(all[1234]).digest()));
    CHECK(bundle->findAnyBuild(fieldsOf({.spec = "spec 4321", .compiler = "other"})));
    REQUIRE(mprotect(at + open, bytes.size() - open, PROT_READ) == 0);
    CHECK(codeAt(*bundle, bundle->find(keyOf(all[1234]).digest())) == "code of 1234");
  }
  munmap(at, bytes.size());
}
