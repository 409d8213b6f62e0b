// Compiles specs on several threads and prints a digest of each result; determinism_test.py runs it
// under circumstances that must not show.
//
//   emit_digests THREADS SPEC...     every thread goes through the list once, from its own start
//
// The first line is the addresses of this process, so that the test can tell whether they differ
// from the last one's. Then one line an emission: name, digest of the tile text, the LLVM text and
// the code object.
#include "compiler/include/attune/Compiler.h"
#include "compiler/spec/Spec.h"
#include "runtime/abi/Digest.h"
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <locale>
#include <mutex>
#include <thread>

using namespace attune;

namespace {

/// 1024.5 as "1.024,5": whoever prints a number through a stream of the global locale shows it.
struct Continental : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

Result<std::string> digestOf(Compiler &compiler, const spec::Model &model) {
  auto kernel = compiler.compileStages(model, {Stage::Tile, Stage::Llvm, Stage::Hsaco});
  if (!kernel)
    return kernel.error();
  Digest digest;
  for (const auto &[stage, text] : kernel->stages)
    digest.field("stage", text);
  return digest.hex();
}

Result<std::string> compileFile(Compiler &compiler, const std::string &file) {
  auto model = spec::parseSpecFile(file, {});
  if (!model)
    return model.error();
  auto digest = digestOf(compiler, *model);
  if (!digest)
    return digest.error();
  return fmt::format("{} {}", model->problem.specName, *digest);
}

void emitAll(const std::vector<std::string> &files, size_t start) {
  static std::mutex output;
  auto compiler = Compiler::create();
  for (size_t i = 0; i < files.size(); ++i) {
    auto line = compiler ? compileFile(*compiler, files[(start + i) % files.size()])
                         : Result<std::string>(compiler.error());
    std::lock_guard lock(output);
    fmt::print("{}\n", line ? *line : "failed: " + line.error().message);
  }
}

} // namespace

int main(int argc, char **argv) {
  const size_t threads = argc > 2 ? std::strtoul(argv[1], nullptr, 10) : 0;
  if (threads == 0)
    return 2;
  std::setlocale(LC_ALL, "");
  std::locale::global(std::locale(std::locale(), new Continental));
  const std::vector<std::string> files(argv + 2, argv + argc);
  fmt::print("{} {} {}\n", fmt::ptr(&files), fmt::ptr(files.data()), fmt::ptr(&std::setlocale));
  std::vector<std::jthread> all;
  for (size_t i = 0; i < threads; ++i)
    all.emplace_back([&, i] { emitAll(files, i * files.size() / threads); });
}
