// libattune-compiler: the compiler behind one C function, for processes that load it when they need
// it (runtime/compile/CompilerLink.h). Its note says what it was linked with, so that a cache key
// can be made without loading anything.
#include "compiler/include/attune/Compiler.h"
#include "compiler/library/Identity.h"
#include "compiler/spec/Spec.h"
#include "runtime/abi/CompileCall.h"
#include <memory>
#include <mutex>
#include <vector>

namespace attune {
namespace {

/// An ELF note: sizes, type, owner, content, each padded to 4 bytes.
struct Note {
  uint32_t ownerBytes = 7, contentBytes = sizeof content, type = 1;
  char owner[8] = "Attune";
  char content[(sizeof ATTUNE_IDENTITY + 3) / 4 * 4] = ATTUNE_IDENTITY;
};
[[gnu::section(".note.attune"), gnu::used]] alignas(4) const Note note;

/// Compilers serve one thread at a time and take long to make, so they are kept.
class Pool {
public:
  Result<CompileReply> compile(const spec::Model &model, const CompileOptions &options,
                               bool listing) {
    Result<std::unique_ptr<Compiler>> compiler = take();
    if (!compiler)
      return compiler.error();
    Result<CompileReply> reply = compileWith(**compiler, model, options, listing);
    std::lock_guard lock(mutex_);
    idle_.push_back(std::move(*compiler));
    return reply;
  }

private:
  static Result<CompileReply> compileWith(Compiler &compiler, const spec::Model &model,
                                          const CompileOptions &options, bool listing) {
    if (listing) {
      Result<ListedKernel> kernel = compiler.compileListed(model, options);
      if (!kernel)
        return kernel.error();
      return CompileReply{std::move(kernel->image), std::move(kernel->listing)};
    }
    Result<KernelImage> image = compiler.compile(model, options);
    if (!image)
      return image.error();
    return CompileReply{std::move(*image), {}};
  }

  Result<std::unique_ptr<Compiler>> take() {
    {
      std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<Compiler> last = std::move(idle_.back());
        idle_.pop_back();
        return last;
      }
    }
    Result<Compiler> made = Compiler::create();
    if (!made)
      return made.error();
    return std::make_unique<Compiler>(std::move(*made));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Compiler>> idle_;
};

Result<CompileReply> compile(std::string_view bytes) {
  static Pool pool;
  Result<CompileRequest> request = decodeRequest(bytes);
  if (!request)
    return request.error();
  Result<spec::Model> model =
      spec::parseSpec(request->text, {request->fileName, request->parameters, request->attention});
  if (!model)
    return model.error();
  if (model->digest != request->specDigest)
    return Error{ErrorCode::InvalidSpec,
                 request->fileName +
                     ": a file that it imports changed while it was compiled; parse "
                     "the spec again"};
  return pool.compile(*model, {request->arch, request->knobs}, request->listing);
}

} // namespace
} // namespace attune

extern "C" [[gnu::visibility("default")]] void
attune_compile_v1(const char *request, size_t bytes,
                  void (*reply)(void *context, const char *bytes, size_t size), void *context) {
  const std::string answer = attune::encodeReply(attune::compile({request, bytes}));
  reply(context, answer.data(), answer.size());
}
