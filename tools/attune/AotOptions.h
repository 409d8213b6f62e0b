// The options of `attune aot`; as CommandLine.cpp, AotOptions.cpp sees CLI11 and nobody else.
#pragma once
#include "tools/attune/Aot.h"
#include <memory>

namespace CLI {
class App;
}

namespace attune::tool {

class AotOptions {
public:
  explicit AotOptions(CLI::App &root);
  ~AotOptions();
  /// After parsing. Throws CLI::ParseError as CLI11 itself does.
  AotArgs args() const;

private:
  struct Raw;
  std::unique_ptr<Raw> raw_;
};

} // namespace attune::tool
