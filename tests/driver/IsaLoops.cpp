#include "tests/driver/IsaLoops.h"
#include <map>
#include <regex>
#include <set>
#include <sstream>

namespace attune {
namespace {

struct Block {
  std::string text;
  std::vector<size_t> next;
  std::set<size_t> dominators; ///< blocks on every way from the entry to this one, itself included
};

/// Blocks in the order of the text; the first is the entry.
std::vector<Block> blocksOf(const std::string &isa) {
  static const std::regex label(R"(^(\.LBB\d+_\d+):.*)");
  static const std::regex branch(R"(^\s+s_(c?)branch\w*\s+(\.LBB\d+_\d+)\s*(;.*)?$)");
  static const std::regex end(R"(^\s+s_endpgm.*)");
  std::vector<Block> blocks(1);
  std::map<std::string, size_t> labelled;
  std::vector<std::pair<size_t, std::string>> jumps;
  std::set<size_t> closed; // blocks that do not go on to the one behind them
  std::istringstream lines(isa);
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, match, label)) {
      blocks.emplace_back();
      labelled[match[1]] = blocks.size() - 1;
    }
    blocks.back().text += line + '\n';
    const bool jump = std::regex_match(line, match, branch), stop = std::regex_match(line, end);
    if (jump)
      jumps.emplace_back(blocks.size() - 1, match[2]);
    if (stop || (jump && match[1].length() == 0))
      closed.insert(blocks.size() - 1);
    if (jump || stop)
      blocks.emplace_back();
  }
  for (const auto &[from, to] : jumps)
    blocks[from].next.push_back(labelled.at(to));
  for (size_t b = 0; b + 1 < blocks.size(); ++b)
    if (!closed.count(b))
      blocks[b].next.push_back(b + 1);
  return blocks;
}

/// Blocks that can be entered. What stands between a branch and the next label cannot.
std::set<size_t> reachable(const std::vector<Block> &blocks) {
  std::set<size_t> seen{0};
  for (std::vector<size_t> work{0}; !work.empty();) {
    const size_t b = work.back();
    work.pop_back();
    for (size_t to : blocks[b].next)
      if (seen.insert(to).second)
        work.push_back(to);
  }
  return seen;
}

/// Shrinks sets of all blocks until they are right.
void findDominators(std::vector<Block> &blocks) {
  const std::set<size_t> all = reachable(blocks);
  for (size_t b = 0; b < blocks.size(); ++b)
    if (!all.count(b))
      blocks[b].next.clear();
  for (size_t b = 0; b < blocks.size(); ++b)
    blocks[b].dominators = b ? all : std::set<size_t>{0};
  for (bool changed = true; changed;) {
    changed = false;
    for (const Block &from : blocks)
      for (size_t to : from.next)
        changed |= std::erase_if(blocks[to].dominators, [&](size_t d) {
                     return d != to && !from.dominators.count(d);
                   }) > 0;
  }
}

/// Header and blocks of every loop.
std::map<size_t, std::set<size_t>> loopsOf(const std::vector<Block> &blocks) {
  std::map<size_t, std::set<size_t>> loops;
  for (size_t latch = 0; latch < blocks.size(); ++latch)
    for (size_t header : blocks[latch].next) {
      if (!blocks[latch].dominators.count(header))
        continue;
      std::set<size_t> &body = loops[header];
      body.insert({header, latch});
      for (bool grown = true; grown;) {
        grown = false;
        for (size_t b = 0; b < blocks.size(); ++b)
          for (size_t to : blocks[b].next)
            if (to != header && body.count(to))
              grown |= body.insert(b).second;
      }
    }
  return loops;
}

} // namespace

std::vector<std::string> innerLoops(const std::string &isa) {
  std::vector<Block> blocks = blocksOf(isa);
  findDominators(blocks);
  const std::map<size_t, std::set<size_t>> loops = loopsOf(blocks);
  std::vector<std::string> texts;
  for (const auto &[header, body] : loops) {
    bool holdsAnother = false;
    for (const auto &[other, unused] : loops)
      holdsAnother |= other != header && body.count(other);
    if (holdsAnother)
      continue;
    texts.emplace_back();
    for (size_t b : body)
      texts.back() += blocks[b].text;
  }
  return texts;
}

} // namespace attune
