// Tests of single instructions, written as text (the .ops files beside this header):
//
//   test v_max_f32: NaN loses                 a name; runs to the next "test"
//     v0 = 1.0 nan -0.0                       registers before: one value a lane, from lane 0;
//     other lanes hold 0 v1 = 2.0 3.0 0.0 v_max_f32 v2, v0, v1                    any line that is
//     neither input nor check is assembly v2 == 2.0 3.0 0.0                       registers after,
//     as many lanes as there are values
//
// Registers: vN, aN, v[N:M] and a[N:M] of two (one 64-bit value a lane), sN, s[N:M] of two, vcc,
// exec, scc, m0; mem and lds: dwords of a buffer (pointer in s[70:71], descriptor in s[64:67]) and
// of the workgroup's LDS; records: bytes in the descriptor's range (256 unless set). Reserved:
// v250.., s[80:91].
//
// Values: integers (7, -1, 0xff), f32 (1.5, -0.0, inf, nan), f16 (1.5h), bf16 (1.5b), f64 (1.5d),
// `lane`, `lane*4`, `x*n` for n times x. In checks also `nan` for any NaN, `~x` for an f32 within 2
// ulp, `_` for anything.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace simtest {

/// One value; as many words as its register needs.
struct OpValue {
  enum Kind : uint8_t { Exact, AnyNan, Near, Anything } kind = Exact;
  uint64_t bits = 0;
};

/// A register or memory with its values.
struct OpPlace {
  enum Kind : uint8_t {
    Vector,
    Accumulator,
    Scalar,
    Vcc,
    Exec,
    Scc,
    M0,
    Memory,
    Lds
  } kind = Vector;
  unsigned index = 0;
  unsigned words = 1; ///< 2: a register pair
  std::string name;
  std::vector<OpValue> values;
};

/// Fills in kind, index, words and name from "v3", "s[4:5]", "vcc", ...; false if it is no place.
bool parseOpPlace(const std::string &name, OpPlace &);

struct OpTest {
  std::string name, file;
  int line = 0;
  uint32_t records = 256;
  std::vector<OpPlace> before, after;
  std::vector<std::string> assembly;
};

/// Reads the tests of a file; throws std::runtime_error naming the line that is wrong.
std::vector<OpTest> readOpTests(const std::string &path);

/// Assembly of a file's tests: kernels t0, t1, ... that load the inputs, run the lines and store
/// what is checked. The kernel arguments are three pointers: inputs, outputs, the buffer `mem`.
/// Inputs and outputs are rows of 64 dwords.
std::string opTestKernels(const std::vector<OpTest> &);

/// The input rows of one test, and the number of output rows.
std::vector<uint32_t> opTestInputs(const OpTest &);
size_t opTestOutputRows(const OpTest &);

/// What differs between the outputs and the checks, a line each; empty if nothing does.
std::string opTestFailures(const OpTest &, const std::vector<uint32_t> &outputs,
                           const std::vector<uint32_t> &memory);

} // namespace simtest
