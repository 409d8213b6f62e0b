// Look-up of matrix instructions.
#include "compiler/target/Mma.h"
#include <fmt/format.h>

namespace attune::target {

const std::vector<Mma> &allMmas() {
  static const std::vector<Mma> mmas = {
#define MMA(m, n, k, dtype, elements, passes, firstArch, rocdl)                                    \
  Mma{{m, n, k, elements}, DType::dtype, passes, firstArch, rocdl},
#include "compiler/target/Mma.def"
  };
  return mmas;
}

Result<Mma> findMma(const Arch &arch, DType dtype, int m, int n, int k) {
  std::vector<std::string> shapes;
  for (const Mma &mma : allMmas()) {
    // One family so far (gfx9), whose names sort by age.
    if (mma.dtype != dtype || arch.name < mma.firstArch)
      continue;
    const layout::MmaShape &s = mma.shape;
    if (s.m == m && s.n == n && s.k == k)
      return mma;
    shapes.push_back(fmt::format("{}x{}x{}", s.m, s.n, s.k));
  }
  return Error{ErrorCode::Unsupported,
               fmt::format("{} has no {}x{}x{} matrix instruction for {}; it has: {}", arch.name, m,
                           n, k, nameOf(dtype),
                           shapes.empty() ? "none" : fmt::format("{}", fmt::join(shapes, ", ")))};
}

} // namespace attune::target
