#include "runtime/compile/CompilerLink.h"
#include "runtime/abi/SharedLibrary.h"
#include "runtime/compile/ChildProcess.h"
#include "runtime/compile/ElfNotes.h"
#include <charconv>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace attune {
namespace {

namespace fs = std::filesystem;

constexpr auto libraryName = "libattune-compiler.so", workerName = "attune-compile-worker",
               entryName = "attune_compile_v1";

std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

Error badVariable(const char *name, const std::string &value, const char *legal) {
  return {ErrorCode::InvalidArgument, fmt::format("{}={}: must be {}", name, value, legal)};
}

/// What libattune-compiler says of itself in its note: "llvm VERSION", then a path of each library
/// that it was linked with, a line each.
Result<CompilerIdentity> identityOf(const std::string &library) {
  Result<std::vector<ElfNote>> notes = readElfNotes(library);
  if (!notes)
    return notes.error();
  Result<std::string> id = readBuildId(library);
  if (!id)
    return id.error();
  for (const ElfNote &note : *notes) {
    if (note.owner != "Attune")
      continue;
    CompilerIdentity identity{*id, ""};
    std::string_view text(note.content.c_str()); // padded with zeros
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      const std::string line(text.substr(at, end - at));
      at = end + 1;
      if (identity.llvm.empty()) {
        identity.llvm = line;
        continue;
      }
      Result<std::string> build = readBuildId(line);
      if (!build)
        return Error{ErrorCode::NotFound,
                     fmt::format("{}: it needs {}", library, build.error().message)};
      identity.llvm += " " + *build;
    }
    return identity;
  }
  return Error{ErrorCode::Io, fmt::format("{}: is no compiler of attune", library)};
}

} // namespace

Result<CompilerOptions> compilerOptionsFromEnvironment() {
  CompilerOptions options;
  options.library = variable("ATTUNE_COMPILER");
  if (std::string where = variable("ATTUNE_COMPILE"); where == "child")
    options.where = CompileWhere::Child;
  else if (!where.empty() && where != "process")
    return badVariable("ATTUNE_COMPILE", where, "process or child");
  if (std::string limit = variable("ATTUNE_COMPILE_MEMORY"); !limit.empty()) {
    auto [end, failed] =
        std::from_chars(limit.data(), limit.data() + limit.size(), options.childMemoryBytes);
    if (failed != std::errc() || end != limit.data() + limit.size() ||
        options.childMemoryBytes > (uint64_t(1) << 24))
      return badVariable("ATTUNE_COMPILE_MEMORY", limit, "a number of MiB up to 16777216");
    options.childMemoryBytes <<= 20;
  }
  if (std::string id = variable("ATTUNE_COMPILER_ID"); !id.empty()) {
    const size_t colon = id.find(':');
    if (colon == 0 || colon == std::string::npos || colon + 1 == id.size())
      return badVariable("ATTUNE_COMPILER_ID", id,
                         "COMPILER:LLVM, two fields of a key (attune cache show)");
    options.identity = CompilerIdentity{id.substr(0, colon), id.substr(colon + 1)};
  }
  return options;
}

CompilerLink::CompilerLink(CompilerOptions options)
    : options_(std::move(options)), identity_(options_.identity) {}

Result<std::string> CompilerLink::libraryPath() const {
  if (!options_.library.empty()) {
    if (fs::exists(options_.library))
      return options_.library;
    return Error{ErrorCode::NotFound, fmt::format("ATTUNE_COMPILER={}: there is no such file; it "
                                                  "must be the path of {}",
                                                  options_.library, libraryName)};
  }
  const fs::path own = folderOfCode(reinterpret_cast<const void *>(&variable));
  const std::vector<std::string> places{own / libraryName, own / "../lib" / libraryName,
                                        own / "../../lib" / libraryName}; // a build's tools/attune
  std::error_code ignored;
  for (const std::string &place : places)
    if (fs::exists(place, ignored))
      return place;
  return Error{ErrorCode::NotFound,
               fmt::format("there is no compiler: looked for {}; install attune-compiler or set "
                           "ATTUNE_COMPILER",
                           fmt::join(places, ", "))};
}

Result<CompilerIdentity> CompilerLink::identity() {
  std::lock_guard lock(mutex_);
  if (identity_)
    return *identity_;
  Result<std::string> library = libraryPath();
  if (!library)
    return library.error();
  Result<CompilerIdentity> identity = identityOf(*library);
  if (identity)
    identity_ = *identity;
  return identity;
}

Result<attune_compile_function> CompilerLink::load() {
  std::lock_guard lock(mutex_);
  if (compile_)
    return compile_;
  Result<std::string> library = libraryPath();
  if (!library)
    return library.error();
  // Local, so that a process may hold another LLVM; never closed, since LLVM keeps globals.
  void *handle = dlopen(library->c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return Error{ErrorCode::NotFound, fmt::format("the compiler cannot be loaded: {}", dlerror())};
  compile_ = reinterpret_cast<attune_compile_function>(dlsym(handle, entryName));
  if (!compile_)
    return Error{ErrorCode::Unsupported,
                 fmt::format("{}: is of another version: it has no {}", *library, entryName)};
  return compile_;
}

Result<KernelImage> CompilerLink::compile(const CompileRequest &request) {
  if (options_.where == CompileWhere::Child)
    return compileInChild(request);
  Result<attune_compile_function> compile = load();
  if (!compile)
    return compile.error();
  const std::string bytes = encodeRequest(request);
  std::string reply;
  (*compile)(
      bytes.data(), bytes.size(),
      [](void *to, const char *from, size_t size) {
        static_cast<std::string *>(to)->assign(from, size);
      },
      &reply);
  return decodeReply(reply);
}

Result<KernelImage> CompilerLink::compileInChild(const CompileRequest &request) const {
  Result<std::string> library = libraryPath();
  if (!library)
    return library.error();
  const fs::path worker = fs::path(*library).parent_path() / workerName;
  ChildCall call{.program = worker,
                 .arguments = {std::to_string(options_.childMemoryBytes)},
                 .input = encodeRequest(request)};
  Result<std::string> reply = callChild(call);
  if (!reply)
    return Error{reply.error().code,
                 fmt::format("compiling {}: {}",
                             request.fileName.empty() ? "a spec" : request.fileName,
                             reply.error().message)};
  return decodeReply(*reply);
}

} // namespace attune
