#include "runtime/compile/CompilerLink.h"
#include "runtime/abi/SharedLibrary.h"
#include "runtime/compile/ElfNotes.h"
#include "runtime/process/Child.h"
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace attune {
namespace {

namespace fs = std::filesystem;

constexpr auto libraryName = "libattune-compiler.so", workerName = "attune-compile-worker",
               entryName = "attune_compile_v1";

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

/// A file of the installation: in `folder` if that is not empty, beside this code, or in lib/.
Result<std::string> findBeside(const std::string &folder, const char *file, const char *what) {
  const fs::path own = folderOfCode(reinterpret_cast<const void *>(&identityOf));
  std::vector<std::string> places;
  if (!folder.empty())
    places.push_back(fs::path(folder) / file);
  for (const char *way : {"", "../lib", "../../lib"}) // the last: of a build's tools/attune
    places.push_back(own / way / file);
  std::error_code ignored;
  for (const std::string &place : places)
    if (fs::exists(place, ignored))
      return place;
  return Error{ErrorCode::NotFound,
               fmt::format("there is no {}: looked for {}; install attune-compiler or set {}", what,
                           fmt::join(places, ", "), nameOf(Variable::ATTUNE_COMPILER))};
}

} // namespace

Result<CompilerOptions> compilerOptionsFromEnvironment(const Environment &get) {
  CompilerOptions options;
  options.library = get(Variable::ATTUNE_COMPILER).value_or("");
  if (auto where = get(Variable::ATTUNE_COMPILE)) {
    if (*where != "child" && *where != "process")
      return illegalValue(Variable::ATTUNE_COMPILE, *where);
    options.where = *where == "child" ? CompileWhere::Child : CompileWhere::InProcess;
  }
  const auto memory = numberFrom(get, Variable::ATTUNE_COMPILE_MEMORY, 1, uint64_t(1) << 24, 0);
  const auto time = numberFrom(get, Variable::ATTUNE_COMPILE_TIMEOUT, 1, mostCompileSeconds, 600);
  if (!memory || !time)
    return memory ? time.error() : memory.error();
  options.childMemoryBytes = *memory << 20;
  options.childTime = std::chrono::seconds(*time);
  if (auto id = get(Variable::ATTUNE_COMPILER_ID)) {
    const size_t colon = id->find(':');
    if (colon == 0 || colon == std::string::npos || colon + 1 == id->size())
      return illegalValue(Variable::ATTUNE_COMPILER_ID, *id);
    options.identity = CompilerIdentity{id->substr(0, colon), id->substr(colon + 1)};
  }
  return options;
}

CompilerLink::CompilerLink(CompilerOptions options)
    : options_(std::move(options)), identity_(options_.identity) {}

Result<std::string> CompilerLink::libraryPath() const {
  if (options_.library.empty())
    return findBeside("", libraryName, "compiler");
  if (fs::exists(options_.library))
    return options_.library;
  return Error{ErrorCode::NotFound,
               fmt::format("{}={}: there is no such file; it must be the path of {}",
                           nameOf(Variable::ATTUNE_COMPILER), options_.library, libraryName)};
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
  auto opened = SharedLibrary::open({&*library, 1});
  if (!opened)
    return Error{ErrorCode::NotFound,
                 fmt::format("the compiler cannot be loaded: {}", opened.error().message)};
  compile_ = opened->function<attune_compile_function>(entryName);
  if (!compile_)
    return Error{ErrorCode::Unsupported,
                 fmt::format("{}: is of another version: it has no {}", *library, entryName)};
  return compile_;
}

Result<CompileReply> CompilerLink::compile(const CompileRequest &request) {
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

Result<std::vector<std::string>> CompilerLink::workerCommand() const {
  Result<std::string> library = libraryPath();
  if (!library)
    return library.error();
  const fs::path path = fs::absolute(*library);
  Result<std::string> worker = findBeside(path.parent_path(), workerName, workerName);
  if (!worker)
    return worker.error();
  return std::vector<std::string>{*worker, path, std::to_string(options_.childMemoryBytes)};
}

Result<CompileReply> CompilerLink::compileInChild(const CompileRequest &request) const {
  auto command = workerCommand();
  if (!command)
    return command.error();
  Result<Child> child = Child::start(*command);
  const TimeLimit limit{options_.childTime,
                        fmt::format("{} (or attune_context_options.compile_timeout)",
                                    nameOf(Variable::ATTUNE_COMPILE_TIMEOUT))};
  Result<std::string> reply = child ? callChild(std::move(*child), encodeRequest(request), limit)
                                    : Result<std::string>(child.error());
  if (reply)
    return decodeReply(*reply);
  return Error{reply.error().code,
               fmt::format("compiling {}: {}{}",
                           request.fileName.empty() ? "a spec" : request.fileName,
                           child ? "the compiler's process " : "", reply.error().message)};
}

} // namespace attune
