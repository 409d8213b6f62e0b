// Imports: beside the file, then the embedded library.
#include "tests/spec/TestSpec.h"
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace attune;
using namespace attune::spec;
using namespace attune::spec::test;
using Catch::Matchers::Contains;

namespace {

class Folder {
public:
  Folder()
      : path_(std::filesystem::temp_directory_path() /
              ("attune_spec_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  void write(const std::string &name, const std::string &text) const {
    std::ofstream(path_ / name) << text;
  }
  Result<Model> parse(const std::string &name) const {
    return parseSpecFile((path_ / name).string(), {});
  }

private:
  std::filesystem::path path_;
};

} // namespace

TEST_CASE("The library needs no file") {
  Model m = fields("  mask = dilated_window(3, 2)", "import \"masks.attn\"");
  Point p;
  p.q = 10;
  p.kvLen = p.qLen = 20;
  CHECK(visible(m, p) == std::vector<int64_t>{6, 8, 10});
  CHECK(m.exprs.at(size_t(m.mask)).name == "dilated_window");
}

TEST_CASE("A file beside the spec comes before the library, is read once, and may import in turn") {
  Folder folder;
  folder.write("masks.attn",
               "import \"more.attn\"\nimport \"masks.attn\"\nfn mine(n) = window(twice(n))\n");
  folder.write("more.attn", "import \"masks.attn\"\nfn twice(n) = n * 2\n");
  folder.write("a.attn",
               "import \"masks.attn\"\nimport \"more.attn\"\n" + wrap("  mask = mine(4)"));
  Result<Model> m = folder.parse("a.attn");
  if (!m)
    FAIL(m.error().message);
  CHECK(m->digest == fields("  mask = window(8)").digest);
  // Places in other files are no use later: nodes carry that of the call.
  for (const Expr &e : m->exprs)
    CHECK(e.range.line == 6);
}

TEST_CASE("Faults in an import name its file and line") {
  Folder folder;
  folder.write("lib.attn", "// comment\nfn bad(n) = n +\n\nfn worse(n) = windw(n)\n");
  folder.write("a.attn", "import \"lib.attn\"\n" + wrap("  mask = worse(4)"));
  Result<Model> m = folder.parse("a.attn");
  REQUIRE_FALSE(m);
  CHECK_THAT(
      m.error().message,
      Contains("lib.attn:4:1: error: expected an expression, found `fn`\n  fn worse") &&
          Contains(
              "lib.attn:4:15: error: there is no function `windw`\n  fn worse(n) = windw(n)\n") &&
          Contains("(in worse, used at "));
  folder.write("lib.attn", "fn w(n) = window(n)\n" + wrap(""));
  CHECK_THAT(folder.parse("a.attn").error().message, Contains("defines attention test"));
}

TEST_CASE("Imports that do not exist") {
  CHECK_THAT(fieldErrors("", "import \"mask.attn\""), Contains("did you mean `masks.attn`?"));
  CHECK_THAT(fieldErrors("", "import \"/dev/zero\""), Contains("there is no readable file"));
  CHECK_THAT(fieldErrors("", "import \"/tmp\""), Contains("there is no readable file"));
  Result<Model> m = parseSpecFile("/nowhere/x.attn", {});
  REQUIRE_FALSE(m);
  CHECK(m.error().code == ErrorCode::NotFound);
  CHECK_THAT(m.error().message, Contains("/nowhere/x.attn"));
}
