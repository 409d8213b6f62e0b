#include "runtime/compile/ElfNotes.h"
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace attune {
namespace {

/// Notes are small; a file that says otherwise is not one of ours.
constexpr uint64_t mostNoteBytes = 1 << 20;
constexpr int mostSegments = 1024;

class File {
public:
  explicit File(const std::string &path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  File(const File &) = delete;
  File &operator=(const File &) = delete;
  ~File() {
    if (fd_ >= 0)
      close(fd_);
  }
  bool isOpen() const { return fd_ >= 0; }
  bool read(void *to, size_t bytes, uint64_t at) const {
    return pread(fd_, to, bytes, off_t(at)) == ssize_t(bytes);
  }

private:
  int fd_;
};

constexpr uint64_t padded(uint64_t bytes) { return (bytes + 3) / 4 * 4; }

void addNotes(const std::string &segment, std::vector<ElfNote> &notes) {
  for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= segment.size();) {
    Elf64_Nhdr head;
    segment.copy(reinterpret_cast<char *>(&head), sizeof head, at);
    const uint64_t name = at + sizeof head, content = name + padded(head.n_namesz);
    if (content + head.n_descsz > segment.size() || head.n_namesz == 0)
      return;
    notes.push_back({segment.substr(name, head.n_namesz - 1), head.n_type,
                     segment.substr(content, head.n_descsz)});
    at = content + padded(head.n_descsz);
  }
}

} // namespace

Result<std::vector<ElfNote>> readElfNotes(const std::string &path) {
  File file(path);
  if (!file.isOpen())
    return Error{ErrorCode::NotFound, fmt::format("{}: cannot be opened", path)};
  const auto broken = [&] {
    return Error{ErrorCode::Io, fmt::format("{}: is no 64-bit ELF file", path)};
  };
  Elf64_Ehdr head;
  if (!file.read(&head, sizeof head, 0) ||
      std::string_view(reinterpret_cast<char *>(head.e_ident), SELFMAG) != ELFMAG ||
      head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB ||
      head.e_phentsize != sizeof(Elf64_Phdr) || head.e_phnum > mostSegments)
    return broken();
  std::vector<ElfNote> notes;
  std::vector<Elf64_Phdr> segments(head.e_phnum);
  if (!file.read(segments.data(), segments.size() * sizeof(Elf64_Phdr), head.e_phoff))
    return broken();
  for (const Elf64_Phdr &segment : segments) {
    if (segment.p_type != PT_NOTE)
      continue;
    if (segment.p_filesz > mostNoteBytes)
      return broken();
    std::string bytes(segment.p_filesz, '\0');
    if (!file.read(bytes.data(), bytes.size(), segment.p_offset))
      return broken();
    addNotes(bytes, notes);
  }
  return notes;
}

Result<std::string> readBuildId(const std::string &path) {
  Result<std::vector<ElfNote>> notes = readElfNotes(path);
  if (!notes)
    return notes.error();
  for (const ElfNote &note : *notes)
    if (note.owner == "GNU" && note.type == buildIdNote) {
      std::string hex;
      for (unsigned char byte : note.content)
        hex += fmt::format("{:02x}", byte);
      return hex;
    }
  return Error{ErrorCode::NotFound, fmt::format("{}: has no build id", path)};
}

} // namespace attune
