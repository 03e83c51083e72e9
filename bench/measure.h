// Runs a program and says what it used.
#pragma once

#include <string>
#include <vector>

namespace busbar::bench {

/// One run. Memory is the maximum resident set as the kernel counts it; it is never below what this harness itself held
/// when it forked (a few MiB), because the kernel's high-water mark passes through exec. So outputs stay in files and
/// are read by a process of their own: numbers_of().
struct Usage {
  double cpu_s = 0;  ///< user + system
  double wall_s = 0;
  double peak_mib = 0;
  int exit_code = 0;  ///< 128 + signal when killed, 127 when the program could not be started
};

/// Runs `command` (the program first) and waits. stdin is empty, stdout goes to the file, stderr passes through.
Usage run(const std::vector<std::string>& command, const std::string& stdout_file);

/// The numbers at these JSON pointers in a file, NaN where there is none. Read by a forked process, which takes the
/// memory for it along.
std::vector<double> numbers_of(const std::string& json_file, const std::vector<std::string>& pointers);

/// The middle one; of an even number the mean of the middle two. Precondition: not empty.
double median(std::vector<double> values);

/// What a figure means nothing without.
struct Machine {
  std::string cpu;
  long cores = 0;
  double memory_gib = 0;
  std::string kernel;
  double load_1min = 0;  ///< other people's work while measuring
  std::string time_utc;
};
Machine this_machine();

}  // namespace busbar::bench
