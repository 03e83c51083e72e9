#include <malloc.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/embedded.h"
#include "busbar/base/run_files.h"
#include "busbar/cli/command_line.h"
#include "busbar/cli/crash_report.h"
#include "busbar/cli/long_run.h"
#include "busbar/cli/streams.h"
#include "busbar/lines/ask_line.h"

namespace {

[[noreturn]] void give_up_for_memory() {
  constexpr std::string_view kWhy =
      "busbar: not enough memory; ask for fewer GPUs, sizes or flows, or allow more (ulimit -v)\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kWhy.data(), kWhy.size());  // allocates no memory
  std::_Exit(2);  // without destructors: threads may wait for each other
}

/// Memory that one phase of a run has freed is what the next one asks for.
void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);  // large blocks of their own are given back at once, and cleared page by page the next time
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 16 << 20);
#endif
}

/// Whoever has edited a copy elsewhere must see that it was not read.
void name_embedded_inputs(const busbar::RunFiles& files) {
  for (const busbar::EmbeddedFile* file : files.embedded())
    busbar::cli::say(std::string(file->name) + " is no file here; its built-in copy was read");
}

}  // namespace

int main(int argc, char** argv) {
  keep_freed_memory();
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is not an error: remaining output is dropped
  std::signal(SIGXFSZ, SIG_IGN);  // a file above its size limit is an error of the write, with its reason
  busbar::cli::leave_on_signals();
  std::set_new_handler(give_up_for_memory);
  busbar::cli::occupy_standard_streams();
  const std::vector<std::string> args(argv + 1, argv + argc);
  const std::string typed = busbar::lines::typed_line(args);
  busbar::cli::report_crashes(typed);
  const busbar::RunFiles files;
  const int status = busbar::cli::run_reporting_exceptions([&] { return busbar::cli::run_command_line(args); }, typed);
  busbar::cli::end_progress();
  name_embedded_inputs(files);
  return status;
}
