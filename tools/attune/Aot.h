// `attune aot` as plain data: kernels made ahead of time, into bundles.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace attune::tool {

/// What the kernels of a build are written to.
enum class AotForm { Bundle, C, Object, Ninja };

struct AotOutput {
  std::string path;
  AotForm form = AotForm::Bundle;
  std::string symbol = "attune_kernels"; ///< of C and Object
};

struct AotBuild {
  std::vector<std::string> inputs; ///< lists (.toml) and specs (.attn)
  std::string attention;           ///< of the specs, as are parameters and knobs
  std::map<std::string, std::string> parameters;
  std::vector<std::pair<std::string, std::string>> knobs;
  std::vector<std::string> archs;
  AotOutput output;
  std::string work; ///< folder of finished kernels; empty: beside the output
  int jobs = 0;     ///< 0: as many as processors and memory allow
  uint64_t workerMiB = 2048;
  size_t shard = 0, shards = 1;  ///< this one's number, from 0, and how many
  std::vector<std::string> only; ///< digests of keys, or beginnings of them
  bool json = false;
};

struct AotMerge {
  std::vector<std::string> bundles;
  std::string from; ///< a file with the names of more, one a line
  AotOutput output;
};

struct AotShow {
  std::string bundle;
  bool json = false;
};

struct AotVerify {
  std::string bundle;
};

struct AotModel {
  std::string config;
  int tensorParallel = 1, pageSize = 0, specDecode = 0;
  std::string kvDtype, dtype;
};

struct AotPlan {
  AotModel model;
  std::string output;
  bool json = false;
};

struct AotCoverage {
  AotModel model;
  std::string bundle, arch;
  bool json = false;
};

using AotArgs = std::variant<AotBuild, AotMerge, AotShow, AotVerify, AotPlan, AotCoverage>;

int aotBuildCommand(const AotBuild &);
int aotMergeCommand(const AotMerge &);
int aotShowCommand(const AotShow &);
int aotVerifyCommand(const AotVerify &);
int aotPlanCommand(const AotPlan &);
int aotCoverageCommand(const AotCoverage &);

} // namespace attune::tool
