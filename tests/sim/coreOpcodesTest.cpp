// Every row of Gfx950.def is written as assembly from its signature, assembled by llvm-mc-22, and
// decoded: the row itself and each of its operands must come back, in the short and in the VOP3
// form.
#include "runtime/sim/Decoder.h"
#include "tests/sim/coreHarness.h"
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <sstream>

using namespace attune::sim;

namespace {

/// One instruction as text and what the decoder must find.
struct Sample {
  const OpcodeInfo *op = nullptr;
  std::string text;
  Operand dst, sdst, src[4];
};

struct Signature {
  std::string dst, src;
  explicit Signature(const OpcodeInfo &op) {
    std::string all(op.signature);
    dst = all.substr(0, all.find('='));
    src = all.substr(all.find('=') + 1);
  }
};

/// Registers by role, far enough apart for 32 dwords each.
constexpr int kVectorBase[] = {0, 32, 64, 96}; // destination, src0, src1, src2
constexpr int kScalarBase[] = {16, 36, 52, 68};

std::string tuple(char prefix, int first, int dwords) {
  if (dwords == 1)
    return std::string(1, prefix) + std::to_string(first);
  return std::string(1, prefix) + "[" + std::to_string(first) + ":" +
         std::to_string(first + dwords - 1) + "]";
}

class Builder {
public:
  explicit Builder(const OpcodeInfo &op, const std::string &suffix = "") : signature_(op) {
    s_.op = &op;
    text_ = std::string(op.mnemonic) + suffix;
  }
  Builder &reg(Operand &slot, char letter, bool scalar, int role) {
    bool acc = letter == 'a';
    int first = scalar ? kScalarBase[role] : kVectorBase[role];
    slot = {scalar ? OperandKind::Sgpr
            : acc  ? OperandKind::Agpr
                   : OperandKind::Vgpr,
            dwordsOf(letter), uint16_t(first)};
    return word(tuple(scalar ? 's' : acc ? 'a' : 'v', first, slot.dwords));
  }
  Builder &word(const std::string &w) {
    text_ += (operands_++ ? ", " : " ") + w;
    return *this;
  }
  Builder &tail(const std::string &w) {
    text_ += " " + w;
    return *this;
  }
  Builder &dst(bool scalar) {
    if (!signature_.dst.empty())
      reg(s_.dst, signature_.dst[0], scalar, 0);
    return *this;
  }
  Builder &sources(bool scalar, size_t limit = 3) {
    for (size_t n = 0; n < std::min(signature_.src.size(), limit); ++n)
      reg(s_.src[n], signature_.src[n], scalar, int(n) + 1);
    return *this;
  }
  /// A lane mask in VCC or in s[10:11] / s[12:13].
  Builder &mask(Operand &slot, bool vcc, int first) {
    slot = {OperandKind::Sgpr, 2, uint16_t(vcc ? 106 : first)};
    return word(vcc ? "vcc" : tuple('s', first, 2));
  }
  /// Data register of a memory instruction.
  Builder &data(char letter, bool destination) {
    Operand &slot = destination ? s_.dst : s_.src[3];
    return reg(slot, letter, false, destination ? 0 : 3);
  }
  Sample &sample() { return s_; }
  const Signature &signature() const { return signature_; }
  Sample done() {
    s_.text = text_;
    return s_;
  }

private:
  Signature signature_;
  Sample s_;
  std::string text_;
  int operands_ = 0;
};

/// Operands that are not registers, by mnemonic; the destination or source that goes with them is
/// in the signature.
const std::map<std::string_view, std::string> kImmediates = {
    {"s_getreg_b32", "hwreg(HW_REG_MODE)"},
    {"s_setreg_b32", "hwreg(HW_REG_MODE)"},
    {"s_setreg_imm32_b32", "hwreg(HW_REG_MODE), 0x1234567"},
    {"s_set_gpr_idx_mode", "gpr_idx(SRC0)"},
    {"s_set_gpr_idx_on", "gpr_idx(SRC1)"},
    {"s_waitcnt", "vmcnt(3)"},
    {"s_sendmsg", "sendmsg(MSG_INTERRUPT)"},
    {"s_endpgm", ""},
    {"s_endpgm_saved", ""},
    {"s_barrier", ""},
    {"s_icache_inv", ""},
    {"s_ttracedata", ""},
    {"s_wakeup", ""},
    {"s_set_gpr_idx_off", ""}};

void addImmediate(Builder &b, const OpcodeInfo &op) {
  auto at = kImmediates.find(op.mnemonic);
  std::string text = at == kImmediates.end() ? "0x12" : at->second;
  if (!text.empty())
    b.word(text);
}

void scalarSamples(const OpcodeInfo &op, std::vector<Sample> &out) {
  Builder b(op);
  if (op.mnemonic == "s_setreg_b32") {
    addImmediate(b, op);
    out.push_back(b.sources(true).done());
    return;
  }
  b.dst(true).sources(true);
  bool immediate =
      op.format == Format::SOPK || op.format == Format::SOPP || op.mnemonic == "s_set_gpr_idx_on";
  if (immediate)
    addImmediate(b, op);
  out.push_back(b.done());
}

void smemSample(const OpcodeInfo &op, std::vector<Sample> &out) {
  Builder b(op);
  const Signature &sig = b.signature();
  if (sig.src.size() == 2) // a store or an atomic: data, base
    b.reg(b.sample().src[3], sig.src[1], true, 3).reg(b.sample().src[0], sig.src[0], true, 1);
  else
    b.dst(true).sources(true);
  if (!sig.src.empty())
    b.word("0x10");
  out.push_back(b.done());
}

/// VOP1, VOP2, VOPC: the short form and, where it exists, the VOP3 form. For VOP3 rows `wide` only.
void vectorSample(const OpcodeInfo &op, bool wide, std::vector<Sample> &out) {
  bool hasBoth = op.format != Format::VOP3 && !(op.flags & NoVop3) && op.mnemonic != "v_nop";
  Builder b(op, !hasBoth ? "" : wide ? "_e64" : "_e32");
  const Signature &sig = b.signature();
  bool vcc = !wide;
  if (sig.dst == "m")
    b.mask(b.sample().dst, vcc, 10);
  else
    b.dst(op.flags & Sdst);
  if (sig.dst.size() == 2)
    b.mask(b.sample().sdst, vcc, 10);
  if (op.flags & HasLiteral) { // K in the middle or at the end
    bool last =
        op.mnemonic.find("aak") != op.mnemonic.npos || op.mnemonic.find("adak") != op.mnemonic.npos;
    Sample &s = b.sample();
    b.reg(s.src[0], sig.src[0], false, 1);
    if (last)
      b.reg(s.src[1], sig.src[1], false, 2).word("0x1234");
    else
      b.word("0x1234").reg(s.src[2], sig.src[1], false, 2);
    s.src[last ? 2 : 1] = {OperandKind::Literal, 1, 0};
    out.push_back(b.done());
    return;
  }
  for (size_t n = 0; n < sig.src.size(); ++n) {
    bool laneSelect =
        n == 1 && (op.mnemonic == "v_readlane_b32" || op.mnemonic == "v_writelane_b32");
    if (laneSelect && op.mnemonic == "v_writelane_b32") {
      b.word("3");
      b.sample().src[1] = {OperandKind::Inline, 1, 131};
    } else if (sig.src[n] == 'm') {
      b.mask(b.sample().src[n], vcc, 12);
    } else {
      b.reg(b.sample().src[n], sig.src[n],
            laneSelect || (n == 0 && op.mnemonic == "v_writelane_b32"), int(n) + 1);
    }
  }
  out.push_back(b.done());
}

void matrixSample(const OpcodeInfo &op, std::vector<Sample> &out) {
  out.push_back(Builder(op).dst(false).sources(false).done());
}

void dsSample(const OpcodeInfo &op, std::vector<Sample> &out) {
  Builder b(op);
  b.dst(false).sources(false);
  if (op.mnemonic == "ds_swizzle_b32")
    b.tail("offset:0x1234");
  else if (op.mnemonic.starts_with("ds_read2") || op.mnemonic.starts_with("ds_write2"))
    b.tail("offset0:3 offset1:5");
  else if (op.mnemonic != "ds_nop")
    b.tail("offset:24");
  out.push_back(b.done());
}

/// Loads have a destination, stores data, atomics data and (with sc0) a destination.
void memorySample(const OpcodeInfo &op, bool returns, std::vector<Sample> &out) {
  Builder b(op);
  const Signature &sig = b.signature();
  Sample &s = b.sample();
  if (op.signature == "=") {
    out.push_back(b.tail("sc1").done());
    return;
  }
  bool atomic = op.flags & Atomic, load = sig.src.empty(), dma = op.flags & LdsDma;
  auto address = [&] {
    if (op.format == Format::FLAT)
      b.reg(s.src[0], 'q', false, 1);
    else if (op.format == Format::GLOBAL)
      b.reg(s.src[0], 'q', false, 1).word("off");
    else if (op.format == Format::SCRATCH)
      b.reg(s.src[0], 'w', false, 1).reg(s.src[1], 'w', true, 2);
  };
  if (op.format == Format::MUBUF) {
    if (load)
      b.data(sig.dst[0], true);
    else
      b.data(sig.src[0], false);
    b.reg(s.src[0], 'w', false, 1)
        .reg(s.src[1], '4', true, 2)
        .reg(s.src[2], 'w', true, 3)
        .tail("offen offset:16");
    if (returns) // the data register receives the old value
      s.dst = {OperandKind::Vgpr, dwordsOf(sig.dst[0]), s.src[3].index};
  } else if (op.format == Format::SCRATCH) {
    if (load)
      b.data(sig.dst[0], true);
    if (load) {
      address();
    } else {
      b.reg(s.src[0], 'w', false, 1).data(sig.src[0], false).reg(s.src[1], 'w', true, 2);
    }
    b.tail("offset:16");
  } else {
    if ((load && !dma) || returns)
      b.data(sig.dst[0], true);
    if (load) {
      address();
    } else if (op.format == Format::FLAT) {
      b.reg(s.src[0], 'q', false, 1).data(sig.src[0], false);
    } else {
      b.reg(s.src[0], 'q', false, 1).data(sig.src[0], false).word("off");
    }
    b.tail("offset:16");
  }
  if (atomic && returns)
    b.tail("sc0");
  out.push_back(b.done());
}

std::vector<Sample> samplesOf(const OpcodeInfo &op) {
  std::vector<Sample> out;
  switch (op.format) {
  case Format::SOP1:
  case Format::SOP2:
  case Format::SOPC:
  case Format::SOPK:
  case Format::SOPP:
    scalarSamples(op, out);
    break;
  case Format::SMEM:
    smemSample(op, out);
    break;
  case Format::VOP1:
  case Format::VOP2:
  case Format::VOPC:
    vectorSample(op, false, out);
    if (!(op.flags & NoVop3) && op.mnemonic != "v_nop")
      vectorSample(op, true, out);
    break;
  case Format::VOP3:
  case Format::VOP3P:
    vectorSample(op, true, out);
    break;
  case Format::MAI:
    matrixSample(op, out);
    break;
  case Format::DS:
    dsSample(op, out);
    break;
  case Format::FLAT:
  case Format::GLOBAL:
  case Format::SCRATCH:
  case Format::MUBUF:
    memorySample(op, false, out);
    if (op.flags & Atomic)
      memorySample(op, true, out);
    break;
  }
  return out;
}

/// Words of each instruction from llvm-mc's "encoding: [0x01,...]" comments.
std::vector<std::vector<uint32_t>> encode(const std::vector<Sample> &samples) {
  std::string base = simtest::scratchDir() + "/rows";
  {
    std::ofstream s(base + ".s");
    for (const Sample &sample : samples)
      s << sample.text << "\n";
  }
  REQUIRE(simtest::runCommand("llvm-mc-22 -triple=amdgcn -mcpu=gfx950 -show-encoding -o " + base +
                              ".out " + base + ".s"));
  std::vector<std::vector<uint32_t>> all;
  std::istringstream lines(simtest::readText(base + ".out"));
  for (std::string line; std::getline(lines, line);) {
    size_t at = line.find("encoding: [");
    if (at == line.npos)
      continue;
    std::vector<uint8_t> bytes;
    for (at += 11; line[at] != ']'; at += line[at] == ',')
      bytes.push_back(uint8_t(std::stoul(line.substr(at, 4), nullptr, 16))), at += 4;
    std::vector<uint32_t> words(bytes.size() / 4);
    std::memcpy(words.data(), bytes.data(), 4 * words.size());
    all.push_back(words);
  }
  return all;
}

bool same(const Operand &a, const Operand &b) {
  return a.kind == b.kind &&
         (a.kind == OperandKind::None || (a.dwords == b.dwords && a.index == b.index));
}

} // namespace

TEST_CASE("every row of the opcode table decodes what LLVM assembles") {
  std::vector<Sample> samples;
  for (uint32_t n = 0; n < kOpcodeCount; ++n)
    for (Sample &s : samplesOf(kOpcodes[n]))
      samples.push_back(std::move(s));
  std::vector<std::vector<uint32_t>> words = encode(samples);
  REQUIRE(words.size() == samples.size());
  for (size_t n = 0; n < samples.size(); ++n) {
    const Sample &s = samples[n];
    Inst i = decode(words[n], 0);
    INFO(s.text);
    CHECK(refusal(i, words[n]) == "");
    CHECK(std::string(kOpcodes[i.opcode].mnemonic) == std::string(s.op->mnemonic));
    CHECK(size_t(i.words) == words[n].size());
    CHECK(same(i.dst, s.dst));
    CHECK(same(i.sdst, s.sdst));
    for (int k = 0; k < 4; ++k) {
      // A destination that is read too is appended to the sources.
      bool appended =
          s.src[k].kind == OperandKind::None && (s.op->flags & ReadsDst) && same(i.src[k], s.dst);
      INFO("source " << k << ": kind " << int(i.src[k].kind) << " register " << i.src[k].index);
      CHECK((appended || same(i.src[k], s.src[k])));
    }
  }
}

TEST_CASE("the opcode table is sorted, unique and its signatures are well formed") {
  for (uint32_t n = 0; n < kOpcodeCount; ++n) {
    const OpcodeInfo &op = kOpcodes[n];
    INFO(op.mnemonic);
    CHECK(findOpcode(op.format, op.code) == int(n));
    size_t equals = op.signature.find('=');
    REQUIRE(equals != op.signature.npos);
    for (char c : op.signature)
      CHECK((c == '=' || dwordsOf(c) > 0));
    if (n > 0)
      CHECK(std::pair(kOpcodes[n - 1].format, kOpcodes[n - 1].mnemonic) <
            std::pair(op.format, op.mnemonic));
  }
}

TEST_CASE("modifiers, literals and constants decode") {
  auto one = [](const std::string &text) {
    static std::vector<uint32_t> words;
    words = simtest::assembleWords(text);
    Inst i = decode(words, 0);
    INFO(text);
    REQUIRE(refusal(i, words) == "");
    REQUIRE(size_t(i.words) == words.size());
    return i;
  };
  Inst i = one("v_fma_f32 v1, -v2, |v3|, -|v4| clamp mul:4");
  CHECK((i.neg == 5 && i.abs == 6 && i.clamp && i.omod == 2));
  i = one("v_add_f32_e32 v1, 0x40490fdb, v2");
  CHECK((i.src[0].kind == OperandKind::Literal && i.literal == 0x40490fdb));
  i = one("s_add_u32 s1, s2, 0x12345678");
  CHECK((i.src[1].kind == OperandKind::Literal && i.literal == 0x12345678));
  i = one("v_mul_f32_dpp v1, -v2, |v3| row_shl:3 row_mask:0xa bank_mask:0x5 bound_ctrl:0");
  CHECK((i.flags & Dpp && i.neg == 1 && i.abs == 2 && (i.ext >> 8 & 0x1ff) == 0x103 &&
         i.ext >> 28 == 0xa));
  i = one("v_add_f32_sdwa v1, v2, v3 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_1 "
          "src1_sel:WORD_0");
  CHECK((i.flags & Sdwa && (i.ext >> 8 & 7) == 5 && (i.ext >> 16 & 7) == 1));
  i = one(
      "v_pk_fma_f16 v1, v2, v3, v4 op_sel:[1,0,1] op_sel_hi:[0,1,0] neg_lo:[1,0,0] neg_hi:[0,1,0]");
  CHECK((i.opSel == 5 && i.opSelHi == 2 && i.neg == 1 && i.abs == 2));
  i = one("v_bitop3_b32 v1, v2, v3, v4 bitop3:0x96");
  CHECK((i.literal == 0x96 && i.neg == 0 && i.abs == 0 && i.omod == 0));
  i = one("v_mfma_f32_32x32x16_bf16 a[0:15], v[2:5], a[6:9], 1.0");
  CHECK((i.dst.kind == OperandKind::Agpr && i.src[0].kind == OperandKind::Vgpr &&
         i.src[1].kind == OperandKind::Agpr && i.src[2].kind == OperandKind::Inline &&
         i.src[2].index == 242));
  i = one("v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[16:21], v[24:27], v[0:15], v40, v41 "
          "op_sel:[1,0,0] "
          "op_sel_hi:[0,1,0] cbsz:2 blgp:4");
  CHECK((i.words == 4 && i.flags & Scaled && i.src[0].dwords == 6 && i.src[1].dwords == 4 &&
         i.src[3].index == 40 && i.src[4].index == 41 && i.ext == 0b1001));
  i = one("buffer_load_dwordx4 v1, s[4:7], 0 offen offset:32 lds");
  CHECK((i.flags & ToLds && i.dst.kind == OperandKind::None && i.memBytes == 16 && i.offset == 32));
  i = one("global_load_dword v1, v2, s[4:5] offset:-8");
  CHECK((i.offset == -8 && i.src[0].dwords == 1 && i.src[1].index == 4));
  i = one("scratch_load_dword v1, off, s3 offset:8");
  CHECK((!(i.flags & Vaddr) && i.src[1].index == 3 && i.offset == 8));
  i = one("s_load_dword s1, s[2:3], s5 offset:0x10");
  CHECK((i.src[1].index == 5 && i.offset == 16));
  i = one("ds_read_b128 a[0:3], v1 offset:65520");
  CHECK((i.dst.kind == OperandKind::Agpr && i.offset == 65520 && i.memBytes == 16));
}
