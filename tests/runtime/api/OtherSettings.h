// Another value for each environment variable, for tests of the cache key: with a compiler that
// pretends (KeyTest.cpp) and with the real one (CompilerKeyTest.cpp). A row of Environment.def
// without one here fails both: whoever adds a variable decides about the key.
#pragma once
#include "runtime/abi/Environment.h"
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace attune::testing {

using Settings = std::vector<std::pair<Variable, std::string>>;

/// A value that is not what it means to leave the variable out, and variables that it needs beside
/// it.
struct OtherSetting {
  std::string value;
  Settings beside;
};

/// `scratch` is a directory.
inline std::map<Variable, OtherSetting> otherSettings(const std::string &scratch) {
  const std::string store = "http://127.0.0.1:9/attune", folder = scratch + "/folder";
  const Settings url{{Variable::ATTUNE_CACHE_URL, store}};
  const Settings hip{{Variable::ATTUNE_HIP_LIBRARY, FAKE_HIP_GFX942}};
  return {{Variable::ATTUNE_CACHE, {"off", {}}},
          {Variable::ATTUNE_CACHE_BASE, {folder, {}}},
          {Variable::ATTUNE_CACHE_DIR, {folder, {}}},
          {Variable::ATTUNE_CACHE_LIMIT, {"7M", {}}},
          {Variable::ATTUNE_CACHE_URL, {store, {}}},
          {Variable::ATTUNE_CACHE_URL_CA, {folder, url}},
          {Variable::ATTUNE_CACHE_URL_MODE, {"readwrite", url}},
          {Variable::ATTUNE_CACHE_URL_TIMEOUT, {"9", url}},
          {Variable::ATTUNE_CACHE_URL_TOKEN, {"token", url}},
          {Variable::ATTUNE_COMGR_LIBRARY, {"/nowhere/comgr.so", {}}},
          {Variable::ATTUNE_COMPILE, {"child", {}}},
          {Variable::ATTUNE_COMPILER, {OTHER_COMPILER, {}}},
          {Variable::ATTUNE_COMPILER_ID, {"another:21.1", {}}},
          {Variable::ATTUNE_COMPILE_MEMORY, {"4096", {}}},
          {Variable::ATTUNE_COMPILE_TIMEOUT, {"9", {}}},
          {Variable::ATTUNE_DEVICE, {"hip", hip}},
          {Variable::ATTUNE_HIP_DEVICES, {"2", {}}},
          {Variable::ATTUNE_HIP_LIBRARY, {FAKE_HIP_GFX942, {{Variable::ATTUNE_DEVICE, "hip"}}}},
          {Variable::ATTUNE_LIBRARY, {"/nowhere/libattune.so", {}}},
          {Variable::ATTUNE_NO_JIT, {"1", {}}},
          {Variable::HIP_VISIBLE_DEVICES, {"1", {}}},
          {Variable::HOME, {folder, {}}},
          {Variable::ROCR_VISIBLE_DEVICES, {"1", {}}},
          {Variable::TMPDIR, {scratch, {}}},
          {Variable::XDG_CACHE_HOME, {folder, {}}}};
}

} // namespace attune::testing
