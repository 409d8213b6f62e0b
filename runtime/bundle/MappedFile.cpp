// open, fstat, mmap.
#include "runtime/bundle/MappedFile.h"
#include "runtime/cache/FileOps.h"
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace attune::bundle {

Result<MappedFile> mapFile(const std::string &path) {
  cache::FileOps ops;
  cache::Fd fd;
  if (int error = ops.open(path, O_RDONLY | O_NONBLOCK, fd))
    return Error{error == ENOENT ? ErrorCode::NotFound : ErrorCode::Io,
                 cache::describe(path, error)};
  struct stat status;
  if (fstat(fd.get(), &status) != 0)
    return Error{ErrorCode::Io, cache::describe(path, errno)};
  if (!S_ISREG(status.st_mode))
    return Error{ErrorCode::Io, fmt::format("{}: not a file", path)};
  const size_t size = size_t(status.st_size);
  if (size == 0)
    return MappedFile{};
  void *at = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (at == MAP_FAILED)
    return Error{ErrorCode::Io, cache::describe(path, errno)};
  return MappedFile{{at, [size](const void *p) { munmap(const_cast<void *>(p), size); }},
                    {static_cast<const uint8_t *>(at), size}};
}

} // namespace attune::bundle
