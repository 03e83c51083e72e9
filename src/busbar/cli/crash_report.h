// What a crash says. A crash is always a bug of Busbar.
#pragma once

#include <functional>
#include <string>

namespace busbar::cli {

/// From now on a signal of a crash (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) first prints on standard error what to
/// report: the version, the command line and the place in the program. The program then ends by the signal, as without
/// this. Under a sanitizer, which prints more, it does nothing.
void report_crashes(const std::string& typed);

/// The status of `command`. An exception ends in 2, with the same report on standard error.
int run_reporting_exceptions(const std::function<int()>& command, const std::string& typed);

}  // namespace busbar::cli
