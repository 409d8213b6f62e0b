// What the launchers of paged and latent decode share: numbering of slots, and the work lists of
// persistent kernels.
//
// A persistent kernel's workgroup n processes the entries [listStart[n], listStart[n + 1]) of one
// table. An entry is a run of keys of one sequence. Where a sequence is one entry, the kernel
// writes the final output; where it is several (partial >= 0), each leaves its normalised output
// and log weight in rows [partial, partial + tokens) of the partial buffers.
#pragma once
#include "tests/aiter/Harness.h"
#include "tests/aiter/PagedReference.h"

namespace aitertest {

/// Memory answers after 100 instructions and LDS after 12, and the waves of a workgroup advance
/// together, as on SIMDs of their own. Production decode kernels rely on it:
///   page numbers         loaded some 300 instructions before use, with an s_waitcnt that leaves
///                        that load outstanding (most mla, pa gqa16_2tg): not so under Latest
///   K and V by LDS-DMA   into a buffer that slower waves still read in the same barrier interval
///                        (mla fp8): not so under Instant, nor when one wave runs ahead
///   Q by LDS-DMA         rows of 768 bytes on a pitch that overlaps the next wave's by 96: right
///   if
///                        they land in the order of issue (mla_a8w8_qh16_qseqlen2)
///   ds_read into the operands of an MFMA that is still to be issued (the v3 fp8 kernels): right if
///                        LDS answers after it
inline constexpr Policy kInTurn{
    "typical, in turn", attune::sim::Arrival::Typical, attune::sim::Schedule::InTurn, 4, 12, 100};
/// The same with LDS data after 4 instructions, for kernels that wait for five of nine ds_reads and
/// use the sixth (mla_a8w8 qseqlen1 persistent).
inline constexpr Policy kInTurnEarlyLds{"typical, in turn, early LDS",
                                        attune::sim::Arrival::Typical,
                                        attune::sim::Schedule::InTurn,
                                        4,
                                        4,
                                        100};

/// The policy of the harness that the environment variable ATTUNE_AITER_POLICY names, to see which
/// kernels are right under it; else `usual`.
const Policy &chosenPolicy(const Policy &usual);

struct WorkEntry {
  int32_t sequence;
  int32_t partial; ///< first row of the partial buffers; -1: writes the final output
  int32_t queryStart, queryEnd;
  int32_t keyStart, keyEnd; ///< in entries of the page list
  int32_t keysAfter;        ///< from keyEnd to the sequence's last key, in the same unit
  int32_t headRange;        ///< end << 16 | start, for kernels that work on some heads only
};
static_assert(sizeof(WorkEntry) == 32);

struct WorkLists {
  std::vector<WorkEntry> entries;
  std::vector<uint32_t> listStart{0};
  uint32_t partialTokens = 0;
};

struct WorkSplit {
  uint32_t pageKeys = 1;  ///< keys of an entry of the page list
  uint32_t block = 1;     ///< page-list entries that are not split
  uint32_t parts = 1;     ///< of a sequence, at most
  uint32_t headGroup = 0; ///< heads of an entry; 0: all, and no range
  bool countsKeysAfter = true;
  uint32_t lists = 2;
};
WorkLists splitWork(const PagedProblem &, const WorkSplit &);

std::vector<uint32_t> prefixSums(const std::vector<uint32_t> &);
/// 0 .. count - 1 in random order.
std::vector<uint32_t> shuffled(uint32_t count, Normal &);

/// The largest relL2 among the outputs of tokens with keys: one wrong row does not hide behind the
/// others.
double worstToken(const std::vector<double> &out, const PagedProblem &, const PagedAnswer &);

/// Partial buffers as floats, and their merge into `out` and `lse` at a row (token x heads + head).
struct Partials {
  std::vector<float> out, lse; ///< [rows, vDim], [rows]
  uint32_t vDim = 0;
  void merge(const std::vector<size_t> &rows, size_t row, std::vector<double> &mergedOut,
             std::vector<double> &mergedLse) const;
};

} // namespace aitertest
