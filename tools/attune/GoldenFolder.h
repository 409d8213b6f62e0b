// The files of golden/: a record and its text per spec and chip, and LOG.md, which says why they
// changed.
#pragma once
#include "tools/attune/GoldenCompare.h"

namespace attune::tool {

/// Why goldens are blessed; a line of LOG.md.
struct Blessing {
  std::string cause, reason;
  std::vector<Change> changes;
};

class GoldenFolder {
public:
  GoldenFolder(std::string folder, std::string arch)
      : folder_(std::move(folder)), arch_(std::move(arch)) {}

  /// What is kept, by spec; empty if there is no such folder yet. Text that cannot be read or is of
  /// another record is left out.
  Result<std::map<std::string, Described>> read() const;
  /// Writes the files whose content differs from what is there.
  Result<void> write(const std::string &spec, const Described &) const;
  Result<void> remove(const std::string &spec) const;
  Result<void> log(const Blessing &) const;

private:
  std::string recordFile(const std::string &spec) const;
  std::string textFile(const std::string &spec) const;
  std::string inFolder(const std::string &name) const;
  std::string folder_, arch_;
};

} // namespace attune::tool
