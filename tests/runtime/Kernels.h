// Sidecars as the compiler writes them, for tests that have no compiler.
#pragma once
#include "runtime/abi/KernelImage.h"
#include <string>

namespace attune::testing {

/// Lays out arguments one after another, each aligned to its size, and signs the list.
inline void setArgs(KernelReport &kernel,
                    const std::vector<std::pair<std::string, std::string>> &args) {
  kernel.args.clear();
  uint32_t at = 0;
  for (const auto &[name, kind] : args) {
    uint32_t size = kind == "ptr" || kind == "i64" ? 8 : 4;
    at = (at + size - 1) / size * size;
    kernel.args.push_back({name, kind, at, size});
    at += size;
  }
  kernel.kernargBytes = (at + 7) / 8 * 8;
  kernel.abiFingerprint = abiFingerprint(kernel.args);
}

/// q and k, v of 6 over 2 heads, head_dim 64, v_head_dim 32, bf16; q blocks of 128 rows, workgroups
/// of 256 threads.
inline Sidecar sidecar(Storage storage) {
  Sidecar s;
  s.problem.specName = "test";
  s.problem.qStorage = s.problem.kvStorage = storage;
  s.problem.numQHeads = 6;
  s.problem.numKvHeads = 2;
  s.problem.headDim = 64;
  s.problem.vHeadDim = 32;
  s.problem.lse = LseKind::Natural;
  s.arch = "gfx950";
  s.kernel.name = "test_kernel";
  s.kernel.grid = {128, 256};
  if (storage == Storage::Dense)
    setArgs(s.kernel, {{"q", "ptr"},
                       {"k", "ptr"},
                       {"v", "ptr"},
                       {"out", "ptr"},
                       {"lse", "ptr"},
                       {"q_stride_batch", "i64"},
                       {"q_stride_token", "i64"},
                       {"q_stride_head", "i64"},
                       {"k_stride_token", "i64"},
                       {"out_stride_token", "i64"},
                       {"lse_stride_batch", "i64"},
                       {"lse_stride_head", "i64"},
                       {"lse_stride_row", "i64"},
                       {"q_len", "i32"},
                       {"kv_len", "i32"},
                       {"batch", "i32"},
                       {"num_q_blocks", "i32"}});
  else
    setArgs(s.kernel, {{"q", "ptr"},
                       {"k", "ptr"},
                       {"v", "ptr"},
                       {"out", "ptr"},
                       {"lse", "ptr"},
                       {"cu_seqlens_q", "ptr"},
                       {"cu_seqlens_k", "ptr"},
                       {"q_stride_token", "i64"},
                       {"q_stride_head", "i64"},
                       {"batch", "i32"},
                       {"num_q_blocks", "i32"}});
  return s;
}

inline const Sidecar denseKernel = sidecar(Storage::Dense);

} // namespace attune::testing
