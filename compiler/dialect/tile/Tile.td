// The tile dialect: HOW one workgroup computes, written on fragments whose layouts are explicit.
//
// A fragment is a matrix spread over the lanes and registers of a wave; an LDS tile is a matrix in shared memory with
// a row pitch and an XOR swizzle; a view is a strided run of rows in global memory with bounds. Ops say what moves
// where and what is multiplied; which instruction does it follows from the layouts (compiler/lower/TileToRocdl*).
// All coordinates are (row, column) of the matrix at hand; keys, queries and head dimensions are the schedule's words.

#ifndef ATTUNE_TILE_TD
#define ATTUNE_TILE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::attune::tile";
  let summary = "One workgroup's program on fragments, LDS tiles and bounded views";
  let useDefaultTypePrinterParser = 1;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

class Tile_Type<string typeName, string typeMnemonic> : TypeDef<Tile_Dialect, typeName> {
  let mnemonic = typeMnemonic;
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Tile_FragType : Tile_Type<"Frag", "frag"> {
  let summary = "a matrix over the lanes and registers of a wave";
  let description = [{
    `!tile.frag<64x32xf32, "row=(r0,r1,l5,r2,r3,r4) col=(l0,l1,l2,l3,l4)">`: bit i of the row (column) index is the
    i-th register bit (r) or lane bit (l) of the list. A lane bit that is not named holds a copy.
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$cols, "::mlir::Type":$elementType, StringRefParameter<>:$layoutText);
  let genStorageClass = 0; // the layout is read from its text once, when the type is made
  let extraClassDeclaration = [{
    /// The layout with input dimensions "register" and "lane" and outputs "row" and "col".
    const ::attune::layout::LinearLayout &layout() const;
    /// Elements of the matrix that one lane holds.
    int64_t registers() const;
    static FragType get(::mlir::Type elementType, const ::attune::layout::LinearLayout &layout);
  }];
}

def Tile_LdsType : Tile_Type<"Lds", "lds"> {
  let summary = "buffers of one row-major matrix in LDS";
  let description = [{
    `!tile.lds<2 x 64x128xbf16, pitch = 256, swizzle = [4, 8, 1, 2]>`: two buffers; rows are `pitch` bytes apart; the
    16-byte chunk c of row r lies at chunk c XOR f(r), f linear with the given images of the row's low bits.
  }];
  let parameters = (ins "int64_t":$buffers, "int64_t":$rows, "int64_t":$cols, "::mlir::Type":$elementType,
                        "int64_t":$pitch, ArrayRefParameter<"int64_t">:$swizzle);
  let extraClassDeclaration = [{
    int64_t bufferBytes() const { return getRows() * getPitch(); }
    int64_t bytes() const { return getBuffers() * bufferBytes(); }
  }];
}

def Tile_ViewType : Tile_Type<"View", "view"> {
  let summary = "a strided run of rows in global memory, valid between two row numbers";
  let description = [{
    `!tile.view<128xbf16>`: rows of 128 contiguous bf16. Reading outside [first, end) gives zeros and never touches
    memory; writing there does nothing.
  }];
  let parameters = (ins "int64_t":$cols, "::mlir::Type":$elementType);
}

def Tile_Scalar : AnyTypeOf<[I1, I32, I64, F32]>;

//===----------------------------------------------------------------------===//
// Kernel and scalars
//===----------------------------------------------------------------------===//

class Tile_Op<string opMnemonic, list<Trait> traits = []> : Op<Tile_Dialect, opMnemonic, traits>;

def Tile_KernelOp : Tile_Op<"kernel", [IsolatedFromAbove, Symbol, SingleBlock]> {
  let summary = "the program of one workgroup";
  let description = [{
    The block arguments are the kernel arguments, in ABI order, named by `arg_names` (runtime/abi/KernelImage.h lists
    the names). Every wave runs the body.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$arg_names, I64Attr:$waves, I64Attr:$waves_per_eu,
                       I64Attr:$block_m);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `args` $arg_names `waves` `=` $waves `waves_per_eu` `=` $waves_per_eu `block_m` `=` $block_m
    attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The kernel argument of that name, or null.
    ::mlir::Value arg(::llvm::StringRef name);
  }];
}

def Tile_ReturnOp : Tile_Op<"return", [Terminator, HasParent<"KernelOp">]> {
  let summary = "end of the kernel";
  let assemblyFormat = "attr-dict";
}

def Tile_WorkgroupIdOp : Tile_Op<"workgroup_id", [Pure]> {
  let summary = "number of this workgroup in the one-dimensional launch";
  let results = (outs I32:$id);
  let assemblyFormat = "attr-dict `:` type($id)";
}

def Tile_WaveIdOp : Tile_Op<"wave_id", [Pure]> {
  let summary = "number of this wave in its workgroup, the same in all its lanes";
  let results = (outs I32:$id);
  let assemblyFormat = "attr-dict `:` type($id)";
}

def Tile_LoadScalarOp : Tile_Op<"load_scalar", [MemoryEffects<[MemRead]>]> {
  let summary = "one element of a small read-only array, the same for the whole workgroup";
  let arguments = (ins AnyType:$ptr, I32:$index);
  let results = (outs AnyTypeOf<[I32, F32]>:$value);
  let assemblyFormat = "$ptr `[` $index `]` attr-dict `:` type($ptr) `->` type($value)";
}

def Tile_AtHandOp : Tile_Op<"at_hand"> {
  let summary = "these scalars have been read when this point is passed";
  let description = [{
    Scalars of the whole workgroup. Left alone, the compiler reads each just before its first use, and a kernel that takes its
    arguments and lengths in three steps waits three times for memory.
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

def Tile_FetchOp : Tile_Op<"fetch", [Pure]> {
  let summary = "one element of a captured tensor, per lane or for the whole workgroup";
  let description = [{
    Reads element `base + offset` of a tensor of `elements` elements of type `element`; outside it the value is 0.
    `base` is the same for the workgroup, `offset` may differ by lane unless `uniform` is set. Floats arrive as f32,
    integers as i32 (i64 truncated), bool as i1. Pure: captured tensors are never written during a launch.
  }];
  let arguments = (ins AnyType:$ptr, I64:$base, I32:$offset, I64:$elements, TypeAttr:$element, UnitAttr:$is_unsigned,
                       UnitAttr:$uniform);
  let results = (outs AnyTypeOf<[I1, I32, F32]>:$value);
  let assemblyFormat = [{
    $ptr `[` $base `+` $offset `of` $elements `]` `as` $element (`unsigned` $is_unsigned^)? (`uniform` $uniform^)?
    attr-dict `:` type($ptr) `->` type($value)
  }];
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

def Tile_AllocOp : Tile_Op<"alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "LDS of this workgroup";
  let results = (outs Tile_LdsType:$lds);
  let assemblyFormat = "attr-dict `:` type($lds)";
}

def Tile_ViewOp : Tile_Op<"view", [Pure]> {
  let summary = "rows of a tensor in global memory";
  let description = [{
    Row r starts at element `offset + r * stride` of `ptr`; rows first <= r < end may be touched. All operands are the
    same for the workgroup. The span from row `first` to row `end` must stay below 2^31 bytes (planLaunch checks).
  }];
  let arguments = (ins AnyType:$ptr, I64:$offset, I64:$stride, I32:$first, I32:$end);
  let results = (outs Tile_ViewType:$view);
  let assemblyFormat = [{
    $ptr `+` $offset `stride` $stride `rows` $first `to` $end attr-dict `:` type($ptr) `->` type($view)
  }];
}

def Tile_DmaOp : Tile_Op<"dma"> {
  let summary = "global memory straight to LDS, asynchronous, done by all waves together";
  let description = [{
    Fills buffer `buffer` of the LDS tile with rows 0.. of the view; rows outside the view's bounds become zeros, and so
    do the rows of a `gap`: its first row and how many there are, a negative number as unsigned. Each
    wave issues `instructions()` LDS-DMA instructions that count in vmcnt. The LDS side is linear in lanes, so the
    swizzle is applied to the source: a lane fetches the chunk that belongs where it writes.

    A fill may be cut into equal parts, `part 0 of 4` to `part 3 of 4`, to be issued in that order among other work.
  }];
  let arguments = (ins Tile_ViewType:$view, Tile_LdsType:$lds, I32:$buffer, Variadic<I32>:$gap,
                       OptionalAttr<I64Attr>:$part, OptionalAttr<I64Attr>:$parts);
  let assemblyFormat = [{
    $view `,` $lds `[` $buffer `]` (`gap` `(` $gap^ `)`)? (`part` $part^ `of` $parts)? attr-dict
    `:` type($view) `,` type($lds)
  }];
  let builders = [OpBuilder<(ins "mlir::Value":$view, "mlir::Value":$lds, "mlir::Value":$buffer,
                                 "mlir::ValueRange":$gap, "int64_t":$part, "int64_t":$parts)>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// LDS-DMA instructions that each wave issues.
    int64_t instructions();
  }];
}

def Tile_LoadOp : Tile_Op<"load", [MemoryEffects<[MemRead]>]> {
  let summary = "a fragment from global memory";
  let description = [{
    Element (r, c) of the fragment is column `col + r` of row `row + c` of the view: the fragment is the transpose, so
    that a query row of memory becomes a column of the B operand.
  }];
  let arguments = (ins Tile_ViewType:$view, I32:$row, I64Attr:$col);
  let results = (outs Tile_FragType:$frag);
  let assemblyFormat = "$view `[` $row `,` $col `]` attr-dict `:` type($view) `->` type($frag)";
  let hasVerifier = 1;
}

def Tile_StoreOp : Tile_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "a fragment to global memory";
  let description = [{
    Column `r` of row `row + c` of the view becomes element (r, c) of the fragment (the transpose of tile.load). A
    fragment that holds copies is written once.
  }];
  let arguments = (ins Tile_FragType:$frag, Tile_ViewType:$view, I32:$row);
  let assemblyFormat = "$frag `,` $view `[` $row `]` attr-dict `:` type($frag) `,` type($view)";
  let hasVerifier = 1;
}

def Tile_ReadOp : Tile_Op<"read"> {
  let summary = "a fragment from LDS";
  let description = "Element (r, c) is element (row + r, col + c) of the LDS tile.";
  let arguments = (ins Tile_LdsType:$lds, I32:$buffer, I64Attr:$row, I64Attr:$col);
  let results = (outs Tile_FragType:$frag);
  let assemblyFormat = "$lds `[` $buffer `]` `at` `[` $row `,` $col `]` attr-dict `:` type($lds) `->` type($frag)";
  let hasVerifier = 1;
}

def Tile_ReadTrOp : Tile_Op<"read_tr"> {
  let summary = "the transpose of a part of an LDS tile, by the transposing LDS read";
  let description = "Element (r, c) is element (row + c, col + r) of the LDS tile.";
  let arguments = (ins Tile_LdsType:$lds, I32:$buffer, I64Attr:$row, I64Attr:$col);
  let results = (outs Tile_FragType:$frag);
  let assemblyFormat = "$lds `[` $buffer `]` `at` `[` $row `,` $col `]` attr-dict `:` type($lds) `->` type($frag)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Arithmetic on fragments
//===----------------------------------------------------------------------===//

def Tile_SplatOp : Tile_Op<"splat", [Pure]> {
  let summary = "a fragment with one value everywhere";
  let arguments = (ins F32:$value);
  let results = (outs Tile_FragType:$frag);
  let assemblyFormat = "$value attr-dict `:` type($frag)";
}

def Tile_MmaOp : Tile_Op<"mma", [Pure, AllTypesMatch<["c", "result"]>]> {
  let summary = "result = a * b + c on the matrix unit";
  let description = [{
    a is M x K, b is K x N, c is M x N. The order in which an instruction runs through K is free as long as a and b
    agree on it: the verifier asks that their layouts give one map from (register, lane) to the K index.
  }];
  let arguments = (ins Tile_FragType:$a, Tile_FragType:$b, Tile_FragType:$c);
  let results = (outs Tile_FragType:$result);
  let assemblyFormat = "$a `,` $b `,` $c attr-dict `:` type($a) `,` type($b) `,` type($c)";
  let hasVerifier = 1;
}

def Tile_MapOp : Tile_Op<"map", [Pure, SingleBlock]> {
  let summary = "element by element, with the coordinates at hand";
  let description = [{
    The region's arguments are one element of each input, then row and column (i32). An input with fewer rows than the
    result is broadcast along rows; columns must lie in the same lanes. Values from outside may be used.
  }];
  let arguments = (ins Variadic<Tile_FragType>:$inputs);
  let results = (outs Tile_FragType:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inputs `)` attr-dict `:` functional-type($inputs, $result) $body";
  let hasVerifier = 1;
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator, HasParent<"MapOp">]> {
  let summary = "the element that a tile.map computes";
  let arguments = (ins AnyType:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Tile_ReduceKind : I32EnumAttr<"ReduceKind", "how rows are combined", [
  I32EnumAttrCase<"Max", 0, "max">, I32EnumAttrCase<"Add", 1, "add">]> {
  let cppNamespace = "::attune::tile";
}

def Tile_ReduceOp : Tile_Op<"reduce", [Pure]> {
  let summary = "combines rows: first those in registers, then those in other lanes";
  let description = [{
    With two or more result rows only rows held in one lane's registers are combined, one result row per setting of
    the row's lane bits. With one result row lanes exchange too and every lane holds the result of its column.
  }];
  let arguments = (ins Tile_ReduceKind:$kind, Tile_FragType:$input);
  let results = (outs Tile_FragType:$result);
  let assemblyFormat = "$kind $input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_SliceOp : Tile_Op<"slice", [Pure]> {
  let summary = "some rows of a fragment: a choice of registers, no instruction";
  let arguments = (ins Tile_FragType:$input, I64Attr:$row);
  let results = (outs Tile_FragType:$result);
  let assemblyFormat = "$input `rows` `from` $row attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_ConvertOp : Tile_Op<"convert", [Pure]> {
  let summary = "the same elements in other lanes and registers of the wave";
  let description = [{
    What instructions compute on and what memory likes lie otherwise: a matrix operand has a row of memory in two lanes,
    sixteen lanes that load four neighbouring chunks each of sixteen rows use whole sectors. Which moves get from
    one to the other is worked out by compiler/layout/Conversion.h. Elements of 16 bits move in the pairs of a
    register: both layouts have the same neighbours in registers 0 and 1.
  }];
  let arguments = (ins Tile_FragType:$input);
  let results = (outs Tile_FragType:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_CastOp : Tile_Op<"cast", [Pure]> {
  let summary = "another element type, rounded to nearest even, in the same layout";
  let arguments = (ins Tile_FragType:$input);
  let results = (outs Tile_FragType:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_SeenOp : Tile_Op<"seen", [Pure]> {
  let summary = "which rows of a score tile have a column that is not masked";
  let description = [{
    `seen[r]` is true if some element of row r is not -inf. A row is a key, a column a query of this wave; the result
    has one column, copied to every lane that holds the row.
  }];
  let arguments = (ins Tile_FragType:$scores);
  let results = (outs Tile_FragType:$seen);
  let assemblyFormat = "$scores attr-dict `:` type($scores) `->` type($seen)";
  let hasVerifier = 1;
}

def Tile_AnyGreaterOp : Tile_Op<"any_greater", [Pure, AllTypesMatch<["a", "b"]>]> {
  let summary = "whether some element of `a` is greater than the element of `b` in its place";
  let description = [{
    One answer for the whole wave, to branch on. A NaN is not greater than anything, nor is anything greater than it.
  }];
  let arguments = (ins Tile_FragType:$a, Tile_FragType:$b);
  let results = (outs I1:$result);
  let assemblyFormat = "$a `,` $b attr-dict `:` type($a)";
  let hasVerifier = 1;
}

def Tile_KeepOp : Tile_Op<"keep", [Pure, AllTypesMatch<["a", "result"]>]> {
  let summary = "an A operand with the columns zeroed that no row of B will use";
  let description = [{
    Column k of the result is column k of `a` if flag k is set and zero otherwise, whatever the bits were: a key that
    no query sees may hold NaN, and 0 * NaN would reach every query. Flags run through k as the columns of `a` do.
  }];
  let arguments = (ins Tile_FragType:$a, Tile_FragType:$flags);
  let results = (outs Tile_FragType:$result);
  let assemblyFormat = "$a `where` $flags attr-dict `:` type($a) `,` type($flags)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

def Tile_WaitOp : Tile_Op<"wait"> {
  let summary = "waits until at most `vmcnt` memory instructions of this wave are outstanding";
  let description = "With `lds` it also waits for every LDS read of this wave.";
  let arguments = (ins OptionalAttr<I64Attr>:$vmcnt, UnitAttr:$lds);
  let assemblyFormat = "(`vmcnt` `=` $vmcnt^)? (`lds` $lds^)? attr-dict";
  let hasVerifier = 1;
}

def Tile_KeepOrderOp : Tile_Op<"keep_order"> {
  let summary = "global memory instructions, or all, stay on their side of this point";
  let description = [{
    vmcnt counts in issue order: a load that is to be waited for without the DMA behind it has to be issued before it.
    With `all`, the order that the schedule has chosen around this point is the order of the machine code.
  }];
  let arguments = (ins UnitAttr:$all);
  let assemblyFormat = "(`all` $all^)? attr-dict";
}

def Tile_BarrierOp : Tile_Op<"barrier"> {
  let summary = "all waves of the workgroup have come this far";
  let assemblyFormat = "attr-dict";
}

#endif // ATTUNE_TILE_TD
