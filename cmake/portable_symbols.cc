// Variables and functions of GLIBC for archives of other programs; see cmake/portable.cmake.
#include <sys/random.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" {
FILE* busbar_portable_stdin = stdin;
FILE* busbar_portable_stdout = stdout;
FILE* busbar_portable_stderr = stderr;
char busbar_portable_single_threaded = 0;  // shared_ptr counts with atomic operations

// Of libevent, for names of hosts, which Busbar does not ask it for. GLIBC has them from 2.36 on.
void busbar_portable_arc4random_buf(void* bytes, std::size_t size) {
  for (auto* at = static_cast<unsigned char*>(bytes); size > 0;) {
    const ssize_t got = getrandom(at, size, 0);
    if (got < 0) std::abort();  // as GLIBC does
    at += got;
    size -= static_cast<std::size_t>(got);
  }
}
std::uint32_t busbar_portable_arc4random() {
  std::uint32_t out = 0;
  busbar_portable_arc4random_buf(&out, sizeof out);
  return out;
}
}
