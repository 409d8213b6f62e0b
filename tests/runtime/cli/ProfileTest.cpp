// The trace and the page of `attune profile`, from a report made by hand.
#include "tools/attune/Profile.h"
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace attune;
using nlohmann::json;

namespace {

sim::TimingReport twoIssues() {
  sim::TimingReport report;
  report.kernel = "k</script>";
  report.clk = 100;
  sim::InstReport load{.inst = 7, .pc = 0x40, .mnemonic = "ds_read_b128", .executed = 2};
  load.stallClk = 12;
  load.stalls[size_t(sim::Stall::LdsQueue)] = 12;
  report.stalls = load.stalls;
  report.instructionReports = {load};
  report.timeline = {
      {.clk = 20, .wave = 1, .inst = 7},
      {.clk = 50, .wave = 1, .inst = 7, .stallClk = 12, .reason = sim::Stall::LdsQueue}};
  return report;
}

} // namespace

TEST_CASE("the trace has a name for each wave, its issues, and its waits before them") {
  json events = json::parse(tool::profileTrace(twoIssues()))["traceEvents"];
  REQUIRE(events.size() == 4);
  CHECK(events[0]["args"]["name"] == "wave 1");
  CHECK(events[1]["ts"] == 20);
  CHECK(events[1]["args"]["pc"] == "0x40");
  CHECK(events[2]["name"] == "lds queue");
  CHECK(events[2]["ts"] == 38);
  CHECK(events[2]["dur"] == 12);
  CHECK(events[3]["name"] == "ds_read_b128");
}

TEST_CASE("the page holds its data, and no text of a kernel can leave its place") {
  tool::Profiled what;
  what.title = "a <b> & \"c\"";
  what.lines = {{0x40, {"ds_read_b128 v[0:3], v4", 3, "  %1 = tile.read %0"}}};
  std::string page = tool::profileHtml(twoIssues(), what);
  CHECK(page.find("<title>attune profile: a &lt;b&gt; &amp; &quot;c&quot;</title>") !=
        std::string::npos);
  CHECK(page.find("@TITLE@") == std::string::npos);
  CHECK(page.find("@DATA@") == std::string::npos);
  CHECK(page.find("http") == std::string::npos); // nothing is fetched
  size_t begin = page.find("type=\"application/json\">") + 24, end = page.find("</script>", begin);
  json data = json::parse(page.substr(begin, end - begin));
  CHECK(data["report"]["kernel"] == "k</script>");
  CHECK(data["report"]["instructionReports"][0]["isa"] == "ds_read_b128 v[0:3], v4");
  CHECK(data["report"]["instructionReports"][0]["tileLine"] == 3);
  REQUIRE(data["timeline"].size() == 2);
  CHECK(data["timeline"][0] == json{20, 1, 0, 0, 0});
  CHECK(data["timeline"][1] == json{50, 1, 0, 12, size_t(sim::Stall::LdsQueue)});
  CHECK(data["stallNames"][data["timeline"][1][4].get<size_t>()] == "lds queue");
}

TEST_CASE("the table adds up what waited by op of the tile dialect, and says nothing where none is "
          "known") {
  sim::TimingReport report = twoIssues();
  report.instructionReports.push_back(
      {.inst = 8, .pc = 0x48, .mnemonic = "v_mfma", .executed = 1, .stallClk = 30});
  report.instructionReports.push_back(
      {.inst = 9, .pc = 0x50, .mnemonic = "v_mfma", .executed = 1, .stallClk = 5});
  tool::Profiled what;
  what.lines = {{0x40, {"a", 3, "  %1 = tile.read %0"}},
                {0x48, {"b", 9, "  %2 = tile.mma %1"}},
                {0x50, {"c", 9, "  %2 = tile.mma %1"}}};
  std::string text = tool::profileText(report, what, 10);
  size_t mma = text.find("line 9    stalled 35         2 instructions"),
         read = text.find("line 3    stalled 12");
  CHECK(mma != std::string::npos);
  CHECK(read != std::string::npos);
  CHECK(mma < read);
  CHECK(text.find("%2 = tile.mma %1") != std::string::npos);
  std::string bare = tool::profileText(report, {}, 10);
  CHECK(bare.find("tile dialect") == std::string::npos);
  CHECK(bare.find("cache") == std::string::npos);
}

TEST_CASE("the table and the JSON say where the kernel is from, and why there are no lines") {
  tool::Profiled what;
  what.cache = tool::CacheUse{.result = tool::CacheResult::Hit,
                              .digest = "d1",
                              .directory = "/cache",
                              .from = "disk",
                              .reason = ""};
  what.noLines = "ATTUNE_NO_JIT forbids compiling";
  std::string text = tool::profileText(twoIssues(), what, 1);
  CHECK(text.find("cache hit: d1 in /cache\n") != std::string::npos);
  CHECK(text.find("no lines of the tile dialect: ATTUNE_NO_JIT forbids compiling\n") !=
        std::string::npos);
  json all = json::parse(tool::profileJson(twoIssues(), what));
  CHECK(all["cache"]["from"] == "disk");
  CHECK(all["noLines"] == what.noLines);
  CHECK_FALSE(json::parse(tool::profileJson(twoIssues(), {})).contains("cache"));
}
