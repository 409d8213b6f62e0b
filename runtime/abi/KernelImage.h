// A compiled kernel as the runtime sees it: the code object and its sidecar.
//
// The sidecar is everything a launcher must know and nothing about how the kernel works: the kernel
// arguments with their offsets, the grid formula, the problem the kernel was built for, the
// resources it uses. Compiler and runtime share this header and no other; the sidecar travels as
// JSON (toJson / sidecarFromJson).
//
// ABI fingerprint: SHA-256 over the lines "name kind offset size" of the arguments. The launcher
// packs arguments by name and refuses a code object whose fingerprint is not that of its sidecar's
// own argument list.
#pragma once
#include "runtime/abi/DType.h"
#include "runtime/abi/Result.h"
#include <cstdint>
#include <string>
#include <vector>

namespace attune {

/// How K and V (or Q and O) lie in memory.
enum class Storage : uint8_t {
  Dense,  ///< [batch, seq, heads, dim], lengths q_len and kv_len are the same for every sequence
  Varlen, ///< [tokens, heads, dim], sequences packed one after another, bounds in cu_seqlens
};

enum class LseKind : uint8_t { None, Natural, Base2 };

/// One kernel argument. Kinds: "ptr" (8 bytes), "i64", "i32", "f32".
///
/// Names the compiler may use (element strides, never bytes):
///   q k v out lse sink               ptr
///   cu_seqlens_q cu_seqlens_k        ptr to i32[batch + 1] (varlen)
///   q_len kv_len                     i32 (dense)
///   batch num_q_blocks               i32
///   q_stride_batch q_stride_token q_stride_head (same for k, v, out)      i64
///   lse_stride_batch lse_stride_head lse_stride_row                       i64
///   tensor.NAME                      ptr of a captured tensor
///   tensor.NAME.stride.I             i64, element stride of dimension I
///   tensor.NAME.elements             i64, one past the last reachable element (for the bounds of
///   buffer reads) scalar.NAME                      i32 or f32
/// For varlen the batch strides are absent; sequence starts come from cu_seqlens.
struct KernelArg {
  std::string name;
  std::string kind;
  uint32_t offset = 0;
  uint32_t size = 0;
};

/// A tensor that score or mask reads. `dims` are the names or numbers the spec gave ("heads",
/// "tokens", "128").
struct CapturedTensor {
  std::string name;
  DType dtype = DType::F32;
  std::vector<std::string> dims;
};

struct CapturedScalar {
  std::string name;
  DType dtype = DType::F32; ///< F32 or I32
};

/// What the compiled kernel computes, as far as a caller's tensors must match it.
struct ProblemShape {
  std::string specName;
  Storage qStorage = Storage::Dense;
  Storage kvStorage = Storage::Dense;
  DType dtype = DType::BF16; ///< of q, k and v
  DType outDtype = DType::BF16;
  int numQHeads = 0, numKvHeads = 0;
  int headDim = 0, vHeadDim = 0;
  LseKind lse = LseKind::None;
  bool hasSink = false;
  std::vector<CapturedTensor> tensors;
  std::vector<CapturedScalar> scalars;
};

/// Read from the code object's own metadata, not from what the compiler hoped for.
struct Resources {
  int vgpr = 0, agpr = 0, sgpr = 0;
  int ldsBytes = 0, scratchBytes = 0;
  int vgprSpills = 0, sgprSpills = 0;
  int occupancy = 0; ///< waves per SIMD
};

/// The launch is one-dimensional: workgroups = num_q_blocks * numQHeads * batch with
/// num_q_blocks = ceil(max q_len / blockM). Workgroup id w: b = w % batch, h = (w / batch) %
/// numQHeads, q block = num_q_blocks - 1 - w / (batch * numQHeads) (heavy causal blocks first).
struct GridFormula {
  int blockM = 0;           ///< query rows of a workgroup
  int workgroupThreads = 0; ///< 64 * waves
};

struct KernelReport {
  std::string name; ///< symbol of the kernel
  std::vector<KernelArg> args;
  uint32_t kernargBytes = 0;
  std::string abiFingerprint; ///< hex SHA-256
  GridFormula grid;
  uint64_t workspaceBytes = 0;
  Resources resources;
};

struct Sidecar {
  ProblemShape problem;
  std::string arch;        ///< "gfx950"
  std::string specDigest;  ///< hex SHA-256 of the canonical spec
  std::string plan;        ///< the schedule, as text
  std::string llvmVersion; ///< provenance
  KernelReport kernel;
  double compileMs = 0; ///< measured wall time; not part of any digest
};

struct KernelImage {
  std::vector<uint8_t> codeObject; ///< ELF for amdgcn
  Sidecar sidecar;
};

std::string toJson(const Sidecar &);
Result<Sidecar> sidecarFromJson(const std::string &);

/// The fingerprint of an argument list.
std::string abiFingerprint(const std::vector<KernelArg> &);

} // namespace attune
