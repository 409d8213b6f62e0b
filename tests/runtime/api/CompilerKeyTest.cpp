// Each variable of the environment with the real compiler, each in a process of its own: where the
// kernel's bytes differ, its key does. And what the process really asks the environment for while
// it compiles, LLVM included, is written down by a getenv of this program's: names that are not in
// the table must change nothing.
#include "runtime/abi/Digest.h"
#include "tests/runtime/api/OtherSettings.h"
#include "tests/runtime/api/Testing.h"
#include <catch2/catch.hpp>
#include <cstring>
#include <fcntl.h>
#include <set>
#include <sstream>
#include <unistd.h>

using namespace attune;
using namespace attune::testing;

namespace {

int asked = -1; ///< where the names go, a line each

} // namespace

// Every library of the process gets these: they are found before the C library's.
extern "C" char *getenv(const char *name) noexcept {
  const size_t length = std::strlen(name);
  if (asked >= 0)
    for (std::string_view part : {std::string_view(name, length), std::string_view("\n")})
      if (write(asked, part.data(), part.size()) < 0)
        return nullptr;
  for (char **at = environ; at && *at; ++at)
    if (std::strncmp(*at, name, length) == 0 && (*at)[length] == '=')
      return *at + length + 1;
  return nullptr;
}
extern "C" char *secure_getenv(const char *name) noexcept { return getenv(name); }

namespace {

struct Answer {
  std::string key, kernel; ///< kernel: SHA-256 of its bytes, "" if there is none
  std::set<std::string> asked;
};

/// Key and kernel as a program with these variables comes to them.
int answerTo(const std::string &path) {
  Result<ContextOptions> options = contextOptionsFromEnvironment();
  if (!options)
    return 2;
  Result<std::shared_ptr<Context>> context = Context::create(*options);
  if (!context)
    return 3;
  Result<cache::Key> key = (*context)->key(specOf("a"), {});
  if (!key)
    return 4;
  std::string text = key->digest() + "\n";
  Result<cache::KernelRef> image = (*context)->image(specOf("a"), {});
  if (image)
    text += sha256Hex(std::string((*image)->codeObject.begin(), (*image)->codeObject.end()));
  else if (image.error().code == ErrorCode::Unsupported)
    text += "refused";
  else
    text += "\n" + image.error().message; // none, and why
  writeText(path, text);
  return 0;
}

class Processes {
public:
  Answer run(const std::vector<std::pair<std::string, std::string>> &variables) {
    const std::string path = dir_ / ("answer" + std::to_string(++number_));
    Child child([&] {
      for (const VariableRow &row : variables_)
        unsetenv(row.name);
      setenv("ATTUNE_CACHE_DIR", (path + ".cache").c_str(), 1);
      setenv("ATTUNE_DEVICE", "sim", 1);
      setenv("ATTUNE_COMPILER", REAL_COMPILER, 1);
      for (const auto &[name, value] : variables)
        setenv(name.c_str(), value.c_str(), 1);
      asked = open((path + ".asked").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      return answerTo(path);
    });
    REQUIRE(child.wait() == 0);
    Answer answer;
    std::istringstream said(readText(path)), names(readText(path + ".asked"));
    std::getline(said, answer.key);
    std::getline(said, answer.kernel);
    for (std::string name; std::getline(names, name);)
      answer.asked.insert(name);
    return answer;
  }
  const TempDir &dir() const { return dir_; }

private:
  TempDir dir_;
  std::span<const VariableRow> variables_ = attune::variables();
  int number_ = 0;
};

} // namespace

TEST_CASE("F67: where a variable changes the kernel, it changes the key, with the real compiler") {
  useFakeCompiler(); // what OTHER_COMPILER needs
  Processes processes;
  const Answer usual = processes.run({});
  REQUIRE(usual.kernel.size() == 64);
  std::set<std::string> changed, asked = usual.asked;
  const auto known = otherSettings(processes.dir().path());
  for (size_t i = 0; i < variables().size(); ++i) {
    INFO(variables()[i].name);
    REQUIRE(known.contains(Variable(i)));
    const auto &[value, beside] = known.at(Variable(i));
    std::vector<std::pair<std::string, std::string>> set;
    for (const auto &[variable, needed] : beside)
      set.emplace_back(nameOf(variable), needed);
    set.emplace_back(variables()[i].name, value);
    const Answer answer = processes.run(set);
    asked.insert(answer.asked.begin(), answer.asked.end());
    if (Variable(i) == Variable::ATTUNE_NO_JIT)
      CHECK(answer.kernel.empty()); // nothing there to compare; below
    else
      REQUIRE_FALSE(answer.kernel.empty());
    if (answer.key == usual.key)
      CHECK((answer.kernel.empty() || answer.kernel == usual.kernel));
    else
      changed.insert(variables()[i].name);
  }
  CHECK(changed == std::set<std::string>{"ATTUNE_COMPILER", "ATTUNE_COMPILER_ID", "ATTUNE_DEVICE",
                                         "ATTUNE_HIP_LIBRARY"});

  const std::string warm = processes.dir() / "warm";
  processes.run({{"ATTUNE_CACHE_DIR", warm}});
  const Answer read = processes.run({{"ATTUNE_CACHE_DIR", warm}, {"ATTUNE_NO_JIT", "1"}});
  CHECK(read.key == usual.key);
  CHECK(read.kernel == usual.kernel);

  // What LLVM, LLD and other libraries ask for beyond the table is no way to other bytes under the
  // same key: LLD_VERSION once was.
  for (const VariableRow &row : variables())
    asked.erase(row.name);
  CHECK(asked.contains("LLD_VERSION"));
  std::vector<std::pair<std::string, std::string>> others;
  for (const std::string &name : asked)
    others.emplace_back(name, processes.dir() / "another value"); // LLD_REPRODUCE writes a file
  const Answer flipped = processes.run(others);
  CHECK(flipped.key == usual.key);
  CHECK(flipped.kernel == usual.kernel);
}
