// An AMDGPU code object: an ELF shared object with machine code, kernel descriptors (64-byte
// structs in .rodata, one per kernel, symbol "name.kd") and MessagePack metadata in a note. This
// reader knows what a launch needs and nothing more.
//
// Accepted: code object versions 4, 5 and 6 (EI_ABIVERSION 2, 3, 4) for gfx950, whatever their
// XNACK and SRAMECC flags.
#pragma once
#include "runtime/abi/Result.h"
#include "runtime/sim/Simulator.h"
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace attune::sim {

/// A hidden argument that the runtime fills in ("hidden_block_count_x" ...).
struct HiddenArg {
  std::string kind;
  uint32_t offset = 0, size = 0;
};

struct Kernel {
  std::string name;
  uint64_t descriptor = 0; ///< offset of the descriptor from the load base
  uint64_t entry = 0;      ///< offset of the first instruction from the load base
  uint32_t ldsBytes = 0, scratchBytes = 0, kernargBytes = 0;
  uint32_t vgprs = 0, accumOffset = 0;
  uint32_t maxThreads = 0;
  uint32_t mode = 0;                             ///< initial MODE
  uint32_t userSgprs = 0;                        ///< count, preloaded arguments included
  uint16_t properties = 0;                       ///< which user SGPRs: KernelProperty
  bool workgroupId[3] = {};                      ///< passed in SGPRs after the user SGPRs
  uint32_t preloadLength = 0, preloadOffset = 0; ///< dwords of kernarg preloaded into SGPRs
  bool dynamicStack = false;
  std::vector<KernelArgInfo> args; ///< those that the caller passes
  std::vector<HiddenArg> hidden;
};

enum KernelProperty : uint16_t {
  PrivateSegmentBuffer = 1,
  DispatchPtr = 2,
  QueuePtr = 4,
  KernargPtr = 8,
  DispatchId = 16,
  FlatScratchInit = 32,
  PrivateSegmentSize = 64,
  Wavefront32 = 1024,
  DynamicStack = 2048,
};

struct CodeObject {
  struct Segment {
    uint64_t address, fileOffset, fileBytes;
  };
  struct Relocation { ///< *(base + address) = base + value
    uint64_t address, value;
  };
  uint64_t memoryBytes = 0; ///< size of the loaded image
  std::vector<Segment> segments;
  std::vector<Relocation> relocations;
  uint64_t textOffset = 0, textBytes = 0; ///< of the executable segment, from the load base
  std::vector<uint32_t> textStarts;       ///< offsets in the text at which symbols lie
  std::map<std::string, uint64_t> symbols;
  std::vector<Kernel> kernels;
};

Result<CodeObject> readCodeObject(std::span<const uint8_t> elf);

} // namespace attune::sim
