#include "runtime/sim/Decoder.h"
#include "runtime/sim/CrossLane.h"
#include "runtime/sim/Matrix.h"
#include "runtime/sim/Wave.h"
#include <algorithm>
#include <fmt/format.h>

namespace attune::sim {
namespace {

enum class Refusal : uint32_t { None, Opcode, Truncated, Operand, Dpp, Sdwa, MatrixType };

constexpr uint32_t bits(uint32_t word, unsigned at, unsigned count) {
  return word >> at & ((1u << count) - 1);
}
constexpr int32_t signedBits(uint32_t word, unsigned count) {
  return int32_t(word << (32 - count)) >> (32 - count);
}

/// Decodes one instruction: `i` is filled in field by field, `why` says what was wrong with it.
class InstDecoder {
public:
  InstDecoder(std::span<const uint32_t> words, uint32_t pc) : words_(words), w0_(words[0]) {
    i.pc = pc;
  }
  Inst run();

private:
  using Signature = std::pair<std::string_view, std::string_view>; // destinations, sources

  bool lookUp(Format format, uint32_t code);
  bool needWords(unsigned n);
  void refuse(Refusal why) { why_ = why_ == Refusal::None ? why : why_; }

  Operand vgpr(uint32_t n, char letter, bool acc = false);
  Operand sgpr(uint32_t n, char letter);
  Operand scalarSource(uint32_t code, char letter);
  Operand source(uint32_t code, char letter, bool acc = false);
  char dstLetter(size_t n) const { return n < dst_.size() ? dst_[n] : 0; }
  char srcLetter(size_t n) const { return n < src_.size() ? src_[n] : 0; }
  uint32_t literalAt(unsigned dword);

  void scalar();
  void smem();
  void vop12c();
  void vop3();
  void vop3p();
  void matrix(unsigned at);
  void scaledMatrix();
  void ds();
  void flat(Format format);
  void mubuf();
  void sdwa(uint32_t vsrc1);
  void dpp(uint32_t vsrc1);
  void memoryFlags();
  void finish();

  std::span<const uint32_t> words_;
  uint32_t w0_, w1_ = 0;
  const OpcodeInfo *op_ = nullptr;
  std::string_view dst_, src_;
  Refusal why_ = Refusal::None;
  Inst i;
};

bool InstDecoder::lookUp(Format format, uint32_t code) {
  int row = findOpcode(format, code);
  if (row < 0) {
    refuse(Refusal::Opcode);
    return false;
  }
  op_ = &kOpcodes[row];
  i.opcode = uint16_t(row);
  i.run = op_->run;
  size_t equals = op_->signature.find('=');
  dst_ = op_->signature.substr(0, equals);
  src_ = op_->signature.substr(equals + 1);
  return true;
}

bool InstDecoder::needWords(unsigned n) {
  i.words = uint8_t(n);
  if (words_.size() >= n)
    return true;
  i.words = 1;
  refuse(Refusal::Truncated);
  return false;
}

Operand InstDecoder::vgpr(uint32_t n, char letter, bool acc) {
  if (!letter)
    return {};
  uint8_t dwords = dwordsOf(letter);
  if (n + dwords > 256)
    refuse(Refusal::Operand);
  return {acc || letter == 'a' ? OperandKind::Agpr : OperandKind::Vgpr, dwords, uint16_t(n & 255)};
}

Operand InstDecoder::sgpr(uint32_t n, char letter) {
  if (!letter)
    return {};
  uint8_t dwords = dwordsOf(letter);
  if (n + dwords > uint32_t(reg::kSgprFile))
    refuse(Refusal::Operand);
  return {OperandKind::Sgpr, dwords, uint16_t(n & 127)};
}

/// An 8-bit scalar source code.
Operand InstDecoder::scalarSource(uint32_t code, char letter) {
  if (!letter)
    return {};
  if (code < 128)
    return sgpr(code, letter);
  if (code == 255) {
    i.literal = literalAt(i.words);
    return {OperandKind::Literal, dwordsOf(letter), 0};
  }
  bool special = (code >= 235 && code <= 238) || (code >= 251 && code <= 253);
  if (code > 248 ? !special : code > 208 && code < 240 && !special)
    refuse(Refusal::Operand);
  return {OperandKind::Inline, dwordsOf(letter), uint16_t(code)};
}

/// A 9-bit source code. A lane mask or a wide register tuple cannot be a constant.
Operand InstDecoder::source(uint32_t code, char letter, bool acc) {
  if (!letter)
    return {};
  if (code >= 256)
    return letter == 'm' ? (refuse(Refusal::Operand), Operand{}) : vgpr(code - 256, letter, acc);
  if (letter == 'a' || dwordsOf(letter) > 2)
    refuse(Refusal::Operand);
  return scalarSource(code, letter);
}

/// Value of the literal that follows `dword` words; lengthens the instruction.
uint32_t InstDecoder::literalAt(unsigned dword) { return needWords(dword + 1) ? words_[dword] : 0; }

void InstDecoder::scalar() {
  i.literal = w0_ & 0xffff;
  if (w0_ >> 23 == 0b101111101) {
    if (!lookUp(Format::SOP1, bits(w0_, 8, 8)))
      return;
    i.dst = sgpr(bits(w0_, 16, 7), dstLetter(0));
    i.src[0] = scalarSource(bits(w0_, 0, 8), srcLetter(0));
  } else if (w0_ >> 23 == 0b101111110) {
    if (!lookUp(Format::SOPC, bits(w0_, 16, 7)))
      return;
    i.src[0] = scalarSource(bits(w0_, 0, 8), srcLetter(0));
    i.src[1] = scalarSource(bits(w0_, 8, 8), srcLetter(1));
    if (src_.size() == 1) // s_set_gpr_idx_on: the second field is an immediate
      i.literal = bits(w0_, 8, 8);
  } else if (w0_ >> 23 == 0b101111111) {
    lookUp(Format::SOPP, bits(w0_, 16, 7));
  } else if (w0_ >> 28 == 0b1011) {
    if (!lookUp(Format::SOPK, bits(w0_, 23, 5)))
      return;
    i.dst = sgpr(bits(w0_, 16, 7), dstLetter(0));
    i.src[0] = sgpr(bits(w0_, 16, 7), srcLetter(0));
    if (op_->flags & HasLiteral)
      i.ext = literalAt(1);
  } else if (lookUp(Format::SOP2, bits(w0_, 23, 7))) {
    i.dst = sgpr(bits(w0_, 16, 7), dstLetter(0));
    i.src[0] = scalarSource(bits(w0_, 0, 8), srcLetter(0));
    i.src[1] = scalarSource(bits(w0_, 8, 8), srcLetter(1));
  }
}

void InstDecoder::smem() {
  if (!needWords(2) || !lookUp(Format::SMEM, bits(w0_, 18, 8)))
    return;
  w1_ = words_[1];
  bool glc = bits(w0_, 16, 1);
  if (!(op_->flags & Atomic) || glc)
    i.dst = sgpr(bits(w0_, 6, 7), dstLetter(0));
  i.src[0] = sgpr(2 * bits(w0_, 0, 6), srcLetter(0));
  i.src[3] = sgpr(bits(w0_, 6, 7), srcLetter(1));
  if (src_.empty())
    return;
  bool immediate = bits(w0_, 17, 1), soffset = bits(w0_, 14, 1);
  i.offset = immediate ? signedBits(w1_, 21) : 0;
  if (soffset)
    i.src[1] = sgpr(bits(w1_, 25, 7), 'w');
  else if (!immediate)
    i.src[1] = sgpr(bits(w1_, 0, 7), 'w');
  i.memBytes = uint8_t(4 * dwordsOf(dstLetter(0) ? dstLetter(0) : srcLetter(1)));
}

void InstDecoder::vop12c() {
  uint32_t src0 = bits(w0_, 0, 9), vsrc1 = bits(w0_, 9, 8);
  bool unary = w0_ >> 25 == 0b0111111, compare = w0_ >> 25 == 0b0111110;
  if (!(unary     ? lookUp(Format::VOP1, bits(w0_, 9, 8))
        : compare ? lookUp(Format::VOPC, bits(w0_, 17, 8))
                  : lookUp(Format::VOP2, bits(w0_, 25, 6))))
    return;
  if (compare)
    i.dst = sgpr(reg::kVcc, 'm');
  else if (op_->flags & Sdst)
    i.dst = sgpr(bits(w0_, 17, 7), dstLetter(0));
  else
    i.dst = vgpr(bits(w0_, 17, 8), dstLetter(0));
  if (dstLetter(1))
    i.sdst = sgpr(reg::kVcc, 'm');
  if (op_->flags & HasLiteral) { // fmamk: src0, K, src1; fmaak: src0, src1, K
    i.src[0] = source(src0, srcLetter(0));
    i.literal = literalAt(1);
    bool last = op_->code == 0x18 || op_->code == 0x25;
    i.src[last ? 2 : 1] = {OperandKind::Literal, 1, 0};
    i.src[last ? 1 : 2] = vgpr(vsrc1, srcLetter(1));
    return;
  }
  bool second = !unary && src_.size() >= 2;
  if (src0 == 249) {
    sdwa(vsrc1);
  } else if (src0 == 250) {
    dpp(vsrc1);
  } else {
    i.src[0] = source(src0, srcLetter(0));
    if (second)
      i.src[1] = vgpr(vsrc1, srcLetter(1));
  }
  if (op_->flags & Carry)
    i.src[2] = sgpr(reg::kVcc, 'm');
}

void InstDecoder::sdwa(uint32_t vsrc1) {
  if (!needWords(2))
    return;
  uint32_t x = i.ext = words_[1];
  i.flags |= Sdwa | SourceModified | ResultModified;
  auto operand = [&](uint32_t n, bool scalarOperand, char letter) {
    return scalarOperand ? sgpr(n, letter) : vgpr(n, letter);
  };
  i.src[0] = operand(bits(x, 0, 8), bits(x, 23, 1), srcLetter(0));
  if (src_.size() >= 2 && op_->format != Format::VOP1)
    i.src[1] = operand(vsrc1, bits(x, 31, 1), srcLetter(1));
  i.neg = uint8_t(bits(x, 20, 1) | bits(x, 28, 1) << 1);
  i.abs = uint8_t(bits(x, 21, 1) | bits(x, 29, 1) << 1);
  if (op_->format == Format::VOPC) {
    if (bits(x, 15, 1))
      i.dst = sgpr(bits(x, 8, 7), 'm');
  } else {
    i.clamp = bits(x, 13, 1);
    i.omod = uint8_t(bits(x, 14, 2));
    if (bits(x, 8, 3) > 6 || bits(x, 11, 2) > 2)
      refuse(Refusal::Sdwa);
  }
  if (bits(x, 16, 3) > 6 || bits(x, 24, 3) > 6)
    refuse(Refusal::Sdwa);
}

void InstDecoder::dpp(uint32_t vsrc1) {
  if (!needWords(2))
    return;
  uint32_t x = i.ext = words_[1];
  i.flags |= Dpp | SourceModified;
  i.src[0] = vgpr(bits(x, 0, 8), srcLetter(0));
  if (src_.size() >= 2 && op_->format != Format::VOP1)
    i.src[1] = vgpr(vsrc1, srcLetter(1));
  i.neg = uint8_t(bits(x, 20, 1) | bits(x, 22, 1) << 1);
  i.abs = uint8_t(bits(x, 21, 1) | bits(x, 23, 1) << 1);
  if (!dppTable(bits(x, 8, 9)))
    refuse(Refusal::Dpp);
}

void InstDecoder::vop3() {
  if (!needWords(2) || !lookUp(Format::VOP3, bits(w0_, 16, 10)))
    return;
  w1_ = words_[1];
  i.dst =
      op_->flags & Sdst ? sgpr(bits(w0_, 0, 8), dstLetter(0)) : vgpr(bits(w0_, 0, 8), dstLetter(0));
  for (unsigned n = 0; n < std::min<size_t>(src_.size(), 3); ++n)
    i.src[n] = source(bits(w1_, 9 * n, 9), srcLetter(n));
  if (op_->mnemonic.starts_with("v_bitop3")) { // the truth table lies where others have modifiers
    i.literal = bits(w1_, 27, 2) << 6 | bits(w0_, 8, 3) << 3 | bits(w1_, 29, 3);
    i.opSel = uint8_t(bits(w0_, 11, 4));
  } else if (dstLetter(1)) {
    i.sdst = sgpr(bits(w0_, 8, 7), 'm');
    i.neg = uint8_t(bits(w1_, 29, 3));
    i.clamp = bits(w0_, 15, 1);
    i.omod = uint8_t(bits(w1_, 27, 2));
  } else {
    i.neg = uint8_t(bits(w1_, 29, 3));
    i.abs = uint8_t(bits(w0_, 8, 3));
    i.opSel = uint8_t(bits(w0_, 11, 4));
    i.clamp = bits(w0_, 15, 1);
    i.omod = uint8_t(bits(w1_, 27, 2));
  }
  if (i.neg || i.abs || (i.opSel & 7))
    i.flags |= SourceModified;
  if (i.clamp || i.omod)
    i.flags |= ResultModified;
}

void InstDecoder::vop3p() {
  uint32_t code = bits(w0_, 16, 7);
  if (!needWords(2))
    return;
  w1_ = words_[1];
  if (code == 0x2c) {
    scaledMatrix();
    return;
  }
  if (findOpcode(Format::MAI, code) >= 0) {
    matrix(0);
    return;
  }
  if (!lookUp(Format::VOP3P, code))
    return;
  i.dst = vgpr(bits(w0_, 0, 8), dstLetter(0));
  for (unsigned n = 0; n < std::min<size_t>(src_.size(), 3); ++n)
    i.src[n] = source(bits(w1_, 9 * n, 9), srcLetter(n));
  i.neg = uint8_t(bits(w1_, 29, 3));
  i.abs = uint8_t(bits(w0_, 8, 3));
  i.opSel = uint8_t(bits(w0_, 11, 3));
  i.opSelHi = uint8_t(bits(w1_, 27, 2) | bits(w0_, 14, 1) << 2);
  i.clamp = bits(w0_, 15, 1);
  if (i.clamp)
    i.flags |= ResultModified;
}

/// An MFMA whose words start at `at`.
void InstDecoder::matrix(unsigned at) {
  uint32_t a = words_[at], b = words_[at + 1];
  if (!lookUp(Format::MAI, bits(a, 16, 7)))
    return;
  bool move =
      op_->signature.size() == 3; // v_accvgpr_read / write: acc bits belong to the fixed kinds
  bool accD = bits(a, 15, 1), accA = bits(b, 27, 1), accB = bits(b, 28, 1);
  i.abs = uint8_t(bits(a, 8, 3));
  i.opSel = uint8_t(bits(a, 11, 4));
  i.neg = uint8_t(bits(b, 29, 3));
  if (move)
    i.abs = i.opSel = i.neg = 0;
  i.dst = vgpr(bits(a, 0, 8), dstLetter(0), !move && accD);
  std::string letters(src_);
  if (op_->mnemonic.ends_with("f8f6f4")) { // 8, 6 or 4 bits an element: 8, 6 or 4 registers
    if (!legalF8f6f4(i.abs) || !legalF8f6f4(i.neg)) {
      refuse(Refusal::MatrixType);
      return;
    }
    letters[0] = char('0' + bitsOf(f8f6f4Type(i.abs)));
    letters[1] = char('0' + bitsOf(f8f6f4Type(i.neg)));
  }
  bool acc[] = {accA, accB, accD};
  for (unsigned n = 0; n < std::min<size_t>(letters.size(), 3); ++n) {
    uint32_t code = bits(b, 9 * n, 9);
    bool sparseIndex = n == 2 && letters[2] == 'w' && dstLetter(0) != 'w';
    if (code < 256 && n == 2 && !sparseIndex) // a constant C
      i.src[n] =
          scalarSource(code, letters[0] == 'q' && op_->mnemonic.ends_with("f64") ? 'q' : 'w');
    else
      i.src[n] = source(code, letters[n], !move && !sparseIndex && acc[n]);
    if (!move && code < 256 && (n < 2 || sparseIndex))
      refuse(Refusal::Operand);
  }
}

/// Scale operands in the first two words, the MFMA in the next two.
void InstDecoder::scaledMatrix() {
  if (!needWords(4))
    return;
  uint32_t code = bits(words_[2], 16, 7);
  if (words_[2] >> 23 != 0b110100111 || (code != 0x2d && code != 0x2e)) {
    i.words = 2;
    refuse(Refusal::Opcode);
    return;
  }
  matrix(2);
  i.flags |= Scaled;
  i.src[3] = source(bits(w1_, 0, 9), 'w');
  i.src[4] = source(bits(w1_, 9, 9), 'w');
  uint32_t opSel = bits(w0_, 11, 3), opSelHi = bits(w1_, 27, 2);
  i.ext = (opSel & 1) | (opSelHi & 1) << 1 | (opSel >> 1 & 1) << 2 | (opSelHi >> 1 & 1) << 3;
}

void InstDecoder::memoryFlags() {
  OpFlags f = op_->flags;
  char data = dstLetter(0) ? dstLetter(0) : srcLetter(src_.size() - 1);
  i.memBytes = f & (MemU8 | MemI8) ? 1 : f & (MemU16 | MemI16) ? 2 : uint8_t(4 * dwordsOf(data));
}

void InstDecoder::ds() {
  if (!needWords(2) || !lookUp(Format::DS, bits(w0_, 17, 8)))
    return;
  w1_ = words_[1];
  bool acc = bits(w0_, 25, 1);
  if (bits(w0_, 16, 1)) // no global data share on this chip
    refuse(Refusal::Operand);
  i.offset = int32_t(bits(w0_, 0, 16));
  i.dst = vgpr(bits(w1_, 24, 8), dstLetter(0), acc);
  i.src[0] = vgpr(bits(w1_, 0, 8), srcLetter(0));
  i.src[1] = vgpr(bits(w1_, 8, 8), srcLetter(1), acc);
  i.src[2] = vgpr(bits(w1_, 16, 8), srcLetter(2), acc);
  memoryFlags();
  if (op_->mnemonic.starts_with("ds_read2"))
    i.memBytes /= 2;
}

/// Data operand of a vector memory instruction: destination, store data in src[3], or both for an
/// atomic.
void InstDecoder::flat(Format format) {
  if (!needWords(2) || !lookUp(format, bits(w0_, 18, 7)))
    return;
  w1_ = words_[1];
  bool acc = bits(w1_, 23, 1), sc0 = bits(w0_, 16, 1);
  i.offset = signedBits(w0_, 13);
  if (format == Format::FLAT)
    i.offset &= 0xfff;
  uint32_t saddr = bits(w1_, 16, 7), addr = bits(w1_, 0, 8);
  if (format != Format::FLAT && saddr != 0x7f)
    i.src[1] = sgpr(saddr, format == Format::SCRATCH ? 'w' : 'q');
  bool vaddr = format != Format::SCRATCH || bits(w0_, 13, 1);
  if (vaddr) {
    bool wide = format != Format::SCRATCH && i.src[1].kind == OperandKind::None;
    i.src[0] = vgpr(addr, wide ? 'q' : 'w');
    i.flags |= Vaddr;
  }
  bool atomic = op_->flags & Atomic;
  if (op_->flags & LdsDma)
    i.flags |= ToLds;
  else if (!atomic || sc0)
    i.dst = vgpr(bits(w1_, 24, 8), dstLetter(0), acc);
  i.src[3] = vgpr(bits(w1_, 8, 8), srcLetter(0), acc);
  memoryFlags();
}

void InstDecoder::mubuf() {
  if (!needWords(2) || !lookUp(Format::MUBUF, bits(w0_, 18, 7)))
    return;
  w1_ = words_[1];
  if (op_->signature == "=") // cache control: no operands
    return;
  bool acc = bits(w1_, 23, 1), sc0 = bits(w0_, 14, 1);
  bool offen = bits(w0_, 12, 1), idxen = bits(w0_, 13, 1);
  i.offset = int32_t(bits(w0_, 0, 12));
  i.flags |= (offen ? Offen : 0) | (idxen ? Idxen : 0);
  if (offen || idxen)
    i.src[0] = vgpr(bits(w1_, 0, 8), offen && idxen ? 'q' : 'w');
  i.src[1] = sgpr(4 * bits(w1_, 16, 5), '4');
  i.src[2] = scalarSource(bits(w1_, 24, 8), 'w');
  if (i.src[2].kind == OperandKind::Literal)
    refuse(Refusal::Operand);
  bool atomic = op_->flags & Atomic;
  if (bits(w0_, 16, 1)) {
    i.flags |= ToLds;
    if (!dstLetter(0) || atomic)
      refuse(Refusal::Operand);
  } else if (!atomic || sc0) {
    i.dst = vgpr(bits(w1_, 8, 8), dstLetter(0), acc);
  }
  i.src[3] = vgpr(bits(w1_, 8, 8), srcLetter(0), acc);
  memoryFlags();
}

/// Destinations that are also sources become the last source.
void InstDecoder::finish() {
  if (why_ == Refusal::None && op_ && (op_->flags & ReadsDst)) {
    size_t n = std::min<size_t>(src_.size(), 3);
    bool memory = op_->format >= Format::DS;
    if (!memory && i.src[n].kind == OperandKind::None)
      i.src[n] = i.dst;
  }
  if (why_ == Refusal::None)
    return;
  i.run = refused;
  i.literal = uint32_t(why_);
}

Inst InstDecoder::run() {
  uint32_t top6 = w0_ >> 26;
  if (w0_ >> 30 == 0b10)
    scalar();
  else if (!(w0_ >> 31))
    vop12c();
  else if (top6 == 0b110000)
    smem();
  else if (w0_ >> 23 == 0b110100111)
    vop3p();
  else if (top6 == 0b110100)
    vop3();
  else if (top6 == 0b110110)
    ds();
  else if (top6 == 0b110111)
    flat(bits(w0_, 14, 2) == 0   ? Format::FLAT
         : bits(w0_, 14, 2) == 1 ? Format::SCRATCH
                                 : Format::GLOBAL);
  else if (top6 == 0b111000)
    mubuf();
  else
    refuse(Refusal::Opcode);
  finish();
  return i;
}

} // namespace

Inst decode(std::span<const uint32_t> words, uint32_t pc) { return InstDecoder(words, pc).run(); }

DecodedText decodeText(std::span<const uint32_t> words, std::span<const uint32_t> starts) {
  DecodedText text;
  text.indexOfDword.assign(words.size(), -1);
  std::vector<uint32_t> sync(starts.begin(), starts.end());
  std::sort(sync.begin(), sync.end());
  auto next = sync.begin();
  for (uint32_t at = 0; at < words.size();) {
    while (next != sync.end() && *next / 4 <= at)
      ++next;
    size_t end = next != sync.end() ? std::min<size_t>(*next / 4, words.size()) : words.size();
    text.indexOfDword[at] = int32_t(text.code.size());
    text.code.push_back(decode(words.subspan(at, end - at), 4 * at));
    at += text.code.back().words;
  }
  for (Inst &inst : text.code) {
    if (inst.run == refused || !(kOpcodes[inst.opcode].flags & Branch))
      continue;
    int64_t target = int64_t(inst.pc) / 4 + 1 + int16_t(inst.literal);
    bool inside = target >= 0 && target < int64_t(words.size());
    int32_t index = inside ? text.indexOfDword[size_t(target)] : -1;
    inst.literal = index < 0 ? ~0u : uint32_t(index);
  }
  return text;
}

std::string refusal(const Inst &i, std::span<const uint32_t> words) {
  if (i.run != refused)
    return "";
  std::string raw;
  for (uint32_t n = 0; n < std::max<uint32_t>(i.words, 1) && n < words.size(); ++n)
    raw += fmt::format(" {:08x}", words[n]);
  switch (Refusal(i.literal)) {
  case Refusal::Opcode:
    return "unknown instruction, words" + raw;
  case Refusal::Truncated:
    return "instruction cut off by the end of the text, words" + raw;
  case Refusal::Operand:
    return "illegal operand in the instruction with words" + raw;
  case Refusal::Dpp:
    return "unknown dpp_ctrl in the instruction with words" + raw;
  case Refusal::Sdwa:
    return "unknown SDWA select in the instruction with words" + raw;
  case Refusal::MatrixType:
    return "unknown f8f6f4 operand type in the instruction with words" + raw;
  case Refusal::None:
    break;
  }
  return "";
}

void refused(Wave &w, const Inst &i) {
  auto *text = reinterpret_cast<const uint32_t *>(w.group->textBase);
  w.fault(refusal(i, {text + i.pc / 4, (w.group->textBytes - i.pc) / 4}));
}

} // namespace attune::sim
