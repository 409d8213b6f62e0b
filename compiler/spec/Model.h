// A checked attention spec: what is computed, with every name resolved and every type known.
//
// The parser makes an Ast of one file; Sema turns an `attention` of it, with its parameters set,
// into this Model. Nothing below compiler/spec sees text again. Expressions are a flat arena of
// nodes; a node is an index. Calls of functions and built-ins keep both sides: the name and
// arguments (the float64 oracle evaluates built-ins by its own definitions) and the expansion in
// primitive operations (the compiler lowers that).
#pragma once
#include "runtime/abi/DType.h"
#include "runtime/abi/KernelImage.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attune::spec {

/// Position in the text, for errors: 1-based line and column, and the length to underline.
struct SourceRange {
  int line = 0, column = 0, length = 0;
};

enum class ScalarType : uint8_t { F32, I32, Bool };

/// The names a score or mask may use. All are i32 except Score.
enum class IndexName : uint8_t {
  Score, ///< s: the scaled logit (f32); not in masks
  B,     ///< b: sequence
  H,     ///< h: query head
  HK,    ///< hk: kv head = h / (num_q_heads / num_kv_heads)
  Q,     ///< q: absolute position of the query row, ctx + qi
  K,     ///< k: absolute position of the key
  QI,    ///< qi: row within this call's query
  Ctx,   ///< ctx = kv_len - q_len (negative when kv_len < q_len)
  QLen,
  KvLen,
};

// clang-format off
enum class ExprKind : uint8_t {
  ConstF, ConstI, ConstB, // literal in `f`, `i` (ConstB: i is 0 or 1)
  Index,                  // an IndexName in `i`
  Scalar,                 // run-time scalar number `i` of Model::scalars
  Read,                   // captured tensor number `i` of Model::tensors; args are the i32 indices
  Call,                   // `name`(args) with its meaning in `body`; built-in or user fn
  // args[0] op args[1]; operands have one type, F32 or I32 (Div and Rem of I32 round to minus infinity)
  Add, Sub, Mul, Div, Rem, Min, Max, Pow,
  Neg, Abs, Floor, Ceil, Exp, Exp2, Log, Log2, Tanh, Sigmoid, Sqrt, Rsqrt, Sin, Cos, // one arg; F32 (Neg, Abs also I32)
  Eq, Ne, Lt, Le, Gt, Ge, // two args of one type -> Bool
  And, Or, Xor, Not,      // Bool
  BitAnd, BitOr, BitXor, Shl, Shr, // I32 (Shr arithmetic)
  Select,                 // args: Bool, then two of one type
  ToF32, ToI32,           // conversions; ToI32 rounds toward zero; of Bool gives 0 or 1
};
// clang-format on

using ExprId = int32_t; // index into Model::exprs

struct Expr {
  ExprKind kind;
  ScalarType type;
  double f = 0;
  int64_t i = 0;
  std::string name;         // Call only
  std::vector<ExprId> args; // Call: the arguments. A tensor passed to a fn is a Read with no args.
  ExprId body = -1;         // Call only
  bool builtin = false; // Call only: a built-in of the language (the oracle has its own definition)
  SourceRange range;
};

/// A tensor that score or mask reads. A dimension is "heads", "kv_heads", "batch", "tokens", "q",
/// "k" or a number. A `tokens` dimension is indexed by positions (q or k) and holds every
/// sequence's keys one after another: position p of sequence b is element cu_seqlens_k[b] + p
/// (varlen) or b * kv_len + p (dense).
struct Tensor {
  CapturedTensor info;
  bool nondecreasing = false; ///< promise about the values within a sequence
  SourceRange range;
};

/// The expressions as the compiler lowers them: one form for all spellings of one meaning
/// (Canonical.cpp). No calls; And and Or of two or more; equal nodes are one.
struct NormalForm {
  std::vector<Expr> exprs;
  ExprId scale = -1, score = -1, mask = -1; ///< -1: a constant scale, the logit, everything
};

struct Model {
  ProblemShape problem; ///< heads, dims, types, storage, LSE, sink, captured tensors and scalars
  std::vector<Expr> exprs;
  std::vector<Tensor> tensors; ///< same order as problem.tensors
  std::optional<double> scale; ///< softmax_scale when it is a constant; default 1 / sqrt(head_dim)
  ExprId scaleExpr = -1;       ///< set instead of `scale` when it depends on run-time scalars
  ExprId score = -1;           ///< F32; -1: the scaled logit itself
  ExprId mask = -1;            ///< Bool; -1: everything is visible
  std::vector<std::pair<std::string, std::string>>
      schedule; ///< knobs the spec names, checked later by schedule/
  /// Where things are in the text, for refusals that later layers make: "attention", "q", "k", "v",
  /// "heads", "kv_heads", "dim", "v_dim", "out", "scale", "score", "mask", "schedule.KNOB". Absent:
  /// not written.
  std::map<std::string, SourceRange> places;
  NormalForm normal;
  std::string canonical; ///< one text per meaning
  std::string digest;    ///< hex SHA-256 of `canonical`
  std::string fileName;  ///< as given by the caller; not part of the digest
};

} // namespace attune::spec
