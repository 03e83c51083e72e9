// Runs a program and says what it used.
#pragma once

#include <string>
#include <vector>

namespace busbar::bench {

/// One run. Memory is the maximum resident set as the kernel counts it; it is never below what this harness itself held
/// when it forked (a few MiB), because the kernel's high-water mark passes through exec.
struct Usage {
  double cpu_s = 0;  ///< user + system
  double wall_s = 0;
  double peak_mib = 0;
  int exit_code = 0;   ///< 128 + signal when killed, 127 when the program could not be started
  std::string output;  ///< its stdout
};

/// Runs `command` (the program first) and waits. stdin is empty, stderr passes through.
Usage run(const std::vector<std::string>& command);

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
