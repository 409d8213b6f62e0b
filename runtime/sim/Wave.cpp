#include "runtime/sim/Wave.h"
#include "runtime/sim/Observer.h"
#include <fmt/format.h>

namespace attune::sim {

/// The next MFMA cannot start for 4 to 16 times the four cycles that other instructions take.
static constexpr uint32_t kMfmaTime = 8;

void Wave::fault(std::string message, int lane) {
  if (state == WaveState::Faulted)
    return;
  state = WaveState::Faulted;
  faultMessage = std::move(message);
  faultLane = lane;
  faultInst = current;
}

void Wave::issue(const Access &access, Counter counter) {
  if (group->observer) [[unlikely]]
    group->observer->issued(*this, access, counter);
  if (!group->latestArrival) {
    access.complete(*this, access);
    return;
  }
  auto pending = std::make_shared<Access>(access);
  pending->issued = time;
  if (uint8_t(counter) & uint8_t(Counter::Vm))
    vmQueue.push_back(pending);
  if (uint8_t(counter) & uint8_t(Counter::Lgkm))
    lgkmQueue.push_back(pending);
}

/// Completes from the front until `keep` are left. An access in both queues completes once.
static void drain(Wave &w, std::deque<std::shared_ptr<Access>> &queue, uint32_t keep) {
  while (queue.size() > keep && w.state == WaveState::Running) {
    std::shared_ptr<Access> access = std::move(queue.front());
    queue.pop_front();
    if (!access->complete)
      continue;
    const Inst *waiting = w.current;
    w.current = access->inst;
    access->complete(w, *access);
    access->complete = nullptr;
    w.current = waiting;
  }
}

void Wave::wait(uint32_t vm, uint32_t lgkm) {
  drain(*this, vmQueue, vm);
  drain(*this, lgkmQueue, lgkm);
}

/// A flat access is counted by vmcnt as well and waits for that, and what follows it for it.
void Wave::completeDue(const Inst &next) {
  while (!vmQueue.empty() && state == WaveState::Running) {
    const Access &oldest = *vmQueue.front();
    if (oldest.complete && time < oldest.issued + group->memoryDelay)
      break;
    drain(*this, vmQueue, uint32_t(vmQueue.size() - 1));
  }
  while (!lgkmQueue.empty() && state == WaveState::Running) {
    const Access &oldest = *lgkmQueue.front();
    bool flat = kOpcodes[oldest.inst->opcode].format == Format::FLAT;
    if (oldest.complete && (flat || time < oldest.issued + group->ldsDelay))
      break;
    drain(*this, lgkmQueue, uint32_t(lgkmQueue.size() - 1));
  }
  time += kOpcodes[next.opcode].format == Format::MAI ? kMfmaTime : 1;
}

uint8_t *Wave::memory(uint64_t address, uint32_t bytes, int lane) {
  if (!lastRegion || !lastRegion->contains(address, bytes)) {
    if (group->lds.contains(address, bytes))
      lastRegion = &group->lds;
    else if (group->scratch.contains(address, bytes))
      lastRegion = &group->scratch;
    else if (const Region *region = group->memory->find(address, bytes))
      lastRegion = region;
    else {
      fault(fmt::format("access of {} bytes outside every buffer: {}", bytes,
                        group->memory->describe(address)),
            lane);
      return nullptr;
    }
  }
  return reinterpret_cast<uint8_t *>(address);
}

uint8_t *Wave::lds(uint32_t address, uint32_t bytes, int lane) {
  if (uint64_t(address) + bytes > group->lds.bytes) {
    fault(fmt::format("LDS access of {} bytes at {:#x}: the workgroup has {} bytes", bytes, address,
                      group->lds.bytes),
          lane);
    return nullptr;
  }
  return reinterpret_cast<uint8_t *>(group->lds.base) + address;
}

} // namespace attune::sim
