// The ops of the attn dialect: the kernel, and the four that only its two regions hold.
#ifndef ATTUNE_DIALECT_ATTN_TD
#define ATTUNE_DIALECT_ATTN_TD

include "compiler/dialect/attn/AttnBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Attn_Op<string mnemonic, list<Trait> traits = []> : Op<Attn_Dialect, mnemonic, traits>;

def Attn_BodyType : AnyTypeOf<[F32, I32, I1], "f32, i32 or i1">;

def Attn_KernelOp : Attn_Op<"kernel", [IsolatedFromAbove, Symbol, SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "one attention problem";
  let description = [{
    O[q] = sum over visible k of softmax(score(scale * <Q[q], K[k]>))[k] * V[k], for every query head and sequence.

    ```mlir
    attn.kernel @packed_docs q(varlen, heads = 32, dim = 128) kv(varlen, heads = 8, dim = 128)
        types(bf16 -> bf16) scale(0.08838834764831845) lse(natural)
        captures [#attn.capture<"slope", f32, ["heads"]>, #attn.capture<"doc", i32, ["tokens"]>]
        score(%s, %b, %h, %hk, %q, %k, %qi, %ctx, %q_len, %kv_len) {
      %0 = attn.read @slope[%h] : f32
      ...
      attn.yield %3 : f32
    } mask(%b, %h, %hk, %q, %k, %qi, %ctx, %q_len, %kv_len) {
      %0 = arith.cmpi sle, %k, %q : i32
      attn.yield %0 : i1
    }
    ```
    `kv`'s dim is the width of V (v_head_dim); K is as wide as Q. Without a score region the score is the scaled logit;
    without a mask region every key is visible. %s is f32, all other region arguments are i32: sequence, query head,
    kv head, absolute positions of query and key, the query's row within this call, kv_len - q_len, q_len, kv_len.
    Regions hold ops of arith and math on f32, i32 and i1, plus attn.read and attn.scalar. Two of them mean
    more here than upstream: arith.fptosi saturates and makes 0 of a NaN, and arith.divf without fastmath<arcp>
    is exact where f32 holds the quotient and the operands are exact.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, ConfinedAttr<I64Attr, [IntPositive]>:$num_q_heads,
      ConfinedAttr<I64Attr, [IntPositive]>:$num_kv_heads, ConfinedAttr<I64Attr, [IntPositive]>:$head_dim,
      ConfinedAttr<I64Attr, [IntPositive]>:$v_head_dim, TypeAttr:$dtype, TypeAttr:$out_dtype,
      Attn_StorageAttr:$q_storage, Attn_KvStorageInterface:$kv_storage, F64Attr:$scale,
      DefaultValuedAttr<Attn_LseAttr, "::attune::attn::Lse::None">:$lse, UnitAttr:$has_sink,
      OptionalAttr<TypedArrayAttrBase<Attn_CaptureAttr, "captured tensors">>:$captures,
      OptionalAttr<TypedArrayAttrBase<Attn_ScalarAttr, "run-time scalars">>:$scalars,
      OptionalAttr<DictionaryAttr>:$schedule);
  let regions = (region AnyRegion:$score, AnyRegion:$mask);
  let assemblyFormat = [{
    $sym_name `q` `(` custom<QStorage>($q_storage) `,` `heads` `=` $num_q_heads `,` `dim` `=` $head_dim `)`
    `kv` `(` custom<KvStorage>($kv_storage) `,` `heads` `=` $num_kv_heads `,` `dim` `=` $v_head_dim `)`
    `types` `(` $dtype `->` $out_dtype `)` `scale` `(` $scale `)` `` custom<LseOutput>($lse) (`sink` $has_sink^)?
    (`captures` $captures^)? (`scalars` $scalars^)? (`schedule` $schedule^)?
    attr-dict-with-keyword `` custom<Bodies>($score, $mask)
  }];
  let builders = [
    OpBuilder<(ins "const ::attune::ProblemShape &":$problem, "double":$scale,
                   CArg<"::llvm::ArrayRef<::attune::attn::CaptureAttr>", "{}">:$captures)>,
  ];
  let extraClassDeclaration = [{
    /// What the runtime must match; the spec's name is the symbol's.
    ::attune::ProblemShape problem();

    /// The one block of a region; null if the region is empty.
    ::mlir::Block *scoreBody();
    ::mlir::Block *maskBody();
    /// Appends the block with the right arguments to an empty region.
    ::mlir::Block *addScoreBody();
    ::mlir::Block *addMaskBody();

    /// Null if the kernel declares no such name.
    ::attune::attn::CaptureAttr capture(::llvm::StringRef name);
    ::attune::attn::ScalarAttr scalar(::llvm::StringRef name);

    /// The schedule knobs that the spec names, sorted.
    std::vector<std::pair<std::string, std::string>> scheduleKnobs();
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Attn_ReadOp : Attn_Op<"read", [Pure]> {
  let summary = "an element of a captured tensor";
  let description = [{
    `attn.read @slope[%h] : f32`. Floats of any width read as f32, integers as i32, bools as i1.
  }];
  let arguments = (ins FlatSymbolRefAttr:$tensor, Variadic<I32>:$indices);
  let results = (outs Attn_BodyType:$result);
  let assemblyFormat = "$tensor `[` $indices `]` attr-dict `:` type($result)";
}

def Attn_ScalarOp : Attn_Op<"scalar", [Pure]> {
  let summary = "the value of a run-time scalar";
  let arguments = (ins FlatSymbolRefAttr:$scalar);
  let results = (outs AnyTypeOf<[F32, I32]>:$result);
  let assemblyFormat = "$scalar attr-dict `:` type($result)";
}

def Attn_YieldOp : Attn_Op<"yield", [Pure, Terminator, HasParent<"KernelOp">]> {
  let summary = "the value of a region: f32 of score, i1 of mask";
  let arguments = (ins Attn_BodyType:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

#endif // ATTUNE_DIALECT_ATTN_TD
