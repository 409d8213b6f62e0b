// How a library function says that it could not: it returns Result<T>, a value or an Error, and
// never prints.
//
//   Result<Plan> plan = choosePlan(...);
//   if (!plan) return plan.error();      // an Error converts to any Result
//   use(*plan);
//
// An Error's message is written for the person who has to act on it: it names the field or the spec
// line, the limit that was broken and the nearest legal choice. Errors about a spec carry the
// rendered caret text.
#pragma once
#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace attune {

enum class ErrorCode {
  InvalidSpec,     ///< the spec text is wrong (syntax, types, names)
  Unsupported,     ///< a legal spec or call that this version or chip cannot do
  InvalidArgument, ///< a tensor, length or option of a call is wrong
  NotFound,        ///< a file, kernel or symbol does not exist
  Io,              ///< reading or writing failed
  Device,          ///< the device refused or failed
  SimFault,        ///< the simulator stopped a kernel (bad access, unknown opcode, budget)
  Internal,        ///< our own bug; never the user's fault
};

struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string message;
  /// What is to blame, where a spec may say where that is: a key of spec::Model::places ("dim",
  /// "schedule.waves").
  std::string place = "";
};

template <class T> class [[nodiscard]] Result {
public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  explicit operator bool() const { return state_.index() == 0; }
  T &operator*() { return value(); }
  const T &operator*() const { return value(); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &value(); }
  T &value() {
    assert(*this && "value() of an error");
    return std::get<0>(state_);
  }
  const T &value() const {
    assert(*this && "value() of an error");
    return std::get<0>(state_);
  }
  const Error &error() const {
    assert(!*this && "error() of a value");
    return std::get<1>(state_);
  }

private:
  std::variant<T, Error> state_;
};

/// Success or an Error, for functions with nothing to return.
template <> class [[nodiscard]] Result<void> {
public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}
  explicit operator bool() const { return !error_; }
  const Error &error() const {
    assert(error_ && "error() of success");
    return *error_;
  }

private:
  std::optional<Error> error_;
};

} // namespace attune
