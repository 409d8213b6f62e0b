// A compiler without LLVM, for tests of what lies around one: it answers as libattune-compiler
// does, with a kernel "k" that ends at once (its code object is the file that FAKE_CODE names).
// What it does beyond that follows from the attention's name:
//   crash...    dies of SIGKILL      slow...    takes 200 ms
//   refuse...   says Unsupported     garbage... answers with bytes that are no reply
//   other...    answers for another text     hungry... wants 4 GiB
//   hang...     never answers        doomed...  says why on stderr, and dies
// FAKE_LOG names a file to which it appends a byte for each compile.
#include "compiler/spec/Spec.h"
#include "runtime/abi/CompileCall.h"
#include "tests/runtime/Kernels.h"
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

#ifndef FAKE_VERSION
#define FAKE_VERSION "fake 1.0"
#endif

namespace {

using namespace attune;

struct Note {
  uint32_t ownerBytes = 7, contentBytes = sizeof content, type = 1;
  char owner[8] = "Attune";
  char content[12] = FAKE_VERSION "\n";
};
[[gnu::section(".note.attune"), gnu::used]] alignas(4) const Note note;

std::vector<uint8_t> codeObject() {
  std::ifstream file(std::getenv("FAKE_CODE"), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void logCompile() {
  if (const char *path = std::getenv("FAKE_LOG"))
    std::ofstream(path, std::ios::app) << "x";
}

Sidecar sidecarFor(const spec::Model &model) {
  Sidecar sidecar;
  sidecar.problem = model.problem;
  sidecar.arch = "gfx950";
  sidecar.specDigest = model.digest;
  sidecar.kernel.name = "k";
  sidecar.kernel.grid = {128, 64};
  std::vector<std::pair<std::string, std::string>> args;
  for (const char *name : {"q", "k", "v", "out"})
    args.emplace_back(name, "ptr");
  if (model.problem.lse != LseKind::None)
    args.emplace_back("lse", "ptr");
  if (model.problem.hasSink)
    args.emplace_back("sink", "ptr");
  if (model.problem.qStorage == Storage::Varlen) {
    args.emplace_back("cu_seqlens_q", "ptr");
    args.emplace_back("cu_seqlens_k", "ptr");
  }
  for (const CapturedTensor &tensor : model.problem.tensors)
    args.emplace_back("tensor." + tensor.name, "ptr");
  args.emplace_back("batch", "i32");
  testing::setArgs(sidecar.kernel, args);
  return sidecar;
}

std::string answer(std::string_view bytes) {
  Result<CompileRequest> request = decodeRequest(bytes);
  if (!request)
    return encodeReply(request.error());
  Result<spec::Model> model =
      spec::parseSpec(request->text, {request->fileName, request->parameters, request->attention});
  if (!model)
    return encodeReply(model.error());
  logCompile();
  const std::string &name = model->problem.specName;
  const auto is = [&](const char *start) { return name.starts_with(start); };
  if (is("crash"))
    std::raise(SIGKILL); // as the out-of-memory killer does; sanitizers catch the other signals
  if (is("doomed")) {
    std::fputs("LLVM ERROR: the fake compiler is out of registers\n", stderr);
    std::raise(SIGKILL);
  }
  while (is("hang"))
    std::this_thread::sleep_for(std::chrono::seconds(1));
  if (is("slow"))
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  if (is("refuse"))
    return encodeReply(Error{ErrorCode::Unsupported, "the fake compiler refuses " + name});
  if (is("hungry"))
    return std::string(size_t(4) << 30, 'x').substr(0, 1);
  if (is("garbage"))
    return "garbage\n";
  Sidecar sidecar = sidecarFor(*model);
  if (is("other"))
    sidecar.specDigest = "another";
  CompileReply reply{{codeObject(), sidecar}, {}};
  if (request->listing)
    reply.listing = Listing{"tile of " + name, {{0, "s_endpgm", 1}}};
  return encodeReply(reply);
}

} // namespace

extern "C" [[gnu::visibility("default")]] void
attune_compile_v1(const char *request, size_t bytes,
                  void (*reply)(void *context, const char *bytes, size_t size), void *context) {
  const std::string text = answer({request, bytes});
  reply(context, text.data(), text.size());
}
