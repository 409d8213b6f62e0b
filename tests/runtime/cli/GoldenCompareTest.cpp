// A spec against its golden: stages, first lines, budget, causes; and the reports made of it. Both
// sides are made by hand, so an LLVM that nobody has is a string.
#include "runtime/abi/Digest.h"
#include "tools/attune/GoldenFolder.h"
#include "tools/attune/GoldenReport.h"
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

using namespace attune;
using namespace attune::tool;
using Catch::Contains;

namespace {

constexpr const char *tileText = "tile.kernel {\n  %0 = tile.load\n  %1 = tile.load\n"
                                 "  %2 = arith.addf %0, %1\n  tile.store %2\n}\n";

void setText(Described &d, const std::string &stage, const std::string &text) {
  for (auto &[name, value] : d.texts)
    if (name == stage)
      value = text;
  for (auto &[name, hash] : d.golden.stages)
    if (name == stage)
      hash = sha256Hex(text);
}

void set(Fields &fields, const std::string &key, const std::string &value) {
  for (auto &[name, old] : fields)
    if (name == key)
      old = value;
}

/// A kernel as the compiler would describe it; 500 instructions.
Described kernel() {
  Described d;
  d.golden.origin = {{"arch", "gfx950"}, {"llvm", "22.1.8"}, {"plan", "kv_tile=64 waves=4"}};
  d.golden.stages = {{"spec", ""}, {"attn", ""}, {"tile", ""}, {"llvm", ""}, {"isa", "e"}};
  d.golden.resources = {{"lds_bytes", "32768"}, {"occupancy", "2"},   {"scratch_bytes", "0"},
                        {"sgpr", "40"},         {"sgpr_spills", "0"}, {"vgpr", "128"},
                        {"vgpr_spills", "0"}};
  d.golden.classes = {{"matrix", "32"}, {"valu", "468"}};
  d.texts = {{"spec", ""}, {"attn", ""}, {"tile", ""}, {"llvm", ""}};
  setText(d, "spec", "mask causal\n");
  setText(d, "attn", "attn.kernel\n");
  setText(d, "tile", tileText);
  setText(d, "llvm", "define void @k() {\n  ret void\n}\n");
  return d;
}

/// The same kernel after one instruction of a lowering changed.
Described loweredOtherwise() {
  Described d = kernel();
  std::string text = tileText;
  text.replace(text.find("addf"), 4, "subf");
  setText(d, "tile", text);
  setText(d, "llvm", "define void @k() {\n  unreachable\n}\n");
  d.golden.stages[4].second = "f";
  return d;
}

Described ofLlvm(Described d, const std::string &version) {
  set(d.golden.origin, "llvm", version);
  return d;
}

size_t count(const std::string &text, const std::string &part) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
    ++n;
  return n;
}

std::vector<std::string> names(const std::vector<Breach> &breaches) {
  std::vector<std::string> all;
  for (const Breach &breach : breaches)
    all.push_back(breach.name);
  return all;
}

struct Folder {
  Folder() : path(std::filesystem::temp_directory_path() / "attune_golden_folder_test") {
    std::filesystem::remove_all(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

} // namespace

TEST_CASE("An instruction changed in a lowering: its stage, its line and its neighbours") {
  Change change = compare("small", {kernel(), loweredOtherwise(), ""});
  CHECK(change.verdict == Verdict::Moved);
  CHECK(change.stages == std::vector<std::string>{"tile", "llvm", "isa"});
  REQUIRE(change.line);
  CHECK(*change.line == LineChange{4,
                                   {"  %0 = tile.load", "  %1 = tile.load"},
                                   "  %2 = arith.addf %0, %1",
                                   "  %2 = arith.subf %0, %1"});
  std::string text = changesAsText({change});
  CHECK_THAT(text, Contains("small: the first stage that moved is tile (then llvm, isa)\n"
                            "         2   %0 = tile.load\n"
                            "         3   %1 = tile.load\n"
                            "  -      4   %2 = arith.addf %0, %1\n"
                            "  +      4   %2 = arith.subf %0, %1\n"));
  CHECK_THAT(text, !Contains("unreachable")); // a later stage is not shown
  CHECK_THAT(text, Contains("resources and instruction counts are the same") &&
                       Contains("1 of 1 specs differ, 0 over budget") &&
                       Contains("--cause compiler"));
}

TEST_CASE("Texts part where one ends, at the start, or not at all") {
  CHECK_FALSE(firstChange("a\nb\n", "a\nb\n"));
  CHECK(*firstChange("a\n", "a\nb\n") == LineChange{2, {"a"}, std::nullopt, "b"});
  CHECK(*firstChange("a\nb\nc\nd\n", "a\nb\nc\n") == LineChange{4, {"b", "c"}, "d", std::nullopt});
  CHECK(*firstChange("x\n", "y\n") == LineChange{1, {}, "x", "y"});
  CHECK(*firstChange("a\n\nb", "a\n\nc") == LineChange{3, {"a", ""}, "b", "c"});
  CHECK_FALSE(firstChange("a\nb", "a\nb\n"));
  std::string wide(500, 'a'), other = wide;
  other[300] = 'b';
  std::string cut = clipped(other, wide);
  CHECK(cut.size() <= 166);
  CHECK(cut.find('b') == 43); // "..." and a quarter of the width
  CHECK(clipped("short", "other") == "short");
  CHECK(clipped(wide, wide + "x") == "..." + std::string(160, 'a'));
}

TEST_CASE(
    "Lines that differ in the numbers of values are passed over for the one that moved them") {
  const std::string kept =
      "br label %4\n%2 = sub %0, %1\n%3 = mul %2, %2\n4: ; preds = %3\nret %3\n";
  const std::string more =
      "br label %5\n%2 = sub %0, %1\n%3 = add %0, %0\n%4 = mul %2, %2\n5: ; preds = %4\nret %4\n";
  CHECK(*firstChange(kept, more) ==
        LineChange{3, {"br label %4", "%2 = sub %0, %1"}, "%3 = mul %2, %2", "%3 = add %0, %0"});
  // Another operand is no renaming.
  CHECK(firstChange("%2 = f\n%3 = g\nret %2\n", "%2 = f\n%3 = g\nret %3\n")->number == 3);
  CHECK(firstChange("%2 = f\n%3 = mul %2, %2\n", "%4 = f\n%3 = mul %4, %2\n")->number == 2);
  // Regions number their values anew.
  CHECK(firstChange("%0 = f\n}\n%0 = g\nret %0\nx\n", "%1 = f\n}\n%0 = g\nret %0\ny\n")->number ==
        5);
  // If there is nothing else, the first of them is the change.
  CHECK(*firstChange("a\n%1 = f\nret %1\n", "a\n%2 = f\nret %2\n") ==
        LineChange{2, {"a"}, "%1 = f", "%2 = f"});
  CHECK(firstChange("(% h 2)\n", "(% h 3)\n")->kept == "(% h 2)");
}

TEST_CASE("The budget tells what is worse from what only moved") {
  auto breached = [](Fields Golden::*group, const std::string &key, const std::string &value) {
    Described now = kernel();
    set(now.golden.*group, key, value);
    Change change = compare("small", {kernel(), now, ""});
    CHECK(change.verdict == Verdict::Moved);
    return names(change.breaches);
  };
  using Names = std::vector<std::string>;
  CHECK(breached(&Golden::resources, "vgpr", "129") == Names{"vgpr"});
  CHECK(breached(&Golden::resources, "vgpr", "120") == Names{});
  CHECK(breached(&Golden::resources, "sgpr", "90") == Names{}); // costs no occupancy
  CHECK(breached(&Golden::resources, "vgpr_spills", "1") == Names{"vgpr_spills"});
  CHECK(breached(&Golden::resources, "sgpr_spills", "1") == Names{"sgpr_spills"});
  CHECK(breached(&Golden::resources, "scratch_bytes", "4") == Names{"scratch_bytes"});
  CHECK(breached(&Golden::resources, "lds_bytes", "32784") == Names{"lds_bytes"});
  CHECK(breached(&Golden::resources, "occupancy", "1") == Names{"occupancy"});
  CHECK(breached(&Golden::resources, "occupancy", "3") == Names{});
  CHECK(breached(&Golden::classes, "valu", "478") == Names{}); // 510 of 500: 2 %
  CHECK(breached(&Golden::classes, "valu", "479") == Names{"instructions"});

  Described now = kernel();
  set(now.golden.resources, "vgpr", "168");
  set(now.golden.classes, "valu", "600");
  std::string text = changesAsText({compare("small", {kernel(), now, ""})});
  CHECK_THAT(text, Contains("    vgpr                               128       168  over budget\n"));
  CHECK_THAT(text, Contains("    instructions.valu                  468       600\n"));
  CHECK_THAT(text, Contains("over budget:\n  small                vgpr 128 -> 168\n"
                            "  small                instructions 500 -> 632, more than 2 %\n"));
  CHECK_THAT(text, Contains("1 over budget"));
}

TEST_CASE("A spec and its golden need each other, and the text") {
  auto verdict = [](Entry entry) { return compare("small", entry).verdict; };
  CHECK(verdict({kernel(), kernel(), ""}) == Verdict::Same);
  CHECK(verdict({std::nullopt, kernel(), ""}) == Verdict::NoGolden);
  CHECK(verdict({kernel(), std::nullopt, ""}) == Verdict::NoSpec);
  CHECK(verdict({kernel(), std::nullopt, "line 3: no"}) == Verdict::Refused);
  Described bare = kernel();
  bare.texts.clear();
  CHECK(verdict({bare, kernel(), ""}) == Verdict::NoText);
  Change change = compare("small", {bare, loweredOtherwise(), ""});
  CHECK(change.verdict == Verdict::Moved);
  CHECK_FALSE(change.line);
  CHECK_THAT(changesAsText({change}), Contains("no text of this stage is kept"));
}

TEST_CASE("Another LLVM gives one table of all specs") {
  Described slower = ofLlvm(loweredOtherwise(), "22.1.9");
  set(slower.golden.resources, "vgpr", "168");
  set(slower.golden.resources, "sgpr", "48");
  Entries entries{{"fast", {kernel(), ofLlvm(kernel(), "22.1.9"), ""}},
                  {"newcomer", {std::nullopt, ofLlvm(kernel(), "22.1.9"), ""}},
                  {"slow", {kernel(), slower, ""}}};
  std::vector<Change> changes = compareAll(entries);
  std::string text = changesAsText(changes);
  INFO(text);
  CHECK_THAT(text, Contains("LLVM 22.1.8 -> 22.1.9, in all specs"));
  CHECK_THAT(text, Contains("  fast      none           128 ") &&
                       Contains("  newcomer  no golden\n") &&
                       Contains("  slow      tile llvm isa  128 -> 168!") && Contains("40 -> 48 "));
  CHECK_THAT(text, Contains("over budget:\n  slow                 vgpr 128 -> 168\n"));
  CHECK_THAT(text, !Contains("arith.subf")); // no diff of each spec
  CHECK(count(text, "\n") == 8);             // heading, titles, 3 specs, 2 of breaches, the count

  CHECK_THAT(acceptedAsText(changes),
             Contains("  fast                 moved; llvm 22.1.8 -> 22.1.9\n") &&
                 Contains("  newcomer             no golden\n") &&
                 Contains("  slow                 tile, llvm, isa; llvm 22.1.8 -> 22.1.9\n"));

  auto json = nlohmann::json::parse(changesAsJson(changes, "gfx950"));
  CHECK(json["toolchain_moved"] == true);
  CHECK(json["specs"][2]["amounts_moved"]["sgpr"] == nlohmann::json({"40", "48"}));
  CHECK(json["specs"][2]["first_line"]["number"] == 4);
  CHECK(json["specs"][2]["over_budget"][0]["name"] == "vgpr");
}

TEST_CASE("A bless needs the cause that explains what moved") {
  Described otherSpec = kernel();
  setText(otherSpec, "spec", "mask window\n");
  struct Case {
    Entry entry;
    std::string cause;
  };
  const Described newLlvm = ofLlvm(loweredOtherwise(), "22.1.9");
  std::vector<Case> cases{{{kernel(), loweredOtherwise(), ""}, "compiler"},
                          {{kernel(), newLlvm, ""}, "llvm"},
                          {{kernel(), otherSpec, ""}, "spec"},
                          {{std::nullopt, kernel(), ""}, "spec"},
                          {{kernel(), std::nullopt, ""}, "spec"},
                          {{Described{kernel().golden, {}}, kernel(), ""}, "compiler"}};
  for (const Case &c : cases)
    for (std::string cause : {"spec", "compiler", "llvm"}) {
      auto ok = checkCause(cause, compareAll({{"small", c.entry}}));
      INFO(cause << " for " << c.cause);
      CHECK(bool(ok) == (cause == c.cause));
      if (!ok)
        CHECK_THAT(ok.error().message, Contains("small: ") && Contains("cause " + c.cause));
    }
  auto ok = checkCause("llvm", compareAll({{"small", {kernel(), loweredOtherwise(), ""}}}));
  CHECK_THAT(ok.error().message, Contains("tile, llvm, isa moved, the same LLVM: cause compiler"));
  CHECK(checkCause("llvm", compareAll({{"small", {kernel(), kernel(), ""}}})));
}

TEST_CASE("Text is packed to the same bytes, comes back, and damage is seen") {
  Fields texts = kernel().texts;
  auto packed = packTexts(texts);
  REQUIRE(packed);
  CHECK(*packTexts(texts) == *packed);
  auto back = unpackTexts(*packed);
  REQUIRE(back);
  CHECK(*back == texts);
  for (size_t i = 0; i < packed->size(); ++i) {
    Bytes damaged = *packed;
    damaged[i] ^= 0x10;
    auto read = unpackTexts(damaged);
    CHECK((!read || *read == texts)); // a bit that means nothing may flip
    CHECK_FALSE(unpackTexts(std::span(*packed).first(i)));
  }
  CHECK(textsOf(kernel().golden, texts) == texts);
  texts[2].second += " ";
  CHECK(textsOf(kernel().golden, texts).size() == 3); // of another record
}

TEST_CASE("The folder keeps what it is given, and writes no text twice") {
  Folder folder;
  GoldenFolder golden(folder.path.string(), "gfx950");
  REQUIRE(golden.read());
  CHECK(golden.read()->empty());
  REQUIRE(golden.write("small", kernel()));
  CHECK(golden.read()->at("small") == kernel());

  auto text = folder.path / "small.gfx950.ir.zst";
  auto written = std::filesystem::last_write_time(text);
  Described now = kernel();
  set(now.golden.resources, "vgpr", "168");
  REQUIRE(golden.write("small", now));
  CHECK(golden.read()->at("small") == now);
  CHECK(std::filesystem::last_write_time(text) == written);

  Entries entries{{"small", {kernel(), now, ""}}};
  REQUIRE(golden.log({"compiler", "wider tiles", compareAll(entries)}));
  auto log = readFile((folder.path / "LOG.md").string());
  REQUIRE(log);
  CHECK_THAT(
      std::string(log->begin(), log->end()),
      Contains(" compiler (gfx950): wider tiles [small] over budget: small vgpr 128 -> 168\n"));

  std::filesystem::remove(text);
  CHECK(golden.read()->at("small").texts.empty());
  REQUIRE(golden.remove("small"));
  CHECK(golden.read()->empty());
}
