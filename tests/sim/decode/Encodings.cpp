#include "tests/sim/decode/Encodings.h"
#include "runtime/sim/Matrix.h"
#include <algorithm>

namespace simtest {
namespace {
using namespace attune::sim;

class Encoder {
public:
  Encoder(const OpcodeInfo &o, std::mt19937 &r) : op(o), random(r) {}
  std::vector<uint32_t> encode(Form form);

private:
  uint32_t draw(uint32_t n) { return uint32_t(random() % n); }
  bool rarely() { return draw(8) == 0; }
  uint32_t sometimes(uint32_t n) { return rarely() ? draw(n) : 0; }
  size_t equals() const { return op.signature.find('='); }
  char src(size_t n) const {
    return equals() + 1 + n < op.signature.size() ? op.signature[equals() + 1 + n] : 0;
  }
  char dst() const { return op.signature[0] == '=' ? 0 : op.signature[0]; }

  uint32_t scalarRegister(char letter, bool destination);
  uint32_t scalarSource(char letter, bool mayBeLiteral);
  uint32_t vectorSource(char letter, bool mayBeLiteral, bool mayBeScalar = true);
  uint32_t vectorRegister(char letter) {
    return draw(257 - std::max<uint32_t>(1, dwordsOf(letter))) & (evenOf(letter));
  }
  uint32_t evenOf(char letter) const { return letter && dwordsOf(letter) > 1 ? ~1u : ~0u; }
  void literal() { needLiteral = true; }

  uint32_t opSel();
  void scalar();
  void smem();
  void shortVector(Form form);
  void vop3();
  void vop3p();
  void matrix();
  void ds();
  void flat();
  void mubuf();

  const OpcodeInfo &op;
  std::mt19937 &random;
  std::vector<uint32_t> out;
  bool needLiteral = false;
};

/// op_sel bits, for the VOP3 instructions that have 16-bit operands or results.
uint32_t Encoder::opSel() {
  bool narrow = op.signature.find('h') != op.signature.npos;
  for (const char *prefix : {"v_cvt_pk_fp8", "v_cvt_pk_bf8", "v_cvt_sr", "v_cvt_scalef32"})
    narrow |= op.mnemonic.starts_with(prefix);
  return op.format == Format::VOP3 && narrow ? sometimes(16) : 0;
}

uint32_t Encoder::scalarRegister(char letter, bool destination) {
  uint32_t n = std::max<uint32_t>(1, letter ? dwordsOf(letter) : 1);
  if (n <= 2 && rarely()) {
    const uint32_t special[] = {106, 102, 104, 126, 124, 107, 127};
    uint32_t r = special[draw(n == 2 ? 4 : 7)];
    return destination && r == 124 && n == 2 ? 106 : r;
  }
  uint32_t align = n >= 4 ? 4 : n;
  return draw((102 - n) / align + 1) * align;
}

uint32_t Encoder::scalarSource(char letter, bool mayBeLiteral) {
  switch (draw(4)) {
  case 0:
    return 128 + draw(81);
  case 1:
    return 240 + draw(9);
  case 2:
    if (mayBeLiteral && !needLiteral && rarely()) {
      literal();
      return 255;
    }
    [[fallthrough]];
  default:
    return scalarRegister(letter, false);
  }
}

uint32_t Encoder::vectorSource(char letter, bool mayBeLiteral, bool mayBeScalar) {
  if (letter == 'm')
    return scalarRegister('m', false);
  bool narrow = letter != 'a' && dwordsOf(letter) <= 2;
  if (mayBeScalar && narrow && draw(3) == 0)
    return scalarSource(letter, mayBeLiteral);
  return 256 + vectorRegister(letter);
}

void Encoder::scalar() {
  uint32_t d = scalarRegister(dst(), true);
  switch (op.format) {
  case Format::SOP1: {
    uint32_t s = src(0) ? scalarSource(src(0), true) : 0;
    out = {0b101111101u << 23 | (dst() ? d : 0) << 16 | uint32_t(op.code) << 8 | s};
    break;
  }
  case Format::SOP2: {
    uint32_t a = scalarSource(src(0), true), b = scalarSource(src(1), true);
    out = {0b10u << 30 | uint32_t(op.code) << 23 | d << 16 | b << 8 | a};
    break;
  }
  case Format::SOPC: {
    uint32_t a = scalarSource(src(0), true), b = src(1) ? scalarSource(src(1), true) : draw(16);
    out = {0b101111110u << 23 | uint32_t(op.code) << 16 | b << 8 | a};
    break;
  }
  case Format::SOPK: {
    bool read = !dst() && src(0);
    uint32_t r = read ? scalarRegister(src(0), false) : dst() ? d : 0;
    if (op.flags & HasLiteral)
      literal();
    out = {0b1011u << 28 | uint32_t(op.code) << 23 | r << 16 | draw(0x10000)};
    break;
  }
  default: {
    bool immediate = true;
    for (const char *plain : {"s_barrier", "s_endpgm_saved", "s_icache_inv", "s_ttracedata",
                              "s_wakeup", "s_set_gpr_idx_off"})
      immediate &= op.mnemonic != plain;
    out = {0b101111111u << 23 | uint32_t(op.code) << 16 | (immediate ? draw(0x10000) : 0)};
  }
  }
}

void Encoder::smem() {
  if (!src(0)) {
    out = {0b110000u << 26 | uint32_t(op.code) << 18 |
               scalarRegister(dst(), true) << 6 * (dst() != 0),
           0};
    if (!dst())
      out[0] = 0b110000u << 26 | uint32_t(op.code) << 18;
    return;
  }
  uint32_t mode = draw(3); // immediate, both, SGPR
  bool imm = mode != 2, soe = mode != 0;
  uint32_t base = scalarRegister(src(0), false) / 2, s = draw(102);
  char data = src(1) ? src(1) : dst(); // of an atomic as wide as what it returns, or wider
  uint32_t glc = op.flags & Atomic ? draw(2) : 0;
  out = {0b110000u << 26 | uint32_t(op.code) << 18 | uint32_t(imm) << 17 | glc << 16 |
             uint32_t(soe && imm) << 14 | scalarRegister(data, true) << 6 | base,
         (imm ? (op.mnemonic.starts_with("s_buffer") ? draw(1 << 20) : draw(1 << 21)) : s) |
             (soe && imm ? s << 25 : 0)};
}

void Encoder::shortVector(Form form) {
  bool hasSrc1 = op.format != Format::VOP1 && src(1);
  bool fixedLiteral = op.flags & HasLiteral;
  uint32_t s0 = src(0) ? vectorSource(src(0), !fixedLiteral, form == Form::Plain) : 0;
  uint32_t s1 = hasSrc1 ? vectorRegister(src(1)) : 0;
  uint32_t d = op.flags & Sdst ? scalarRegister('w', true) : vectorRegister(dst());
  if (op.format == Format::VOP1 && !dst())
    d = 0;
  uint32_t extra = 0, code0 = s0;
  if (form == Form::Sdwa) {
    code0 = 249;
    bool compare = op.format == Format::VOPC;
    uint32_t middle = compare
                          ? sometimes(2) << 15 | scalarRegister('m', true) << 8
                          : sometimes(4) << 14 | sometimes(2) << 13 | draw(3) << 11 | draw(7) << 8;
    if (compare && !(middle >> 15))
      middle = 0;
    extra = (s0 & 255) | middle | draw(7) << 16 | sometimes(8) << 19 |
            (hasSrc1 ? draw(7) << 24 | sometimes(8) << 27 : 0);
  } else if (form == Form::Dpp) {
    code0 = 250;
    // 64-bit operands take row_newbcast only.
    bool wide = dwordsOf(dst()) > 1 || dwordsOf(src(0)) > 1;
    uint32_t control = wide && draw(2) ? 0x150 + draw(16) : draw(0x160);
    extra = (s0 & 255) | control << 8 | draw(2) << 19 | sometimes(hasSrc1 ? 16 : 4) << 20 |
            draw(256) << 24;
  }
  if (fixedLiteral)
    literal();
  uint32_t head = op.format == Format::VOP1   ? 0b0111111u << 25 | d << 17 | uint32_t(op.code) << 9
                  : op.format == Format::VOPC ? 0b0111110u << 25 | uint32_t(op.code) << 17 | s1 << 9
                                              : uint32_t(op.code) << 25 | d << 17 | s1 << 9;
  out = {head | code0};
  if (form != Form::Plain)
    out.push_back(extra);
}

void Encoder::vop3() {
  uint32_t code = op.code;
  if (op.format == Format::VOPC)
    code = op.code;
  else if (op.format == Format::VOP2)
    code += 0x100;
  else if (op.format == Format::VOP1)
    code += 0x140;
  uint32_t s[3] = {0, 0, 0};
  for (unsigned n = 0; n < 3; ++n)
    if (src(n))
      s[n] = vectorSource(src(n), false);
  bool compare = op.format == Format::VOPC, carry = equals() == 2;
  uint32_t d = compare || (op.flags & Sdst) ? scalarRegister(compare ? 'm' : 'w', true)
               : dst()                      ? vectorRegister(dst())
                                            : 0;
  uint32_t middle = carry ? scalarRegister('m', true) << 8 : sometimes(8) << 8 | opSel() << 11;
  bool truthTable = op.mnemonic.starts_with("v_bitop3");
  uint32_t neg = truthTable ? draw(8) : sometimes(8), omod = truthTable ? draw(4) : sometimes(4);
  if (truthTable)
    middle = draw(8) << 8 | opSel() << 11;
  out = {0b110100u << 26 | code << 16 | uint32_t(sometimes(2)) << 15 | middle | d,
         neg << 29 | omod << 27 | s[2] << 18 | s[1] << 9 | s[0]};
}

void Encoder::vop3p() {
  uint32_t s[3] = {0, 0, 0};
  for (unsigned n = 0; n < 3; ++n)
    if (src(n))
      s[n] = vectorSource(src(n), false);
  bool mix = op.mnemonic.starts_with("v_fma_mix"), two = !src(2);
  uint32_t selHi = mix ? sometimes(8) : rarely() ? draw(8) : 7, sel = sometimes(two ? 4 : 8);
  out = {0b110100111u << 23 | uint32_t(op.code) << 16 | uint32_t(sometimes(2)) << 15 |
             (selHi >> 2) << 14 | sel << 11 | sometimes(two ? 4 : 8) << 8 | vectorRegister(dst()),
         sometimes(two ? 4 : 8) << 29 | (selHi & 3) << 27 | s[2] << 18 | s[1] << 9 | s[0]};
}

void Encoder::matrix() {
  bool move = op.signature.size() == 3, sparse = op.mnemonic.starts_with("v_smfmac");
  bool f8 = op.mnemonic.ends_with("f8f6f4");
  uint32_t cbsz = f8 ? draw(5) : sometimes(8), blgp = f8 ? draw(5) : sparse ? 0 : sometimes(8);
  char letters[3] = {src(0), src(1), src(2)};
  if (f8) {
    letters[0] = char('0' + bitsOf(f8f6f4Type(cbsz)));
    letters[1] = char('0' + bitsOf(f8f6f4Type(blgp)));
  }
  uint32_t s[3] = {0, 0, 0};
  for (unsigned n = 0; n < 3; ++n)
    if (letters[n])
      s[n] = move ? vectorSource(letters[n], false) : 256 + vectorRegister(letters[n]);
  if (!move && !sparse && draw(4) == 0)
    s[2] = draw(2) ? 128 + draw(81) : 240 + draw(9);
  uint32_t acc = move ? 0 : draw(4), accD = move ? 0 : draw(2);
  if (move) {
    acc = op.mnemonic == "v_accvgpr_read_b32" ? 1 : 0;
    cbsz = blgp = 0;
  }
  if (f8 && draw(2)) { // the form with scales
    uint32_t sel = draw(4), selHi = draw(4);
    out = {0b110100111u << 23 | 0x2cu << 16 | sel << 11,
           selHi << 27 | (256 + draw(256)) << 9 | (256 + draw(256))};
  }
  out.push_back(0b110100111u << 23 | uint32_t(op.code) << 16 | accD << 15 |
                (move || f8 ? 0 : sometimes(16)) << 11 | cbsz << 8 | vectorRegister(dst()));
  out.push_back(blgp << 29 | acc << 27 | s[2] << 18 | s[1] << 9 | s[0]);
}

void Encoder::ds() {
  uint32_t r[3] = {0, 0, 0};
  for (unsigned n = 0; n < 3; ++n)
    if (src(n))
      r[n] = vectorRegister(src(n));
  bool data = op.signature != "=" && !op.mnemonic.starts_with("ds_bpermute") &&
              !op.mnemonic.starts_with("ds_permute");
  out = {0b110110u << 26 | uint32_t(data && rarely()) << 25 | uint32_t(op.code) << 17 |
             (op.signature == "=" ? 0 : draw(2) * draw(0x10000)),
         (dst() ? vectorRegister(dst()) : 0) << 24 | r[2] << 16 | r[1] << 8 | r[0]};
}

void Encoder::flat() {
  bool plain = op.format == Format::FLAT, scratch = op.format == Format::SCRATCH;
  bool atomic = op.flags & Atomic, returns = atomic && draw(2);
  bool hasData = atomic || op.signature[0] == '=';
  bool saddr = !plain && draw(2), vaddr = !scratch || draw(2);
  uint32_t data = hasData ? vectorRegister(src(0)) : 0;
  uint32_t d = dst() && !(op.flags & LdsDma) && (!atomic || returns) ? vectorRegister(dst()) : 0;
  uint32_t address = vaddr ? (scratch || (saddr && !plain) ? draw(256) : draw(128) * 2) : 0;
  uint32_t s = saddr ? scalarRegister(scratch ? 'w' : 'q', false) : 0x7f;
  if (saddr && s >= 124)
    s = 4;
  out = {0b110111u << 26 | uint32_t(op.code) << 18 |
             uint32_t(returns || (!atomic && rarely())) << 16 |
             (plain     ? 0u
              : scratch ? 1u
                        : 2u)
                 << 14 |
             uint32_t(scratch && vaddr) << 13 | (plain ? draw(0x1000) : draw(0x2000)),
         d << 24 | uint32_t((hasData || d) && rarely()) << 23 | (plain ? 0 : s) << 16 | data << 8 |
             address};
}

void Encoder::mubuf() {
  if (op.signature == "=") {
    out = {0b111000u << 26 | uint32_t(op.code) << 18, 0};
    return;
  }
  bool atomic = op.flags & Atomic;
  bool mayBeLds = !atomic && dst() && !(op.flags & (D16 | D16Hi | ReadsDst)) && dst() != 'q';
  bool lds = mayBeLds && draw(4) == 0;
  bool offen = draw(2), idxen = draw(4) == 0;
  uint32_t data = vectorRegister(dst() ? dst() : src(0));
  if (atomic && src(0) && dwordsOf(src(0)) > dwordsOf(dst()))
    data = vectorRegister(src(0));
  uint32_t soffset = draw(2) ? draw(102) : draw(2) ? 128 + draw(65) : 124;
  out = {0b111000u << 26 | uint32_t(op.code) << 18 | uint32_t(lds) << 16 |
             uint32_t(atomic ? draw(2) : 0) << 14 | uint32_t(idxen) << 13 | uint32_t(offen) << 12 |
             draw(2) * draw(0x1000),
         soffset << 24 | uint32_t(!lds && rarely()) << 23 | draw(25) << 16 | (lds ? 0 : data) << 8 |
             (offen && idxen   ? draw(128) * 2
              : offen || idxen ? draw(256)
                               : 0)};
}

std::vector<uint32_t> Encoder::encode(Form form) {
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
    if (form == Form::Vop3)
      vop3();
    else
      shortVector(form);
    break;
  case Format::VOP3:
    vop3();
    break;
  case Format::VOP3P:
    vop3p();
    break;
  case Format::MAI:
    matrix();
    break;
  case Format::DS:
    ds();
    break;
  case Format::FLAT:
  case Format::GLOBAL:
  case Format::SCRATCH:
    flat();
    break;
  case Format::MUBUF:
    mubuf();
    break;
  }
  if (needLiteral)
    out.push_back(uint32_t(random()));
  return out;
}

} // namespace

std::vector<Form> formsOf(const OpcodeInfo &op) {
  bool vector = op.format == Format::VOP1 || op.format == Format::VOP2 || op.format == Format::VOPC;
  std::vector<Form> forms = {Form::Plain};
  if (!vector)
    return forms;
  auto named = [&](std::initializer_list<const char *> prefixes) {
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](const char *p) { return op.mnemonic.starts_with(p); });
  };
  if (!(op.flags & NoVop3))
    forms.push_back(Form::Vop3);
  if (op.flags & HasLiteral || named({"v_accvgpr", "v_permlane", "v_readfirstlane", "v_swap"}))
    return forms;
  bool wide =
      op.signature.find('d') != op.signature.npos || op.signature.find('q') != op.signature.npos;
  if (named({"v_cvt_pk_f32"}) ||
      !(wide || named({"v_nop", "v_dot", "v_fmac", "v_mac", "v_pk_fmac"})))
    forms.push_back(Form::Sdwa);
  if (op.format != Format::VOPC)
    forms.push_back(Form::Dpp);
  return forms;
}

std::vector<uint32_t> randomEncoding(const OpcodeInfo &op, Form form, std::mt19937 &random) {
  return Encoder(op, random).encode(form);
}

} // namespace simtest
