// Free ranges of the host's address space, which is the simulated device's too.
#pragma once
#include <cstdint>
#include <optional>

namespace attune::sim {

/// The start of the free range of `bytes` bytes that lies nearest to `wanted`, page aligned;
/// nothing if there is none. Other threads may take it meanwhile.
std::optional<uint64_t> nearestFreeRange(uint64_t wanted, uint64_t bytes);

} // namespace attune::sim
