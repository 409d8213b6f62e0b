// From options to calls: lengths by every way of saying them, given tensors, refusals.
#include "tools/attune/Inputs.h"
#include "runtime/launch/Npz.h"
#include <catch2/catch.hpp>
#include <filesystem>
#include <unistd.h>

using namespace attune;
using namespace attune::tool;
using Catch::Contains;

namespace {

ProblemShape problem(Storage storage) {
  ProblemShape p;
  p.qStorage = p.kvStorage = storage;
  p.numQHeads = 4;
  p.numKvHeads = 2;
  p.headDim = p.vHeadDim = 8;
  return p;
}

const ProblemShape varlen = problem(Storage::Varlen), dense = problem(Storage::Dense);

Jobs prepare(const ProblemShape &p, const RunArgs &args) {
  auto jobs = prepareJobs(p, nullptr, args);
  if (!jobs)
    FAIL(jobs.error().message);
  return std::move(*jobs);
}

std::string refusal(const ProblemShape &p, const RunArgs &args) {
  auto jobs = prepareJobs(p, nullptr, args);
  return jobs ? "accepted" : jobs.error().message;
}

std::vector<double> values(const HostTensor &t) {
  std::vector<double> all;
  forEachIndex(t.shape, [&](Index i) { all.push_back(t.get(i)); });
  return all;
}

/// An .npz that goes away with the test.
struct Archive {
  std::string path = (std::filesystem::temp_directory_path() /
                      ("attune-inputs-" + std::to_string(getpid()) + ".npz"))
                         .string();
  explicit Archive(const TensorMap &tensors) { REQUIRE(writeNpz(path, tensors)); }
  ~Archive() { std::filesystem::remove(path); }
  RunArgs args() const {
    RunArgs a;
    a.inputs = path;
    return a;
  }
};

} // namespace

TEST_CASE("Varlen: any lengths in one call") {
  RunArgs args;
  args.qLens = Lengths{5, 0, 300};
  args.kvLens = Lengths{700, 3, 0};
  Jobs jobs = prepare(varlen, args);
  REQUIRE(jobs.jobs.size() == 1);
  const HostCall &call = jobs.jobs[0].call;
  CHECK(call.q.shape == Shape{305, 4, 8});
  CHECK(call.k.shape == Shape{703, 2, 8});
  CHECK(values(*call.cuSeqlensQ) == std::vector<double>{0, 5, 5, 305});
  CHECK(values(*call.cuSeqlensK) == std::vector<double>{0, 700, 703, 703});
  CHECK(jobs.jobs[0].label == "q 5,0,300  kv 700,3,0");
}

TEST_CASE("Dense: equal lengths are one call, unequal ones a call each") {
  RunArgs args;
  args.qLens = Lengths{5, 5};
  args.kvLens = Lengths{7, 7};
  Jobs equal = prepare(dense, args);
  REQUIRE(equal.jobs.size() == 1);
  CHECK(equal.jobs[0].call.q.shape == Shape{2, 5, 4, 8});
  CHECK(equal.jobs[0].call.v.shape == Shape{2, 7, 2, 8});
  CHECK_FALSE(equal.jobs[0].call.cuSeqlensQ);

  args.kvLens = Lengths{7, 0};
  Jobs unequal = prepare(dense, args);
  REQUIRE(unequal.jobs.size() == 2);
  CHECK(unequal.jobs[1].call.k.shape == Shape{1, 0, 2, 8});
  CHECK(unequal.jobs[0].call.q.storage != unequal.jobs[1].call.q.storage);
  CHECK_THAT(unequal.notes.at(0), Contains("run one by one"));
}

TEST_CASE("Lengths that are not said follow from those that are") {
  RunArgs args;
  CHECK(prepare(varlen, args).jobs[0].label == "q 256  kv 256");
  args.batch = 2;
  args.kvLen = 9;
  CHECK(prepare(varlen, args).jobs[0].label == "q 9,9  kv 9,9");
  args.qLen = 3;
  CHECK(prepare(dense, args).jobs[0].label == "q 3,3  kv 9,9");
  RunArgs lists;
  lists.qLens = Lengths{1, 2};
  CHECK(prepare(varlen, lists).jobs[0].label == "q 1,2  kv 1,2");
  lists.kvLens = Lengths{1};
  CHECK(refusal(varlen, lists) == "2 query lengths but 1 key lengths; each sequence needs both");
  lists.qLens = lists.kvLens = Lengths{};
  CHECK(prepare(varlen, lists).jobs[0].call.q.shape == Shape{0, 4, 8});
  lists.qLens = lists.kvLens = Lengths(12, 1);
  CHECK(prepare(varlen, lists).jobs[0].label ==
        "q 1,1,1,1,1,1,1,1,... (12 sequences)  kv 1,1,1,1,1,1,1,1,... (12 sequences)");
}

TEST_CASE("Given tensors are used as they are, converted from numpy's defaults, the rest drawn") {
  HostTensor q = HostTensor::packed(DType::F32, {6, 4, 8});
  q.set({5, 3, 7}, 1 + 1.0 / 512); // rounds to 1 in bf16
  HostTensor cu = HostTensor::packed(DType::I64, {3});
  cu.set({1}, 2);
  cu.set({2}, 6);
  Archive archive({{"q", q}, {"cu_seqlens_q", cu}});
  RunArgs args = archive.args();
  args.kvLens = Lengths{4, 5};
  Jobs jobs = prepare(varlen, args);
  const HostCall &call = jobs.jobs.at(0).call;
  CHECK(call.q.dtype == DType::BF16);
  CHECK(call.q.get({5, 3, 7}) == 1);
  CHECK(call.cuSeqlensQ->dtype == DType::I32);
  CHECK(call.k.shape == Shape{9, 2, 8});
  CHECK(jobs.jobs[0].label == "q 2,4  kv 4,5");
  CHECK(jobs.notes == std::vector<std::string>{"q: rounded from f32 to bf16"});

  RunArgs both = archive.args();
  both.qLens = Lengths{2, 4};
  CHECK(refusal(varlen, both) == "--q-lens: --inputs has cu_seqlens_q already");
}

TEST_CASE("What does not fit is refused by name") {
  Archive dense4({{"q", HostTensor::packed(DType::BF16, {2, 5, 4, 8})}});
  CHECK(prepare(dense, dense4.args()).jobs[0].label == "q 5,5  kv 5,5");
  RunArgs args = dense4.args();
  args.qLens = Lengths{5};
  CHECK_THAT(refusal(dense, args), Contains("q is bf16[2, 5, 4, 8], but the lengths are 5"));
  args.qLens = Lengths{5, 6};
  args.kvLens = Lengths{5, 6};
  CHECK_FALSE(refusal(dense, args) == "accepted");

  Archive unknown({{"query", HostTensor::packed(DType::BF16, {1})}});
  CHECK(refusal(varlen, unknown.args()) ==
        "--inputs: the spec has no tensor query; it has q, k, v, cu_seqlens_q, cu_seqlens_k");
  Archive half({{"q", HostTensor::packed(DType::F16, {2, 4, 8})}});
  CHECK(refusal(varlen, half.args()) == "--inputs: q must be bf16 (or f32), got fp16");
  HostTensor big = HostTensor::packed(DType::I64, {2});
  big.set({1}, 5e9);
  Archive large({{"cu_seqlens_q", big}});
  CHECK(refusal(varlen, large.args()) == "--inputs: cu_seqlens_q has values that do not fit i32");
  RunArgs scalar;
  scalar.scalars["cap"] = 1;
  CHECK(refusal(varlen, scalar) == "--scalar cap: the spec has no such scalar");
  RunArgs missing;
  missing.inputs = "/nonexistent.npz";
  CHECK_THAT(refusal(varlen, missing), Contains("no such file"));
}

TEST_CASE("Given values keep what the spec promises of them, sequence by sequence") {
  HostTensor wide = HostTensor::packed(DType::I64, {2});
  wide.set({1}, -2147483648.0);
  ProblemShape p = varlen;
  p.tensors = {{"n", DType::I64, {"batch"}}};
  {
    Archive archive({{"n", wide}});
    RunArgs args = archive.args();
    args.qLens = Lengths{3, 3};
    CHECK(refusal(p, args) == "accepted");
  }
  wide.set({1}, 2147483648.0);
  Archive archive({{"n", wide}});
  RunArgs args = archive.args();
  args.qLens = Lengths{3, 3};
  CHECK(refusal(p, args) ==
        "--inputs: n has the value 2147483648; kernels read i64 as i32, -2^31 to "
        "2^31 - 1");

  spec::Model model;
  model.tensors.push_back({{"doc", DType::I32, {"tokens"}}, true, {}});
  model.problem = varlen;
  model.problem.tensors = {model.tensors[0].info};
  const auto documents = [&](std::vector<int> ids) {
    HostTensor doc = HostTensor::packed(DType::I32, {6});
    for (size_t i = 0; i < ids.size(); ++i)
      doc.set({int64_t(i)}, ids[i]);
    Archive given({{"doc", doc}});
    RunArgs lengths = given.args();
    lengths.qLens = lengths.kvLens = Lengths{4, 2};
    auto jobs = prepareJobs(model.problem, &model, lengths);
    return jobs ? "accepted" : jobs.error().message;
  };
  CHECK(documents({0, 0, 3, 7, 1, 1}) == "accepted"); // each sequence begins anew
  CHECK(documents({0, 0, 3, 7, 2, 1}) ==
        "--inputs: doc falls from 2 to 1 at key 1 of sequence 1; the spec promises that it is "
        "nondecreasing");
}

TEST_CASE("Scalars have a default that the report tells") {
  ProblemShape p = varlen;
  p.scalars = {{"cap", DType::F32}, {"width", DType::I32}};
  RunArgs args;
  args.scalars["cap"] = 2.5;
  Jobs jobs = prepare(p, args);
  CHECK(jobs.jobs[0].call.scalars == std::map<std::string, double>{{"cap", 2.5}, {"width", 128}});
  CHECK_THAT(jobs.notes.at(0), Contains("scalar width = 128"));
}
