// The text form of attn.kernel where ODS cannot say it, and the generated op classes.
#include "compiler/dialect/attn/AttnOps.h"

using namespace mlir;
using namespace attune::attn;

/// A bare `dense` or `varlen`; for K and V also any attribute that is a storage.
static ParseResult parseQStorage(OpAsmParser &parser, StorageKindAttr &storage) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (parser.parseKeyword(&keyword))
    return failure();
  std::optional<StorageKind> kind = symbolizeStorageKind(keyword);
  if (!kind)
    return parser.emitError(loc) << "'" << keyword << "' is no storage; it can be dense or varlen";
  storage = StorageKindAttr::get(parser.getContext(), *kind);
  return success();
}
static void printQStorage(OpAsmPrinter &printer, Operation *, StorageKindAttr storage) {
  printer << stringifyStorageKind(storage.getValue());
}

static ParseResult parseKvStorage(OpAsmParser &parser, KvStorageAttrInterface &storage) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef keyword;
  if (succeeded(parser.parseOptionalKeyword(&keyword))) {
    std::optional<StorageKind> kind = symbolizeStorageKind(keyword);
    if (!kind)
      return parser.emitError(loc)
             << "'" << keyword << "' is no storage; it can be dense, varlen or an attribute";
    storage = StorageKindAttr::get(parser.getContext(), *kind);
    return success();
  }
  Attribute attr;
  if (parser.parseAttribute(attr))
    return failure();
  storage = dyn_cast<KvStorageAttrInterface>(attr);
  if (!storage)
    return parser.emitError(loc) << attr << " does not say how K and V are stored";
  return success();
}
static void printKvStorage(OpAsmPrinter &printer, Operation *op, KvStorageAttrInterface storage) {
  if (auto simple = dyn_cast<StorageKindAttr>(storage))
    printQStorage(printer, op, simple);
  else
    printer << storage;
}

/// `lse(natural)`, or nothing for none.
static ParseResult parseLseOutput(OpAsmParser &parser, LseAttr &lse) {
  lse = LseAttr::get(parser.getContext(), Lse::None);
  if (failed(parser.parseOptionalKeyword("lse")))
    return success();
  StringRef keyword;
  if (parser.parseLParen())
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword) || parser.parseRParen())
    return failure();
  std::optional<Lse> kind = symbolizeLse(keyword);
  if (!kind)
    return parser.emitError(loc) << "'" << keyword << "' is no LSE; it can be natural or base2";
  lse = LseAttr::get(parser.getContext(), *kind);
  return success();
}
static void printLseOutput(OpAsmPrinter &printer, Operation *, LseAttr lse) {
  if (lse.getValue() != Lse::None)
    printer << " lse(" << stringifyLse(lse.getValue()) << ")";
}

/// One region with its argument names; their types follow from the region's kind.
static ParseResult parseBody(OpAsmParser &parser, Region &region, unsigned numArgs) {
  SmallVector<OpAsmParser::Argument> args;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseArgumentList(args, OpAsmParser::Delimiter::Paren))
    return failure();
  if (args.size() != numArgs)
    return parser.emitError(loc) << "expected " << numArgs << " arguments, got " << args.size();
  Builder &b = parser.getBuilder();
  for (OpAsmParser::Argument &arg : args)
    arg.type = b.getI32Type();
  if (numArgs == kNumScoreArgs)
    args.front().type = b.getF32Type();
  return parser.parseRegion(region, args);
}

static ParseResult parseBodies(OpAsmParser &parser, Region &score, Region &mask) {
  if (succeeded(parser.parseOptionalKeyword("score")) && parseBody(parser, score, kNumScoreArgs))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("mask")) && parseBody(parser, mask, kNumMaskArgs))
    return failure();
  return success();
}
static void printBody(OpAsmPrinter &printer, StringRef keyword, Region &region) {
  printer << " " << keyword << "(";
  llvm::interleaveComma(region.getArguments(), printer, [&](Value v) { printer << v; });
  printer << ") ";
  printer.printRegion(region, /*printEntryBlockArgs=*/false);
}
static void printBodies(OpAsmPrinter &printer, Operation *, Region &score, Region &mask) {
  if (!score.empty())
    printBody(printer, "score", score);
  if (!mask.empty())
    printBody(printer, "mask", mask);
}

void KernelOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  unsigned first = &region == &getScore() ? 0 : 1;
  if (region.getNumArguments() + first != kNumScoreArgs)
    return; // not yet verified
  for (BlockArgument arg : region.getArguments())
    setName(arg, kBodyArgNames[first + arg.getArgNumber()]);
}

#define GET_OP_CLASSES
#include "compiler/dialect/attn/AttnOps.cpp.inc"
