// What each row of the opcode table must be tested with, from its name, format and signature.
#include "tests/sim/edges/EdgeAudit.h"
#include <map>

namespace simtest {
using namespace attune::sim;
using Encoding = attune::sim::Format; // simtest::Format is of numbers
namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Instructions whose operands are not of the type that ends their name.
const std::map<std::string_view, const char *> &irregular() {
  static const std::map<std::string_view, const char *> all = {
      {"v_bfe_u32", "unn"},        {"v_bfe_i32", "unn"},        {"v_bfm_b32", "nn"},
      {"v_alignbit_b32", "uun"},   {"v_alignbyte_b32", "uun"},  {"v_lshl_add_u32", "unu"},
      {"v_add_lshl_u32", "uun"},   {"v_lshl_or_b32", "unu"},    {"v_lshl_add_u64", "q-q"},
      {"v_ashr_pk_i8_i32", "uun"}, {"v_ashr_pk_u8_i32", "uun"}, {"v_lshlrev_b64", "nq"},
      {"v_lshrrev_b64", "nq"},     {"v_ashrrev_i64", "nq"},     {"v_lshlrev_b32", "nu"},
      {"v_lshrrev_b32", "nu"},     {"v_ashrrev_i32", "nu"},     {"v_lshlrev_b16", "-s"},
      {"v_lshrrev_b16", "-s"},     {"v_ashrrev_i16", "-s"},     {"v_ldexp_f32", "fu"},
      {"v_ldexp_f64", "du"},       {"v_ldexp_f16", "hs"},       {"v_cmp_class_f32", "f-"},
      {"v_cmp_class_f64", "d-"},   {"v_cmp_class_f16", "h-"},   {"v_cmpx_class_f32", "f-"},
      {"v_cmpx_class_f64", "d-"},  {"v_cmpx_class_f16", "h-"},  {"v_cvt_pk_u8_f32", "f-u"},
      {"v_cndmask_b32", "uu-"},    {"v_perm_b32", "uu-"},       {"v_mad_u32_u16", "ssu"},
      {"v_mad_i32_i16", "ssu"},    {"v_mad_u64_u32", "uuq"},    {"v_mad_i64_i32", "uuq"},
      {"v_cvt_off_f32_i4", "-"},   {"v_pack_b32_f16", "ss"},    {"v_sat_pk_u8_i16", "-"},
      {"v_dot2_i32_i16", "--u"},   {"v_dot2_u32_u16", "--u"},   {"v_dot4_i32_i8", "--u"},
      {"v_dot4_u32_u8", "--u"},    {"v_dot8_i32_i4", "--u"},    {"v_dot8_u32_u4", "--u"},
      {"v_dot2c_i32_i16", "--"},   {"v_dot4c_i32_i8", "--"},    {"v_dot8c_i32_i4", "--"},
      {"v_dot2_f32_f16", "ppf"},   {"v_dot2_f32_bf16", "oof"},  {"v_dot2c_f32_f16", "pp"},
      {"v_dot2c_f32_bf16", "oo"},  {"v_cvt_f32_bf16", "b"},     {"v_readlane_b32", "u-"},
      {"v_writelane_b32", "u-"},   {"v_pk_fmac_f16", "pp"},     {"s_lshl_b32", "un"},
      {"s_lshr_b32", "un"},        {"s_ashr_i32", "un"},        {"s_lshl_b64", "qn"},
      {"s_lshr_b64", "qn"},        {"s_ashr_i64", "qn"},        {"s_bfe_u32", "u-"},
      {"s_bfe_i32", "u-"},         {"s_bfe_u64", "q-"},         {"s_bfe_i64", "q-"},
      {"s_bfm_b32", "nn"},         {"s_bfm_b64", "nn"},         {"s_bitcmp0_b32", "un"},
      {"s_bitcmp1_b32", "un"},     {"s_bitcmp0_b64", "qn"},     {"s_bitcmp1_b64", "qn"},
      {"s_bitset0_b32", "n"},      {"s_bitset1_b32", "n"},      {"s_bitset0_b64", "n"},
      {"s_bitset1_b64", "n"},      {"s_setpc_b64", "-"},        {"s_swappc_b64", "-"},
      {"v_fmaak_f32", "ff-"},      {"v_fmamk_f32", "f-f"},      {"v_madak_f16", "hh-"},
      {"v_madmk_f16", "h-h"},      {"s_set_gpr_idx_idx", "-"},  {"s_set_gpr_idx_on", "-"},
      {"s_setreg_b32", "-"},       {"v_qsad_pk_u16_u8", "quq"}, {"v_mqsad_pk_u16_u8", "quq"},
  };
  return all;
}

/// The type word that says what the sources are: the last one of the name.
char typeOf(std::string_view mnemonic, char signature) {
  std::string_view last = mnemonic.substr(mnemonic.rfind('_') + 1);
  switch (signature) {
  case 'd':
    return 'd';
  case 'q':
    return 'q';
  case 'h':
    return contains(last, "f16") ? 'h' : 's';
  case 'p':
    return contains(last, "bf16") ? 'o' : contains(last, "f16") ? 'p' : 't';
  case 'w':
    if (last == "f32")
      return 'f';
    return last == "i32" || last == "u32" || last == "b32" || last == "i24" || last == "u24" ? 'u'
                                                                                             : '-';
  default:
    return '-';
  }
}

uint32_t classesOf(char type) {
  switch (type) {
  case 'f':
  case 'd':
  case 'h':
  case 'b':
  case 'p':
  case 'o':
    return FloatClasses;
  case 'u':
  case 'q':
  case 's':
  case 't':
    return IntClasses;
  case 'n':
    return Zero | Beyond;
  case '8': // fp8 has no infinity, and one NaN
    return FloatClasses & ~(Infinite | SignallingNan);
  case '5':
    return FloatClasses;
  case 'y':
    return Zero | One | Lowest | Highest | AllOnes;
  default:
    return 0;
  }
}

bool isMemory(Encoding f) {
  return f == Encoding::DS || f == Encoding::FLAT || f == Encoding::GLOBAL ||
         f == Encoding::SCRATCH || f == Encoding::MUBUF;
}

/// Exchanges between lanes are in the DS format but touch no memory.
bool betweenLanes(std::string_view mnemonic) {
  return contains(mnemonic, "permute") || contains(mnemonic, "swizzle");
}

uint32_t memoryState(const OpcodeInfo &op) {
  uint32_t state = ExecPartial | ExecNone;
  if (betweenLanes(op.mnemonic))
    return state;
  if (contains(op.mnemonic, "_tr_b")) // only with all lanes on
    return WithOffset;
  state |= WithOffset;
  if (op.format == Encoding::MUBUF)
    state |= OutOfRange;
  bool byte = op.flags & (MemU8 | MemI8), aligned = op.flags & (Atomic | LdsDma);
  if (!byte && !aligned && op.format != Encoding::DS && op.format != Encoding::SCRATCH)
    state |= Unaligned;
  return state;
}

bool readsScc(std::string_view m) {
  return contains(m, "addc") || contains(m, "subb") || contains(m, "cselect") ||
         contains(m, "cmov") || contains(m, "cbranch_scc");
}
/// Neither scalar moves nor bit searches, products, packs and field masks touch SCC.
bool writesScc(const OpcodeInfo &op) {
  if (op.format != Encoding::SOP1 && op.format != Encoding::SOP2 && op.format != Encoding::SOPC &&
      op.format != Encoding::SOPK)
    return false;
  for (const char *part :
       {"mov", "brev", "_ff", "flbit", "sext", "bitset", "getpc", "setpc", "swappc", "call",
        "bitreplicate", "gpr_idx", "cselect", "bfm", "mul", "pack", "getreg", "setreg", "setvskip"})
    if (contains(op.mnemonic, part))
      return false;
  return true;
}

uint32_t scalarState(const OpcodeInfo &op) {
  uint32_t state = 0;
  if (writesScc(op))
    state |= SccSet | SccClear;
  if (contains(op.mnemonic, "bcnt0") || contains(op.mnemonic, "bcnt1"))
    state |= SccSet | SccClear;
  if (readsScc(op.mnemonic))
    state |= SccInSet | SccInClear;
  if (contains(op.mnemonic, "s_cbranch"))
    state |= Taken | NotTaken;
  return state;
}

/// Rounding modes where an f32 or narrower result is rounded, denormal modes where floats are.
uint32_t floatState(const OpcodeInfo &op, const std::string &types) {
  bool floats = types.find_first_of("f") != std::string::npos;
  bool computes = op.format == Encoding::VOP1 || op.format == Encoding::VOP2 ||
                  op.format == Encoding::VOP3 || op.format == Encoding::VOP3P;
  return floats && computes ? DenormalsKept | DenormalsFlushed : 0;
}

/// A, B and C of a matrix instruction, whose name ends in the types of A and B.
std::string matrixTypes(std::string_view m) {
  auto letter = [](std::string_view type) {
    return type == "f64"    ? 'd'
           : type == "f32"  ? 'f'
           : type == "f16"  ? 'p'
           : type == "bf16" ? 'o'
           : type == "bf8"  ? '5'
           : type == "i8"   ? 'y'
                            : '8'; // f8f6f4: fp8, one of five
  };
  std::string_view last = m.substr(m.rfind('_') + 1), before = m.substr(0, m.rfind('_'));
  std::string_view other = before.substr(before.rfind('_') + 1);
  char b = letter(last), a = other == "fp8" || other == "bf8" ? letter(other) : b;
  char c = contains(m, "_i32_") ? 'u' : contains(m, "_f64_") ? 'd' : 'f';
  return {a, b, contains(m, "smfmac") ? '-' : c};
}

} // namespace

std::string sourceTypes(const OpcodeInfo &op) {
  if (auto at = irregular().find(op.mnemonic); at != irregular().end())
    return at->second;
  std::string sources(op.signature.substr(op.signature.find('=') + 1)), types;
  bool scaled = contains(op.mnemonic, "scalef32") || contains(op.mnemonic, "cvt_sr");
  bool pairsOfF32 = contains(op.mnemonic, "v_pk_") && contains(op.mnemonic, "_f32");
  for (char s : sources)
    types += scaled ? '-' : pairsOfF32 ? 'f' : typeOf(op.mnemonic, s);
  if (op.format == Encoding::MAI && op.signature.size() > 4)
    return matrixTypes(op.mnemonic);
  bool numbers = !isMemory(op.format) && op.format != Encoding::SMEM &&
                 op.format != Encoding::MAI && op.format != Encoding::SOPP;
  return numbers ? types.substr(0, 3) : std::string(types.size() < 3 ? types.size() : 3, '-');
}

EdgeClasses neededClasses(const OpcodeInfo &op) {
  EdgeClasses needed;
  std::string types = sourceTypes(op);
  for (size_t n = 0; n < types.size(); ++n)
    needed.sources[n] = classesOf(types[n]);
  if (isMemory(op.format))
    needed.state = op.signature == "=" ? 0 : memoryState(op);
  else if (op.format == Encoding::SMEM)
    needed.state =
        contains(op.signature, "=q") || contains(op.signature, "=4") ? uint32_t(WithOffset) : 0;
  else if (op.mnemonic.starts_with("s_"))
    needed.state = scalarState(op);
  else
    needed.state = floatState(op, types) | (op.signature == "=" ? 0 : ExecPartial | ExecNone);
  if (contains(op.mnemonic, "permlane")) // only with all lanes on
    needed.state = 0;
  if (op.format == Encoding::MAI) // EXEC is ignored
    needed.state = 0;
  return needed;
}

} // namespace simtest
