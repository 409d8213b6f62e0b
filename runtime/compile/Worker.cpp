// attune-compile-worker: loads the compiler and answers requests on standard input with replies on
// standard output, in a process whose death costs nobody else anything. Started by libattune
// (ATTUNE_COMPILE=child) for one kernel and by `attune aot` for many.
#include "runtime/abi/CompileCall.h"
#include "runtime/abi/SharedLibrary.h"
#include "runtime/process/Frame.h"
#include <cstdio>
#include <cstdlib>
#include <sys/resource.h>

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fputs("attune-compile-worker LIBRARY MEMORY: a part of attune, not for people\n", stderr);
    return 2;
  }
  const std::string path = argv[1];
  auto library = attune::SharedLibrary::open({&path, 1});
  const auto compile =
      library ? library->function<attune_compile_function>("attune_compile_v1") : nullptr;
  if (!compile) {
    std::fputs(library ? "the compiler has no attune_compile_v1" : library.error().message.c_str(),
               stderr);
    return 1;
  }
  if (const unsigned long long limit = std::strtoull(argv[2], nullptr, 10)) {
    const rlimit memory{limit, limit};
    setrlimit(RLIMIT_AS, &memory);
  }
  attune::serveFrames([compile](std::string_view request) {
    std::string reply;
    compile(
        request.data(), request.size(),
        [](void *to, const char *bytes, size_t size) {
          static_cast<std::string *>(to)->assign(bytes, size);
        },
        &reply);
    return reply;
  });
  return 0;
}
