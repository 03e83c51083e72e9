// Variables of GLIBC for archives that a shared library contains; see cmake/portable.cmake.
#include <cstdio>

extern "C" {
FILE* busbar_portable_stdin = stdin;
FILE* busbar_portable_stdout = stdout;
FILE* busbar_portable_stderr = stderr;
char busbar_portable_single_threaded = 0;  // shared_ptr counts with atomic operations
}
