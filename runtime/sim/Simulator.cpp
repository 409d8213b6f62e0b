#include "runtime/sim/Simulator.h"
#include "runtime/sim/CodeObject.h"
#include "runtime/sim/Machine.h"
#include "runtime/sim/Observer.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace attune::sim {
namespace {

constexpr uint32_t kLdsLimit = 160 * 1024;
constexpr uint32_t kMaxThreads = 1024;
constexpr uint32_t kDynamicStackBytes = 16 * 1024;

struct Module {
  CodeObject object;
  DecodedText text;
  uint64_t base = 0;
};

Error invalid(const std::string &message) { return {ErrorCode::InvalidArgument, message}; }

/// What hidden arguments a kernel may ask for, by the metadata's names.
uint64_t hiddenValue(const std::string &kind, const Launch &l) {
  for (int axis = 0; axis < 3; ++axis) {
    char letter = char('x' + axis);
    if (kind == fmt::format("hidden_block_count_{}", letter))
      return l.grid[axis];
    if (kind == fmt::format("hidden_group_size_{}", letter))
      return l.block[axis];
  }
  if (kind == "hidden_grid_dims")
    return l.grid[2] * l.block[2] > 1 ? 3 : l.grid[1] * l.block[1] > 1 ? 2 : 1;
  if (kind == "hidden_dynamic_lds_size")
    return l.dynamicLdsBytes;
  return 0; // remainders (workgroups are whole), global offsets, pointers to services that do not
            // exist
}

/// The kernel arguments as the kernel sees them: the caller's bytes, then hidden ones where the
/// caller gave none.
std::vector<uint8_t> kernargImage(const Kernel &k, const Launch &l) {
  std::vector<uint8_t> image(l.kernarg.begin(), l.kernarg.end());
  // The segment is 16-byte aligned and handed out in such units; LLVM reads whole ones
  // (s_load_dwordx4 at the end).
  constexpr size_t unit = 16;
  image.resize((std::max<size_t>(image.size(), k.kernargBytes) + unit - 1) / unit * unit);
  for (const HiddenArg &h : k.hidden) {
    if (h.offset < l.kernarg.size() || h.size > 8 || h.offset + h.size > image.size())
      continue;
    uint64_t value = hiddenValue(h.kind, l);
    std::memcpy(image.data() + h.offset, &value, h.size);
  }
  return image;
}

/// The AQL packet that dispatch_ptr points to.
std::array<uint8_t, 64> dispatchPacket(const Dispatch &d) {
  std::array<uint8_t, 64> packet{};
  auto put = [&](size_t at, auto value) { std::memcpy(packet.data() + at, &value, sizeof value); };
  for (int axis = 0; axis < 3; ++axis) {
    put(4 + 2 * axis, uint16_t(d.block[axis]));
    put(12 + 4 * axis, d.grid[axis] * d.block[axis]);
  }
  put(24, d.scratchBytes);
  put(28, d.ldsBytes);
  put(32, d.loadBase + d.kernel->descriptor);
  put(40, d.kernarg);
  return packet;
}

Result<void> checkLaunch(const Kernel &k, const Launch &l) {
  uint64_t threads = uint64_t(l.block[0]) * l.block[1] * l.block[2];
  uint32_t limit = k.maxThreads ? std::min(k.maxThreads, kMaxThreads) : kMaxThreads;
  if (threads == 0 || threads > limit)
    return invalid(fmt::format("kernel {}: a workgroup of {} threads; it may have 1 to {}", k.name,
                               threads, limit));
  if (l.block[0] > 1023 + 1 || l.block[1] > 1024 || l.block[2] > 1024)
    return invalid(fmt::format("kernel {}: a workgroup dimension above 1024", k.name));
  if (uint64_t lds = uint64_t(k.ldsBytes) + l.dynamicLdsBytes; lds > kLdsLimit)
    return invalid(fmt::format("kernel {}: {} bytes of LDS ({} dynamic); the limit is {}", k.name,
                               lds, l.dynamicLdsBytes, kLdsLimit));
  return {};
}

/// A device buffer that lives as long as a launch.
class ScopedBuffer {
public:
  ScopedBuffer(Memory &memory, uint64_t address) : memory_(memory), address_(address) {}
  ~ScopedBuffer() { memory_.free(address_); }
  ScopedBuffer(const ScopedBuffer &) = delete;

private:
  Memory &memory_;
  uint64_t address_;
};

} // namespace

struct Simulator::Impl {
  Memory memory;
  std::map<ModuleId, Module> modules;
  ModuleId nextId = 1;

  Result<const Kernel *> kernel(const Module &, const std::string &name) const;
  Result<const Module *> module(ModuleId id) const {
    auto at = modules.find(id);
    if (at == modules.end())
      return Error{ErrorCode::NotFound, fmt::format("no module {} is loaded", id)};
    return &at->second;
  }
  Result<RunStats> launch(const Module &, const Kernel &, const Launch &);
};

Simulator::Simulator() : impl_(std::make_unique<Impl>()) {}
Simulator::~Simulator() = default;
Memory &Simulator::memory() { return impl_->memory; }

Result<ModuleId> Simulator::load(std::span<const uint8_t> elf) {
  Result<CodeObject> object = readCodeObject(elf);
  if (!object)
    return object.error();
  Module m;
  m.object = std::move(*object);
  Result<uint64_t> base =
      impl_->memory.alloc(m.object.memoryBytes, fmt::format("code object #{}", impl_->nextId));
  if (!base)
    return base.error();
  m.base = *base;
  impl_->memory.define(m.base, m.object.memoryBytes);
  auto *image = static_cast<uint8_t *>(Memory::host(m.base));
  std::memset(image, 0, m.object.memoryBytes);
  for (const CodeObject::Segment &s : m.object.segments)
    std::memcpy(image + s.address, elf.data() + s.fileOffset, s.fileBytes);
  for (const CodeObject::Relocation &r : m.object.relocations)
    if (r.address + 8 <= m.object.memoryBytes) {
      uint64_t value = m.base + r.value;
      std::memcpy(image + r.address, &value, 8);
    }
  std::span<const uint32_t> words(reinterpret_cast<const uint32_t *>(image + m.object.textOffset),
                                  m.object.textBytes / 4);
  m.text = decodeText(words, m.object.textStarts);
  ModuleId id = impl_->nextId++;
  impl_->modules.emplace(id, std::move(m));
  return id;
}

void Simulator::unload(ModuleId id) {
  auto at = impl_->modules.find(id);
  if (at == impl_->modules.end())
    return;
  impl_->memory.free(at->second.base);
  impl_->modules.erase(at);
}

Result<std::vector<KernelInfo>> Simulator::kernels(ModuleId id) const {
  Result<const Module *> m = impl_->module(id);
  if (!m)
    return m.error();
  std::vector<KernelInfo> infos;
  for (const Kernel &k : (*m)->object.kernels)
    infos.push_back({k.name, k.vgprs, k.accumOffset, k.kernargBytes, k.ldsBytes, k.scratchBytes,
                     k.maxThreads, k.args});
  return infos;
}

Result<uint64_t> Simulator::symbol(ModuleId id, const std::string &name) const {
  Result<const Module *> m = impl_->module(id);
  if (!m)
    return m.error();
  auto at = (*m)->object.symbols.find(name);
  if (at == (*m)->object.symbols.end())
    return Error{ErrorCode::NotFound, fmt::format("the code object has no symbol \"{}\"", name)};
  return (*m)->base + at->second;
}

Result<const Kernel *> Simulator::Impl::kernel(const Module &m, const std::string &name) const {
  std::string plain = name.ends_with(".kd") ? name.substr(0, name.size() - 3) : name, known;
  for (const Kernel &k : m.object.kernels) {
    if (k.name == plain)
      return &k;
    known += (known.empty() ? "" : ", ") + k.name;
  }
  return Error{ErrorCode::NotFound, fmt::format("the code object has no kernel \"{}\"; it has: {}",
                                                plain, known.empty() ? "none" : known)};
}

Result<RunStats> Simulator::launch(ModuleId id, const Launch &launch) {
  Result<const Module *> m = impl_->module(id);
  if (!m)
    return m.error();
  Result<const Kernel *> k = impl_->kernel(**m, launch.kernel);
  if (!k)
    return k.error();
  if (Result<void> ok = checkLaunch(**k, launch); !ok)
    return ok.error();
  return impl_->launch(**m, **k, launch);
}

Result<RunStats> Simulator::Impl::launch(const Module &m, const Kernel &k, const Launch &l) {
  std::vector<uint8_t> args = kernargImage(k, l);
  Result<uint64_t> kernarg = memory.alloc(args.size(), "kernel arguments");
  if (!kernarg)
    return kernarg.error();
  ScopedBuffer kernargGuard(memory, *kernarg);
  std::memcpy(Memory::host(*kernarg), args.data(), args.size());
  memory.define(*kernarg, args.size());
  Result<uint64_t> packet = memory.alloc(64, "dispatch packet");
  if (!packet)
    return packet.error();
  ScopedBuffer packetGuard(memory, *packet);

  Dispatch d{.kernel = &k,
             .text = &m.text,
             .memory = &memory,
             .loadBase = m.base,
             .textBase = m.base + m.object.textOffset,
             .textBytes = uint32_t(m.object.textBytes),
             .kernarg = *kernarg,
             .packet = *packet,
             .preload = {},
             .grid = l.grid,
             .block = l.block,
             .ldsBytes = k.ldsBytes + l.dynamicLdsBytes,
             .scratchBytes = k.scratchBytes + (k.dynamicStack ? kDynamicStackBytes : 0),
             .options = l.options};
  for (uint32_t n = 0; n < k.preloadLength; ++n) {
    uint32_t value = 0;
    size_t at = 4 * (size_t(k.preloadOffset) + n);
    if (at + 4 <= args.size())
      std::memcpy(&value, args.data() + at, 4);
    d.preload.push_back(value);
  }
  std::array<uint8_t, 64> bytes = dispatchPacket(d);
  std::memcpy(Memory::host(*packet), bytes.data(), bytes.size());
  memory.define(*packet, bytes.size());
  memory.beginLaunch(l.options.observers && l.options.observers->followsMemory());
  return runDispatch(d);
}

} // namespace attune::sim
