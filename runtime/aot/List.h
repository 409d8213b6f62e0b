// The list of kernels that a bundle is built from (LIST.toml).
//
//   [[kernel]]
//   spec = "specs/causal_gqa.attn"          # relative to the list's own folder
//   attention = "causal_gqa"                # of a file with several; else the first
//   set = {num_q_heads = [32, 64], head_dim = 128}
//   knob = {waves = [4, 8]}
//   reason = "prefill of Llama-3-8B"        # for the reader
//
// A value that is a list stands for each of its members, and several lists for their cross product:
// the example is four kernels. The list is closed: what it does not name is not in the bundle.
#pragma once
#include "runtime/abi/Result.h"
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attune::aot {

/// Names with the values they take.
using Choices = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// A [[kernel]] of the file.
struct ListItem {
  std::string spec, attention, reason;
  Choices set, knob;
  int line = 0; ///< where it begins
};

/// One kernel: an item with one value for each name.
struct ListedKernel {
  std::string spec; ///< a path
  std::string attention;
  std::map<std::string, std::string> parameters;
  std::vector<std::pair<std::string, std::string>> knobs; ///< sorted by name
  std::string origin;                                     ///< "LIST.toml:12", for messages
};

/// Errors: InvalidSpec with file, line and column.
Result<std::vector<ListItem>> parseList(std::string_view text, const std::string &fileName);

/// The file's text for these items.
std::string listText(const std::vector<ListItem> &, std::string_view heading);

/// Most kernels that one list may stand for: more is taken for a slip in a cross product.
constexpr size_t mostListed = 100000;

/// The kernels of the items, specs relative to the folder of `fileName`. Errors: InvalidSpec, more
/// than mostListed.
Result<std::vector<ListedKernel>> expand(const std::vector<ListItem> &,
                                         const std::string &fileName);

} // namespace attune::aot
