#include "tests/sim/decode/InstText.h"
#include <fmt/format.h>
#include <vector>

namespace simtest {
namespace {
using namespace attune::sim;

/// Names of the scalar registers that are not s0, s1, ...
std::string scalarName(unsigned n, unsigned dwords) {
  struct Special {
    unsigned first;
    const char *pair, *lo, *hi;
  };
  for (Special s :
       {Special{102, "flat_scratch", "flat_scratch_lo", "flat_scratch_hi"},
        Special{104, "xnack_mask", "xnack_mask_lo", "xnack_mask_hi"},
        Special{106, "vcc", "vcc_lo", "vcc_hi"}, Special{126, "exec", "exec_lo", "exec_hi"}}) {
    if (n == s.first && dwords == 2)
      return s.pair;
    if (dwords == 1 && (n == s.first || n == s.first + 1))
      return n == s.first ? s.lo : s.hi;
  }
  if (n == 124 && dwords == 1)
    return "m0";
  bool trap = n >= 108 && n < 124;
  const char *bank = trap ? "ttmp" : "s";
  unsigned first = trap ? n - 108 : n;
  return dwords == 1 ? fmt::format("{}{}", bank, first)
                     : fmt::format("{}[{}:{}]", bank, first, first + dwords - 1);
}

std::string inlineName(unsigned code, bool isDouble) {
  switch (code) {
  case 235:
    return "src_shared_base";
  case 236:
    return "src_shared_limit";
  case 237:
    return "src_private_base";
  case 238:
    return "src_private_limit";
  case 240:
    return "0.5";
  case 241:
    return "-0.5";
  case 242:
    return "1.0";
  case 243:
    return "-1.0";
  case 244:
    return "2.0";
  case 245:
    return "-2.0";
  case 246:
    return "4.0";
  case 247:
    return "-4.0";
  case 248:
    return isDouble ? "0.15915494309189532" : "0.15915494";
  case 251:
    return "src_vccz";
  case 252:
    return "src_execz";
  case 253:
    return "src_scc";
  default:
    return code <= 192 ? std::to_string(code - 128) : std::to_string(-int(code - 192));
  }
}

class Printer {
public:
  Printer(const Inst &inst, std::span<const uint32_t> words)
      : i(inst), op(kOpcodes[inst.opcode]), w(words) {}
  std::string run();

private:
  bool isDst(char c) const { return op.signature[0] == c; }
  std::string operand(const Operand &o, char letter = 0) const;
  std::string source(unsigned n) const;
  std::string withSign(std::string text, bool neg, bool abs, bool constant) const;
  std::string list(const char *name, unsigned bits, unsigned count, unsigned normal) const;
  /// LLVM cuts a literal to 16 bits for these operands.
  bool halfLiteral(const Operand &o, char letter) const {
    bool own = op.flags & HasLiteral && &o != &i.src[0]; // of v_madmk_f16, v_madak_f16: in full
    return letter == 'h' && !own && op.mnemonic != "v_cvt_f32_bf16";
  }
  unsigned sources() const { return unsigned(op.signature.size() - op.signature.find('=') - 1); }
  char letter(unsigned n) const {
    return n < sources() ? op.signature[op.signature.find('=') + 1 + n] : 0;
  }
  void add(const std::string &text) {
    if (!text.empty())
      operands.push_back(text);
  }
  void scalar();
  void vector();
  void packed();
  void matrix();
  void lds();
  void flat();
  void buffer();
  void smem();
  std::string dppText() const;
  std::string sdwaText() const;

  const Inst &i;
  const OpcodeInfo &op;
  std::span<const uint32_t> w;
  std::string suffix, modifiers;
  std::vector<std::string> operands;
};

std::string Printer::operand(const Operand &o, char letter) const {
  auto tuple = [&](const char *bank) {
    return o.dwords == 1 ? fmt::format("{}{}", bank, o.index)
                         : fmt::format("{}[{}:{}]", bank, o.index, o.index + o.dwords - 1);
  };
  switch (o.kind) {
  case OperandKind::None:
    return "";
  case OperandKind::Sgpr:
    return scalarName(o.index, o.dwords);
  case OperandKind::Vgpr:
    return tuple("v");
  case OperandKind::Agpr:
    return tuple("a");
  case OperandKind::Inline:
    return inlineName(o.index, o.dwords == 2 && op.format != Format::VOP3P);
  case OperandKind::Literal:
    return fmt::format("0x{:x}", halfLiteral(o, letter) ? i.literal & 0xffff : i.literal);
  }
  return "?";
}

std::string Printer::withSign(std::string text, bool neg, bool abs, bool constant) const {
  if (abs)
    text = "|" + text + "|";
  if (!neg)
    return text;
  return constant && !abs ? "neg(" + text + ")" : "-" + text;
}

std::string Printer::source(unsigned n) const {
  bool constant = i.src[n].kind == OperandKind::Inline || i.src[n].kind == OperandKind::Literal;
  constant = constant && i.src[n].index != 251 && i.src[n].index != 252 && i.src[n].index != 253 &&
             !(i.src[n].index >= 235 && i.src[n].index <= 238);
  std::string text =
      withSign(operand(i.src[n], letter(n)), i.neg >> n & 1, i.abs >> n & 1, constant);
  if ((i.flags & Sdwa) && n < 2) {
    bool sext = i.ext >> (n == 0 ? 19 : 27) & 1;
    if (sext)
      text = "sext(" + text + ")";
  }
  return text;
}

std::string Printer::list(const char *name, unsigned bits, unsigned count, unsigned normal) const {
  if (bits == normal)
    return "";
  std::string text;
  for (unsigned n = 0; n < count; ++n)
    text += (n ? "," : "") + std::to_string(bits >> n & 1);
  return fmt::format(" {}:[{}]", name, text);
}

void Printer::scalar() {
  add(operand(i.dst));
  uint32_t simm = w[0] & 0xffff;
  if (op.format == Format::SOPK) {
    if (op.mnemonic.starts_with("s_setreg")) {
      add("hwreg");
      add(op.flags & HasLiteral ? fmt::format("0x{:x}", i.ext) : operand(i.src[0]));
    } else {
      add(operand(i.src[0].kind == OperandKind::None || i.dst.kind != OperandKind::None
                      ? Operand{}
                      : i.src[0]));
      add(op.mnemonic == "s_getreg_b32" ? "hwreg"
          : op.flags & Branch           ? std::to_string(simm)
                                        : fmt::format("0x{:x}", simm));
    }
    return;
  }
  for (unsigned n = 0; n < sources(); ++n)
    add(operand(i.src[n]));
}

void Printer::smem() {
  add(operand(i.src[3].kind == OperandKind::None ? i.dst : i.src[3])); // both of an atomic
  add(operand(i.src[0]));
  if (sources() == 0)
    return;
  if (i.src[1].kind != OperandKind::None) {
    add(operand(i.src[1]));
    if (w[0] >> 17 & 1)
      modifiers += fmt::format(" offset:{}0x{:x}", i.offset < 0 ? "-" : "", std::abs(i.offset));
  } else {
    add(fmt::format("{}0x{:x}", i.offset < 0 ? "-" : "", std::abs(i.offset)));
  }
}

std::string Printer::dppText() const {
  unsigned control = i.ext >> 8 & 0x1ff;
  std::string text;
  auto n = std::to_string(control & 15);
  if (control < 0x100)
    text = fmt::format(" quad_perm:[{},{},{},{}]", control & 3, control >> 2 & 3, control >> 4 & 3,
                       control >> 6 & 3);
  else if (control < 0x110)
    text = " row_shl:" + n;
  else if (control < 0x120)
    text = " row_shr:" + n;
  else if (control < 0x130)
    text = " row_ror:" + n;
  else if (control >= 0x150)
    text = " row_newbcast:" + n;
  else
    switch (control) {
    case 0x130:
      text = " wave_shl:1";
      break;
    case 0x134:
      text = " wave_rol:1";
      break;
    case 0x138:
      text = " wave_shr:1";
      break;
    case 0x13c:
      text = " wave_ror:1";
      break;
    case 0x140:
      text = " row_mirror";
      break;
    case 0x141:
      text = " row_half_mirror";
      break;
    case 0x142:
      text = " row_bcast:15";
      break;
    case 0x143:
      text = " row_bcast:31";
      break;
    }
  text += fmt::format(" row_mask:0x{:x} bank_mask:0x{:x}", i.ext >> 28, i.ext >> 24 & 15);
  return text + (i.ext >> 19 & 1 ? " bound_ctrl:1" : "");
}

std::string Printer::sdwaText() const {
  static const char *const sels[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                     "WORD_0", "WORD_1", "DWORD",  "?"};
  static const char *const unused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "?"};
  std::string text;
  bool fromBytes = op.mnemonic.find("f32_fp8") != op.mnemonic.npos ||
                   op.mnemonic.find("f32_bf8") != op.mnemonic.npos;
  if (op.format != Format::VOPC && op.signature[0] != '=' && !fromBytes)
    text += fmt::format(" dst_sel:{} dst_unused:{}", sels[i.ext >> 8 & 7], unused[i.ext >> 11 & 3]);
  text += fmt::format(" src0_sel:{}", sels[i.ext >> 16 & 7]);
  if (i.src[1].kind != OperandKind::None && op.format != Format::VOP1)
    text += fmt::format(" src1_sel:{}", sels[i.ext >> 24 & 7]);
  return text;
}

void Printer::vector() {
  bool vop3 = (w[0] >> 26) == 0b110100;
  bool bare = op.mnemonic == "v_nop"; // the only one whose forms share a name
  if (op.format != Format::VOP3 && !(op.flags & NoVop3) && !bare)
    suffix = i.flags & Sdwa ? "_sdwa" : i.flags & Dpp ? "_dpp" : vop3 ? "_e64" : "_e32";
  else if ((i.flags & (Sdwa | Dpp)) && !bare)
    suffix = i.flags & Sdwa ? "_sdwa" : "_dpp";
  add(operand(i.dst));
  add(operand(i.sdst));
  unsigned count = sources();
  for (unsigned n = 0; n < count; ++n)
    add(source(n));
  if (op.mnemonic.starts_with("v_bitop3") && i.literal)
    modifiers += fmt::format(" bitop3:{}", i.literal);
  // One bit a source, then the destination's; where the destination is a byte it takes bits 2
  // and 3.
  bool byteDst = count == 2 && (op.mnemonic.find("pk_fp4") != op.mnemonic.npos ||
                                op.mnemonic.find("_sr_fp8") != op.mnemonic.npos ||
                                op.mnemonic.find("_sr_bf8") != op.mnemonic.npos);
  unsigned entries = byteDst ? 4 : count + 1, low = i.opSel & ((1u << (entries - 1)) - 1);
  modifiers += list("op_sel", low | unsigned(i.opSel >> 3 & 1) << (entries - 1), entries, 0);
  if (i.clamp)
    modifiers += " clamp";
  static const char *const omods[] = {"", " mul:2", " mul:4", " div:2"};
  modifiers += omods[i.omod];
  if (i.flags & Dpp)
    modifiers += dppText();
  if (i.flags & Sdwa)
    modifiers += sdwaText();
}

void Printer::packed() {
  unsigned count = sources(), all = (1u << count) - 1;
  bool mix = op.mnemonic.starts_with("v_fma_mix");
  add(operand(i.dst));
  for (unsigned n = 0; n < count; ++n) {
    bool constant = i.src[n].kind == OperandKind::Inline && !(i.src[n].index >= 251) &&
                    !(i.src[n].index >= 235 && i.src[n].index <= 238);
    add(mix ? withSign(operand(i.src[n]), i.neg >> n & 1, i.abs >> n & 1, constant)
            : operand(i.src[n]));
  }
  modifiers += list("op_sel", i.opSel & all, count, 0);
  modifiers += list("op_sel_hi", i.opSelHi & all, count, mix ? 0 : all);
  if (!mix) {
    modifiers += list("neg_lo", i.neg & all, count, 0);
    modifiers += list("neg_hi", i.abs & all, count, 0);
  }
  if (i.clamp)
    modifiers += " clamp";
}

void Printer::matrix() {
  add(operand(i.dst));
  unsigned count = sources();
  for (unsigned n = 0; n < count; ++n)
    add(operand(i.src[n]));
  if (op.mnemonic.starts_with("v_accvgpr"))
    return;
  bool sparse = op.mnemonic.starts_with("v_smfmac"), f64 = op.mnemonic.ends_with("f64");
  if (i.flags & Scaled) {
    add(operand(i.src[3]));
    add(operand(i.src[4]));
    unsigned a = i.ext & 3, b = i.ext >> 2 & 3;
    modifiers += fmt::format(" op_sel:[{},{},0] op_sel_hi:[{},{},0]", a & 1, b & 1, a >> 1, b >> 1);
  }
  if (i.abs)
    modifiers += fmt::format(" cbsz:{}", i.abs);
  if (i.opSel)
    modifiers += fmt::format(" abid:{}", i.opSel);
  if (f64)
    modifiers += list("neg", i.neg, 3, 0);
  else if (i.neg && !sparse)
    modifiers += fmt::format(" blgp:{}", i.neg);
}

void Printer::lds() {
  add(operand(i.dst));
  for (unsigned n = 0; n < sources(); ++n)
    add(operand(i.src[n]));
  bool two = op.mnemonic.starts_with("ds_read2") || op.mnemonic.starts_with("ds_write2") ||
             op.mnemonic.starts_with("ds_wrxchg2");
  if (two) {
    if (i.offset & 255)
      modifiers += fmt::format(" offset0:{}", i.offset & 255);
    if (i.offset >> 8)
      modifiers += fmt::format(" offset1:{}", i.offset >> 8);
  } else if (i.offset) {
    modifiers += fmt::format(" offset:{}", i.offset);
  }
}

void Printer::flat() {
  bool scratch = op.format == Format::SCRATCH, plain = op.format == Format::FLAT;
  add(operand(i.dst));
  std::string vaddr = operand(i.src[0]), data = operand(i.src[3]), saddr = operand(i.src[1]);
  if (vaddr.empty())
    vaddr = "off";
  if (saddr.empty() && !plain)
    saddr = "off";
  add(vaddr);
  add(op.flags & Atomic || op.signature[0] == '=' ? data : "");
  add(saddr);
  if (i.offset)
    modifiers += fmt::format(" offset:{}", i.offset);
  (void)scratch;
}

void Printer::buffer() {
  if (op.signature == "=")
    return;
  bool atomic = op.flags & Atomic;
  if (!(i.flags & ToLds))
    add(atomic || op.signature[0] == '=' ? operand(i.src[3]) : operand(i.dst));
  std::string vaddr = operand(i.src[0]);
  add(vaddr.empty() ? "off" : vaddr);
  add(operand(i.src[1]));
  add(operand(i.src[2]));
  if (i.flags & Idxen)
    modifiers += " idxen";
  if (i.flags & Offen)
    modifiers += " offen";
  if (i.offset)
    modifiers += fmt::format(" offset:{}", i.offset);
  if (i.flags & ToLds)
    modifiers += " lds";
}

std::string Printer::run() {
  switch (op.format) {
  case Format::SOP1:
  case Format::SOP2:
  case Format::SOPC:
  case Format::SOPK:
  case Format::SOPP:
    scalar();
    break;
  case Format::SMEM:
    smem();
    break;
  case Format::VOP1:
  case Format::VOP2:
  case Format::VOPC:
  case Format::VOP3:
    vector();
    break;
  case Format::VOP3P:
    packed();
    break;
  case Format::MAI:
    matrix();
    break;
  case Format::DS:
    lds();
    break;
  case Format::FLAT:
  case Format::GLOBAL:
  case Format::SCRATCH:
    flat();
    break;
  case Format::MUBUF:
    buffer();
    break;
  }
  std::string text(op.mnemonic);
  if (i.flags & Scaled)
    text.replace(0, 6, "v_mfma_scale");
  text += suffix;
  for (size_t n = 0; n < operands.size(); ++n)
    text += (n ? ", " : " ") + operands[n];
  return text + modifiers;
}

} // namespace

std::string instText(const Inst &i, std::span<const uint32_t> words) {
  return Printer(i, words).run();
}

} // namespace simtest
