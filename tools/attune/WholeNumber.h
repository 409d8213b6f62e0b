// A check for options that are whole numbers. CLI11's own take "-1" for the largest unsigned number
// and "010" for 8, and name a double's limits where there is none.
#pragma once
#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <fmt/format.h>
#include <limits>

namespace attune::tool {

template <class T> CLI::Validator wholeNumber(T least, T most = std::numeric_limits<T>::max()) {
  return CLI::Validator(
      [=](std::string &text) -> std::string {
        T value{};
        auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (failed == std::errc() && end == text.data() + text.size() && value >= least &&
            value <= most)
          return "";
        return fmt::format("'{}' is not a whole number from {} to {}", text, least, most);
      },
      "");
}

} // namespace attune::tool
