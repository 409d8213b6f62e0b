// The precompiled header of every file that sees no MLIR: the standard library, fmt and
// nlohmann/json, never our own headers. Reading them costs a file one to two seconds; this pays it
// once (docs/adr/002). Files still include what they use, which the gcc preset checks: it has no
// precompiled headers.
#pragma once
#include "fmt/format.h"
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>
