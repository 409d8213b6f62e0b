// attune-compile-worker: compiles one request from standard input to a reply on standard output, in
// a process whose death costs nobody else anything. Started by libattune (ATTUNE_COMPILE=child).
#include "runtime/abi/CompileCall.h"
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/resource.h>

extern "C" void attune_compile_v1(const char *request, size_t bytes,
                                  void (*reply)(void *context, const char *bytes, size_t size),
                                  void *context);

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fputs("attune-compile-worker MEMORY: a part of attune, not for people; reads a request\n",
               stderr);
    return 2;
  }
  if (const unsigned long long limit = std::strtoull(argv[1], nullptr, 10)) {
    const rlimit memory{limit, limit};
    setrlimit(RLIMIT_AS, &memory);
  }
  std::string request;
  char buffer[1 << 16];
  while (size_t n = std::fread(buffer, 1, sizeof buffer, stdin))
    request.append(buffer, n);
  attune_compile_v1(
      request.data(), request.size(),
      [](void *, const char *bytes, size_t size) { std::fwrite(bytes, 1, size, stdout); }, nullptr);
  return std::fflush(stdout) == 0 ? 0 : 1;
}
