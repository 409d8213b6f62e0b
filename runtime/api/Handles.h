// What is behind the handles of attune.h, and the guard that every function of it runs in.
#pragma once
#include "runtime/api/Context.h"
#include "runtime/include/attune/attune.h"
#include "runtime/launch/CallPlan.h"
#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string>

struct attune_context {
  std::shared_ptr<attune::Context> context;
  std::mutex mutex; ///< of counters
  std::string counters;
};

struct attune_spec {
  std::shared_ptr<const attune::ParsedSpec> spec;
};

struct attune_kernel {
  attune::KernelPtr kernel;
};

struct attune_plan {
  attune::KernelPtr kernel;
  attune::CallPlan plan;
  std::string validWhile;
};

namespace attune::api {

attune_status fail(const Error &);
attune_status fail(attune_status, std::string text);

/// Runs `body`, which returns a status, and lets no exception out.
template <class Body> attune_status guarded(Body body) {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return fail(ATTUNE_INTERNAL, "out of memory");
  } catch (const std::exception &e) {
    return fail(ATTUNE_INTERNAL, std::string("an exception inside attune: ") + e.what());
  }
}

/// Whether `size` can be sizeof of a version of a struct that holds pointers: such a size never
/// cuts a field in two.
inline bool isStructSize(size_t size) {
  return size >= sizeof(size_t) && size % sizeof(void *) == 0;
}

/// A caller's struct as this version knows it: fields that it does not have are zero. Fields that
/// this version does not know must be zero. `name` is for messages.
template <class T> attune_status readStruct(const T *from, const char *name, T &to) {
  to = {};
  if (!isStructSize(from->size))
    return fail(ATTUNE_INVALID_ARGUMENT, std::string(name) + ".size: must be sizeof(" + name +
                                             "), got " + std::to_string(from->size));
  if (from->size > sizeof(T)) {
    const char *bytes = reinterpret_cast<const char *>(from);
    for (size_t i = sizeof(T); i < from->size; ++i)
      if (bytes[i])
        return fail(ATTUNE_UNSUPPORTED, std::string(name) +
                                            ": has fields that this version of attune does not "
                                            "know; attune_abi_version() is " +
                                            std::to_string(ATTUNE_ABI_VERSION));
  }
  std::memcpy(&to, from, std::min(from->size, sizeof(T)));
  return ATTUNE_OK;
}

/// The other way: as much as the caller's struct holds. Its size stays.
template <class T> attune_status writeStruct(const T &from, const char *name, T *to) {
  const size_t size = to->size;
  if (!isStructSize(size))
    return fail(ATTUNE_INVALID_ARGUMENT, std::string(name) + ".size: must be sizeof(" + name +
                                             "), got " + std::to_string(size));
  std::memcpy(to, &from, std::min(size, sizeof(T)));
  to->size = size;
  return ATTUNE_OK;
}

inline attune_status nullArgument(const char *name) {
  return fail(ATTUNE_INVALID_ARGUMENT, std::string(name) + ": must not be NULL");
}

/// Names and values of a caller's list.
attune_status readSettings(const char *name, const attune_setting *, size_t,
                           std::vector<std::pair<std::string, std::string>> &);

} // namespace attune::api
