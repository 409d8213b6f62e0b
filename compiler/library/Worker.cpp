// attune-compile-worker: compiles requests from standard input to replies on standard output, in a
// process whose death costs nobody else anything. Started by libattune (ATTUNE_COMPILE=child) for
// one kernel and by `attune aot` for many.
#include "runtime/process/Frame.h"
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/resource.h>

extern "C" void attune_compile_v1(const char *request, size_t bytes,
                                  void (*reply)(void *context, const char *bytes, size_t size),
                                  void *context);

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fputs("attune-compile-worker MEMORY: a part of attune, not for people\n", stderr);
    return 2;
  }
  if (const unsigned long long limit = std::strtoull(argv[1], nullptr, 10)) {
    const rlimit memory{limit, limit};
    setrlimit(RLIMIT_AS, &memory);
  }
  attune::serveFrames([](std::string_view request) {
    std::string reply;
    attune_compile_v1(
        request.data(), request.size(),
        [](void *to, const char *bytes, size_t size) {
          static_cast<std::string *>(to)->assign(bytes, size);
        },
        &reply);
    return reply;
  });
  return 0;
}
