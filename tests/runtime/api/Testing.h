// What the tests of attune.h and of what is behind it share: contexts with the fake compiler
// (FakeCompiler.cpp), specs by name.
#pragma once
#include "runtime/api/Context.h"
#include "runtime/include/attune/attune.h"
#include "tests/runtime/cache/Testing.h"
#include "tests/support/FakeDevice.h"
#include <string>

namespace attune::testing {

using cache::testing::Child;

/// Causal attention called `name`, varlen, 4 over 2 heads of 64, with an LSE; the fake compiler's
/// behaviour follows from the name.
std::string specText(const std::string &name);
ParsedSpec specOf(const std::string &name);

/// Prepares the fake compiler's environment; the code object is assembled once per process.
void useFakeCompiler();
/// How often it compiled since useFakeCompiler().
size_t compiles();

ContextOptions optionsFor(const std::string &directory, CompileWhere = CompileWhere::InProcess);

} // namespace attune::testing
