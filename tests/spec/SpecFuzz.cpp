// libFuzzer: no text may crash, hang or leak; what parses must be stable. The first byte picks
// --set values.
//   spec_fuzz -max_total_time=600 NEW_CORPUS tests/spec/corpus specs specs/lib
#include "compiler/spec/Spec.h"
#include <cstddef>
#include <cstdint>
#include <cstdlib>

using namespace attune;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  spec::Options options;
  options.fileName = "/nonexistent/fuzz.attn"; // imports: the embedded library only
  if (size > 0 && data[0] % 4 == 1)
    options.parameters["width"] = std::to_string(int(data[0]) - 100);
  Result<spec::Model> model = spec::parseSpec(text, options);
  if (!model) {
    if (model.error().message.find("error: ") == std::string::npos)
      abort(); // a refusal says why
    return 0;
  }
  Result<spec::Model> again = spec::parseSpec(text, options);
  if (!again || again->digest != model->digest || again->canonical != model->canonical)
    abort();
  for (size_t i = 0; i < model->exprs.size(); ++i)
    for (spec::ExprId arg : model->exprs[i].args)
      if (arg < 0 || size_t(arg) >= i)
        abort(); // operands come before users
  return 0;
}
