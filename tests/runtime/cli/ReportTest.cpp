// Reports: a failed comparison must show, in both forms.
#include "tools/attune/Report.h"
#include <catch2/catch.hpp>
#include <limits>
#include <nlohmann/json.hpp>

using namespace attune;
using namespace attune::tool;
using Catch::Contains;

namespace {

RunReport report(bool right) {
  RunReport r;
  r.spec = "specs/x.attn";
  r.checked = true;
  r.kernels.resize(1);
  r.kernels[0].kernel.name = "x";
  r.kernels[0].kernel.resources.vgpr = 99;
  r.kernels[0].compileMs = 12.5;
  CallReport call;
  call.label = "q 1  kv 2";
  call.out.emplace();
  call.out->compared = 4;
  call.out->maxAbs = 0.25;
  call.out->worst = {{0, 3}, 1, 1.25, 0.25, 0.5};
  call.out->tolerance = oracle::outTolerance(DType::BF16, DType::BF16, 1);
  call.lse.emplace();
  if (!right) {
    double infinity = std::numeric_limits<double>::infinity();
    call.lse->ok = false;
    call.lse->wrong = call.lse->compared = 1;
    call.lse->maxAbs = infinity;
    call.lse->worst = {{0}, -infinity, 3, infinity, 0.001};
  }
  r.calls.push_back(call);
  return r;
}

} // namespace

TEST_CASE("A good report") {
  RunReport r = report(true);
  CHECK(r.ok());
  CHECK_THAT(asText(r), Contains("ok: agrees") && Contains("worst at [0, 3]: 1.25, must be 1"));
  auto json = nlohmann::json::parse(asJson(r));
  CHECK(json["ok"] == true);
  CHECK(json["max_abs_err"] == 0.25);
  CHECK(json["compile_ms"] == 12.5);
  CHECK(json["kernels"][0]["vgpr"] == 99);
  CHECK(json["tolerance"] == "max(0.01, 2 ulp of bf16)");
  CHECK(json["worst"]["tensor"] == "out");
}

TEST_CASE("A bad LSE fails the report and is its worst place") {
  RunReport r = report(false);
  CHECK_FALSE(r.ok());
  CHECK_THAT(asText(r), Contains("FAILED") && Contains("1 of 1 elements are wrong"));
  auto json = nlohmann::json::parse(asJson(r));
  CHECK(json["ok"] == false);
  CHECK(json["worst"]["tensor"] == "lse");
  CHECK(json["worst"]["expected"] == "-inf");
  CHECK(json["lse_max_abs_err"] == "inf");
}

TEST_CASE("Without a check there are no errors to tell") {
  RunReport r = report(true);
  r.checked = false;
  r.calls[0].out.reset();
  r.calls[0].lse.reset();
  auto json = nlohmann::json::parse(asJson(r));
  CHECK(json["ok"] == true);
  CHECK(json["max_abs_err"].is_null());
  CHECK(json["worst"].is_null());
  CHECK(asText(r).find("oracle") == std::string::npos);
  CHECK(nlohmann::json::parse(errorAsJson({ErrorCode::Io, "bad \xFF"}))["ok"] == false);
}
