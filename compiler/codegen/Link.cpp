// A relocatable object to a code object, by LLD as a library.
//
// LLD keeps its state in globals, so one link runs at a time; a link takes about a millisecond. It
// reads and writes files only, so object and result pass through a private directory that is gone
// when the function returns.
//
// What no loader reads is cut off: symbols and strings for debuggers, and a comment whose text LLD
// takes from the environment (LLD_VERSION), which a cache's key does not know of.
#include "compiler/codegen/Codegen.h"
#include "compiler/codegen/ProcessOptions.h"
#include "fmt/format.h"
#include "lld/Common/Driver.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ObjCopy/CommonConfig.h"
#include "llvm/ObjCopy/ELF/ELFConfig.h"
#include "llvm/ObjCopy/ELF/ELFObjcopy.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

LLD_HAS_DRIVER(elf)

namespace attune::codegen {
namespace {

/// False once LLD says that its globals may be broken; guarded by ExclusiveOptions.
bool linkerUsable = true;

Error ioError(std::string_view what, std::error_code why) {
  return Error{ErrorCode::Io, fmt::format("cannot {} for the linker: {}", what, why.message())};
}

Result<void> runLinker(const std::string &input, const std::string &output,
                       std::string_view kernelName) {
  const char *arguments[] = {"ld.lld",
                             "-shared",
                             "--no-undefined",
                             "--strip-debug",
                             "--build-id=none",
                             "--threads=1",
                             "--color-diagnostics=never",
                             "-o",
                             output.c_str(),
                             input.c_str()};
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  const ExclusiveOptions lock;
  if (!linkerUsable)
    return Error{ErrorCode::Internal, "LLD failed earlier in this process and cannot run again"};
  const lld::Result result = lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  linkerUsable = result.canRunAgain;
  if (result.retCode != 0)
    return Error{ErrorCode::Internal,
                 fmt::format("kernel {}: the linker failed: {}", kernelName, messages)};
  return {};
}

/// Where temporary files go here; where they cannot (TMPDIR names no directory), elsewhere.
std::error_code makeDirectory(llvm::SmallVectorImpl<char> &directory) {
  std::error_code first;
  for (const char *prefix : {"attune", "/tmp/attune", "/dev/shm/attune"}) {
    const std::error_code why = llvm::sys::fs::createUniqueDirectory(prefix, directory);
    if (!why)
      return {};
    first = first ? first : why;
  }
  return first;
}

/// The code object without sections that are not loaded.
Result<std::vector<uint8_t>> stripped(llvm::MemoryBufferRef image, std::string_view kernelName) {
  const auto failed = [&](llvm::Error why) {
    return Error{ErrorCode::Internal,
                 fmt::format("kernel {}: {}", kernelName, llvm::toString(std::move(why)))};
  };
  auto file = llvm::object::ObjectFile::createELFObjectFile(image);
  if (!file)
    return failed(file.takeError());
  llvm::objcopy::CommonConfig common;
  common.StripAll = true;
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  if (llvm::Error why = llvm::objcopy::elf::executeObjcopyOnBinary(
          common, {}, llvm::cast<llvm::object::ELFObjectFileBase>(**file), stream))
    return failed(std::move(why));
  return std::vector<uint8_t>(bytes.begin(), bytes.end());
}

} // namespace

Result<std::vector<uint8_t>> link(std::string_view object, std::string_view kernelName) {
  llvm::SmallString<128> directory;
  if (std::error_code why = makeDirectory(directory))
    return ioError("create a temporary directory (TMPDIR names where)", why);
  const llvm::scope_exit cleanUp([&] { llvm::sys::fs::remove_directories(directory); });
  const std::string input = (directory + "/kernel.o").str();
  const std::string output = (directory + "/kernel.hsaco").str();

  std::error_code why;
  {
    llvm::raw_fd_ostream file(input, why);
    if (!why)
      file << object;
    file.close();
    if (file.has_error())
      why = file.error();
    file.clear_error();
  }
  if (why)
    return ioError("write the object", why);
  if (Result<void> linked = runLinker(input, output, kernelName); !linked)
    return linked.error();

  auto image = llvm::MemoryBuffer::getFile(output, /*IsText=*/false,
                                           /*RequiresNullTerminator=*/false);
  if (!image)
    return ioError("read the result", image.getError());
  return stripped(**image, kernelName);
}

} // namespace attune::codegen
