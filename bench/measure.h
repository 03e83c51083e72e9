// Runs a program and reports its resource use.
#pragma once

#include <string>
#include <vector>

namespace busbar::bench {

/// One run. Memory is the kernel's maximum resident set. It is never below the memory of this harness when it forked (a
/// few MiB), because the kernel's maximum survives exec. So outputs stay in files, and a separate process reads them:
/// numbers_of().
struct Usage {
  double cpu_s = 0;  ///< user + system
  double wall_s = 0;
  double peak_mib = 0;
  int exit_code = 0;  ///< 128 + signal if killed, 127 if the program could not be started
};

/// Runs `command` (the program first) and waits. stdin is empty, stdout goes to the file, stderr passes through.
Usage run(const std::vector<std::string>& command, const std::string& stdout_file);

/// The numbers at these JSON pointers in a file, NaN if there is none. A forked process reads them, and its memory ends
/// with it.
std::vector<double> numbers_of(const std::string& json_file, const std::vector<std::string>& pointers);

/// The median; for an even count, the mean of the middle two. Precondition: not empty.
double median(std::vector<double> values);

/// The machine, which every figure depends on.
struct Machine {
  std::string cpu;
  long cores = 0;
  double memory_gib = 0;
  std::string kernel;
  double load_1min = 0;  ///< other load while measuring
  std::string time_utc;
};
Machine this_machine();

}  // namespace busbar::bench
