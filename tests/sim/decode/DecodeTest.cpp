// The opcode table and the decoder against LLVM: random encodings of every row, in every form,
// decoded by us and by llvm-mc-22 -disassemble, and compared as text. A row passes only if LLVM
// gave the same text for some encoding of each of its forms, and a different one for none.
#include "runtime/sim/Decoder.h"
#include "tests/sim/coreHarness.h"
#include "tests/sim/decode/Encodings.h"
#include "tests/sim/decode/InstText.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <sstream>

using namespace attune::sim;
using namespace simtest;

namespace {

std::string bracketed(std::span<const uint32_t> words) { // brackets: these bytes and no others
  std::string text = "[";
  for (size_t n = 0; n < words.size(); ++n)
    for (unsigned byte = 0; byte < 4; ++byte)
      text += fmt::format("{}0x{:02x}", n + byte ? "," : "", words[n] >> (8 * byte) & 255);
  return text + "]\n";
}

/// What llvm-mc says of each encoding; empty where it sees no instruction, or more than one, or one
/// that its assembler would not write ("/*Invalid immediate*/").
std::vector<std::string> disassemble(const std::vector<std::vector<uint32_t>> &encodings) {
  std::string base = scratchDir() + "/decode";
  // After each encoding a marker that names it: s_mov_b32 s0, literal.
  {
    std::ofstream in(base + ".txt");
    for (size_t n = 0; n < encodings.size(); ++n) {
      const uint32_t mark[] = {0xbe8000ffu, 0x10000000u + uint32_t(n)};
      in << bracketed(encodings[n]) << bracketed(mark);
    }
  }
  std::string command = "llvm-mc-22 -triple=amdgcn-amd-amdhsa -mcpu=gfx950 -disassemble " + base +
                        ".txt > " + base + ".out 2> " + base + ".err";
  int status = std::system(command.c_str());
  (void)status; // it fails whenever some encoding is unknown
  std::vector<std::string> texts;
  std::string current;
  unsigned lines = 0;
  std::istringstream out(readText(base + ".out"));
  for (std::string line; std::getline(out, line);) {
    if (line == fmt::format("\ts_mov_b32 s0, 0x1{:07x}", texts.size())) {
      bool good = lines == 1 && current.find("/*") == current.npos &&
                  current.find("v_mfma_ld_scale") == current.npos && // half of a scaled MFMA
                  current.find("lit(") == current.npos && current.find("null") == current.npos;
      texts.push_back(good ? current.substr(1) : "");
      current.clear();
      lines = 0;
    } else if (!line.empty() && !line.starts_with("\t.")) {
      current = line;
      ++lines;
    }
  }
  REQUIRE(texts.size() == encodings.size());
  return texts;
}

void replaceAll(std::string &text, const std::string &from, const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size())
    text.replace(at, from.size(), to);
}

/// Replaces operands that are exactly `from`.
void replaceOperand(std::string &text, const std::string &from, const std::string &to) {
  for (size_t at = 0; (at = text.find(" " + from, at)) != text.npos; ++at) {
    size_t end = at + 1 + from.size();
    if (end == text.size() || text[end] == ',' || text[end] == ' ')
      text.replace(at + 1, from.size(), to);
  }
}

/// Drops from "name(" to its closing parenthesis, keeping `keep`.
void dropCall(std::string &text, const std::string &name, const std::string &keep) {
  size_t at = text.find(name + "(");
  if (at != text.npos)
    text.replace(at, text.find(')', at) + 1 - at, keep);
}

/// LLVM's text without what Inst does not hold or what is only spelling.
std::string normalise(std::string text) {
  text = text.substr(0, text.find("//"));
  while (!text.empty() && text.back() == ' ')
    text.pop_back();
  for (const char *policy : {" sc0", " sc1", " nt", " glc", " gds"})
    replaceAll(text, policy, "");
  replaceAll(text, "  ", " ");
  dropCall(text, "hwreg", "hwreg");
  if (text.starts_with("ds_swizzle_b32"))
    return text.substr(0, text.find(" offset:")); // its own spelling of the 16 bits
  if (text.starts_with("v_nop"))
    return "v_nop";
  if (size_t at = text.find("bitop3:"); at != text.npos) {
    size_t end = std::min(text.find(' ', at), text.size());
    text.replace(at, end - at,
                 fmt::format("bitop3:{}", std::stoul(text.substr(at + 7), nullptr, 0)));
  }
  // Inline floats of 16-bit integer operands are written as their bits.
  static const std::pair<const char *, const char *> halves[] = {
      {"0x3800", "0.5"},  {"0xb800", "-0.5"}, {"0x3c00", "1.0"},
      {"0xbc00", "-1.0"}, {"0x4000", "2.0"},  {"0xc000", "-2.0"},
      {"0x4400", "4.0"},  {"0xc400", "-4.0"}, {"0x3118", "0.15915494"}};
  if (text.find("16") != text.npos)
    for (auto [bits, name] : halves)
      replaceOperand(text, bits, name);
  for (const char *withImmediate :
       {"s_waitcnt", "s_nop", "s_sleep", "s_setprio", "s_sethalt", "s_trap", "s_sendmsg",
        "s_branch", "s_cbranch", "s_incperflevel", "s_decperflevel", "s_set_gpr_idx_mode",
        "s_endpgm ", "s_set_gpr_idx_on"})
    if (text.starts_with(withImmediate)) // their immediates are the low 16 bits as they are
      return text.substr(0, std::min(text.find(' '), text.find(',')));
  return text;
}

/// "-|v1|" and "neg(1)" without their signs.
std::string unsignedOperand(std::string text) {
  if (text.starts_with("neg("))
    text = text.substr(4, text.size() - 5);
  else if (text.starts_with("-|") || text.starts_with("-v") || text.starts_with("-s") ||
           text.starts_with("-e") || text.starts_with("-x") || text.starts_with("-f") ||
           text.starts_with("-m"))
    text.erase(0, 1);
  if (text.starts_with("|"))
    text = text.substr(1, text.size() - 2);
  return text;
}

/// Cuts at ", " and at spaces outside brackets.
std::vector<std::string> pieces(const std::string &text) {
  std::vector<std::string> out(1);
  for (char c : text)
    if (c == ' ')
      out.emplace_back();
    else
      out.back() += c;
  for (std::string &piece : out)
    if (piece.ends_with(","))
      piece.pop_back();
  return out;
}

/// Equal piece by piece, except that ours may show neg, abs or op_sel bits where LLVM prints none:
/// those bits mean nothing there.
bool agree(const std::string &ours, const std::string &theirs) {
  std::vector<std::string> a = pieces(ours), b = pieces(theirs);
  for (size_t n = 0; n < a.size(); ++n)
    if (a[n].starts_with("op_sel") && (n >= b.size() || !b[n].starts_with("op_sel")))
      a.erase(a.begin() + long(n--));
  if (a.size() != b.size())
    return false;
  for (size_t n = 0; n < a.size(); ++n)
    if (a[n] != b[n] && unsignedOperand(a[n]) != b[n])
      return false;
  return true;
}

std::string formName(Form f) {
  return f == Form::Plain  ? ""
         : f == Form::Vop3 ? " (vop3)"
         : f == Form::Sdwa ? " (sdwa)"
                           : " (dpp)";
}

} // namespace

namespace {

/// Our text of an encoding, or why it is refused.
std::string ourText(const std::vector<uint32_t> &words) {
  Inst inst = decode(words, 0);
  std::string why = refusal(inst, words);
  if (!why.empty())
    return why;
  return inst.words == words.size() ? normalise(instText(inst, words))
                                    : "instruction of another length";
}

/// A tuple of SGPRs that starts at a number hardware cannot name. LLVM rounds it down without a
/// word.
bool crookedTuple(const Inst &i) {
  for (const Operand *o : {&i.dst, &i.sdst, &i.src[0], &i.src[1], &i.src[2], &i.src[3], &i.src[4]})
    if (o->kind == OperandKind::Sgpr && o->index % std::clamp<unsigned>(o->dwords, 1, 4) != 0)
      return true;
  return false;
}

/// Bits that the assembler never sets and that LLVM's disassembler takes one way or another: bit 12
/// of a flat offset, which has 12 bits, and signs on sources that are whole numbers.
bool reservedBits(const Inst &i, const std::vector<uint32_t> &words) {
  const OpcodeInfo &op = kOpcodes[i.opcode];
  if (op.format == Format::FLAT)
    return words[0] >> 12 & 1;
  const unsigned signs = i.neg | i.abs;
  if (op.mnemonic == "v_cvt_pk_u8_f32")
    return signs & 6;
  return op.mnemonic.starts_with("v_cvt_scalef32_sr_") && signs & 2;
}

/// Both texts, kept for the test's report if they differ.
class Comparison {
public:
  bool same(const std::vector<uint32_t> &words, const std::string &llvm) {
    ++compared;
    std::string ours = ourText(words), theirs = normalise(llvm);
    if (agree(ours, theirs))
      return true;
    std::string raw;
    for (uint32_t w : words)
      raw += fmt::format("{:08x} ", w);
    if (differ++ < 40)
      report += fmt::format("{}\n  ours   {}\n  LLVM's {}\n", raw, ours, theirs);
    return false;
  }
  unsigned compared = 0, differ = 0;
  std::string report;
};

} // namespace

TEST_CASE("every row of the opcode table decodes as LLVM decodes it", "[decode]") {
  const unsigned perForm = 150;
  std::mt19937 random(950);
  std::vector<std::pair<uint32_t, Form>> samples;
  std::vector<std::vector<uint32_t>> encodings;
  for (uint32_t row = 0; row < kOpcodeCount; ++row)
    for (Form form : formsOf(kOpcodes[row]))
      for (unsigned n = 0; n < perForm; ++n) {
        samples.push_back({row, form});
        encodings.push_back(randomEncoding(kOpcodes[row], form, random));
      }
  std::vector<std::string> expected = disassemble(encodings);
  std::map<std::pair<uint32_t, Form>, unsigned> agreed;
  Comparison comparison;
  for (size_t n = 0; n < encodings.size(); ++n)
    if (!expected[n].empty() && comparison.same(encodings[n], expected[n]))
      ++agreed[samples[n]];
  INFO(comparison.report);
  CHECK(comparison.differ == 0);
  CHECK(comparison.compared > 200000);
  for (auto sample : samples)
    if (!agreed[sample]) {
      FAIL_CHECK(kOpcodes[sample.first].mnemonic << formName(sample.second) << " never agreed");
      agreed[sample] = 1; // once is enough
    }
}

TEST_CASE("random words decode to what LLVM says, or are refused", "[decode]") {
  std::mt19937 random(1);
  std::vector<std::vector<uint32_t>> encodings;
  for (unsigned n = 0; n < 1000000; ++n) {
    std::vector<uint32_t> words(5);
    for (uint32_t &w : words)
      w = uint32_t(random());
    if (random() % 2) // half of them in the space of the long formats
      words[0] = 0b11u << 30 | words[0] >> 2;
    Inst inst = decode(words, 0);
    REQUIRE(inst.words >= 1);
    REQUIRE(inst.words <= words.size());
    words.resize(inst.words);
    if (refusal(inst, words).empty() && !crookedTuple(inst) && !reservedBits(inst, words))
      encodings.push_back(words);
  }
  std::vector<std::string> expected = disassemble(encodings);
  Comparison comparison;
  for (size_t n = 0; n < encodings.size(); ++n)
    if (!expected[n].empty()) // reserved bits and odd register pairs are LLVM's to refuse
      comparison.same(encodings[n], expected[n]);
  INFO(comparison.report);
  CHECK(comparison.differ == 0);
  CHECK(comparison.compared > 100000);
}

TEST_CASE("text that ends inside an instruction is refused", "[decode]") {
  for (std::vector<uint32_t> words : {std::vector<uint32_t>{0xd1cb0000u},
                                      {0xbe8000ffu},
                                      {0x7e0002fau},
                                      {0xd3ac0000u, 0x18000000u, 0xd3ad0000u}}) {
    Inst inst = decode(words, 0);
    CHECK(refusal(inst, words).find("cut off") != std::string::npos);
  }
}
