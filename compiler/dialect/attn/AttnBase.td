// The attn dialect itself and its attributes: how K and V are stored, what the kernel reads besides Q, K and V.
#ifndef ATTUNE_DIALECT_ATTN_BASE_TD
#define ATTUNE_DIALECT_ATTN_BASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Attn_Dialect : Dialect {
  let name = "attn";
  let cppNamespace = "::attune::attn";
  let summary = "What an attention kernel computes, never how";
  let description = [{
    One op, `attn.kernel`, holds a whole problem: types, heads, storage, and two small regions that say how a logit is
    changed (score) and which keys a query sees (mask). Nothing here names a tile, a wave or an address.
  }];
  let useDefaultAttributePrinterParser = 1;
}

class Attn_Attr<string name, string mnemonic_, list<Trait> traits = []> : AttrDef<Attn_Dialect, name, traits> {
  let mnemonic = mnemonic_;
}

//===-- storage ------------------------------------------------------------------------------------------------===//

def Attn_KvStorageInterface : AttrInterface<"KvStorageAttrInterface"> {
  let cppNamespace = "::attune::attn";
  let description = [{
    How K and V lie in memory. A new layout (paged, gathered, a packed record) is an attribute with this interface;
    the kernel op, its verifier and its printer do not change.
  }];
  let methods = [
    InterfaceMethod<"The layout as the runtime knows it.", "::attune::Storage", "abiStorage">,
  ];
}

def Attn_Storage : I32EnumAttr<"StorageKind", "tensors of sequences", [
    I32EnumAttrCase<"Dense", 0, "dense">, I32EnumAttrCase<"Varlen", 1, "varlen">]> {
  let cppNamespace = "::attune::attn";
  let genSpecializedAttr = 0;
}
def Attn_StorageAttr
    : EnumAttr<Attn_Dialect, Attn_Storage, "storage", [DeclareAttrInterfaceMethods<Attn_KvStorageInterface>]> {
  let summary = "dense: [batch, seq, heads, dim]; varlen: [tokens, heads, dim] with cu_seqlens";
  let assemblyFormat = "`<` $value `>`";
}

def Attn_Lse : I32EnumAttr<"Lse", "the log-sum-exp output", [
    I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Natural", 1, "natural">,
    I32EnumAttrCase<"Base2", 2, "base2">]> {
  let cppNamespace = "::attune::attn";
  let genSpecializedAttr = 0;
}
def Attn_LseAttr : EnumAttr<Attn_Dialect, Attn_Lse, "lse"> {
  let assemblyFormat = "`<` $value `>`";
}

//===-- captures -----------------------------------------------------------------------------------------------===//

def Attn_CaptureAttr : Attn_Attr<"Capture", "capture"> {
  let summary = "a tensor that score or mask reads";
  let description = [{
    `#attn.capture<"doc", i32, ["tokens"], nondecreasing>`. Element types: f32, f16, bf16, i64, i32, i16, i8, ui8, i1.
    A dimension is `heads`, `kv_heads`, `batch`, `tokens`, `q`, `k` or a number. An index of a `tokens` dimension is a
    position within the sequence. `nondecreasing` promises that values never fall within a sequence.
  }];
  let parameters = (ins StringRefParameter<"name in the spec">:$name, "::mlir::Type":$elementType,
                        OptionalArrayRefParameter<"::mlir::StringAttr">:$dims,
                        DefaultValuedParameter<"bool", "false">:$nondecreasing);
  let assemblyFormat = "`<` $name `,` $elementType `,` `[` (`]`) : ($dims^ `]`)? `` custom<Nondecreasing>($nondecreasing) `>`";
  let extraClassDeclaration = [{
    /// The type attn.read gives: f32 of any float, i32 of any integer, i1 of a bool.
    ::mlir::Type readType() const;
  }];
  let genVerifyDecl = 1;
}

def Attn_ScalarAttr : Attn_Attr<"Scalar", "scalar"> {
  let summary = "a run-time number that score or mask reads: f32 or i32";
  let parameters = (ins StringRefParameter<"name in the spec">:$name, "::mlir::Type":$type);
  let assemblyFormat = "`<` $name `,` $type `>`";
  let genVerifyDecl = 1;
}

#endif // ATTUNE_DIALECT_ATTN_BASE_TD
