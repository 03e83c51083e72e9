#include "measure.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace busbar::bench {
namespace {

double seconds(const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); }

[[noreturn]] void become(const std::vector<std::string>& command, int output) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const int empty = open("/dev/null", O_RDONLY);
  dup2(empty, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  execv(argv[0], argv.data());
  std::perror(argv[0]);
  _exit(127);
}

/// The rest of the first line of `path` that starts with `key`, after ":" and blanks.
std::string line_of(const char* path, const std::string& key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t at = line.find_first_not_of(" \t", line.find(':') + 1);
    return at == std::string::npos ? "" : line.substr(at);
  }
  return "";
}

}  // namespace

Usage run(const std::vector<std::string>& command, const std::string& stdout_file) {
  const int output = open(stdout_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (output < 0) throw std::runtime_error(stdout_file + ": cannot be written");
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot fork");
  if (child == 0) become(command, output);
  close(output);
  Usage usage;
  int status = 0;
  rusage resources{};
  if (wait4(child, &status, 0, &resources) != child) throw std::runtime_error("cannot wait for " + command[0]);
  usage.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  usage.cpu_s = seconds(resources.ru_utime) + seconds(resources.ru_stime);
  usage.peak_mib = static_cast<double>(resources.ru_maxrss) / 1024;  // Linux counts in KiB
  usage.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return usage;
}

std::vector<double> numbers_of(const std::string& json_file, const std::vector<std::string>& pointers) {
  std::vector<double> numbers(pointers.size(), std::nan(""));
  const auto bytes = static_cast<ssize_t>(numbers.size() * sizeof(double));
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("cannot make a pipe");
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot fork");
  if (child == 0) {
    std::ifstream in(json_file);
    const auto document = nlohmann::json::parse(in, nullptr, false);
    for (std::size_t i = 0; i < pointers.size() && !document.is_discarded(); ++i) {
      const nlohmann::json::json_pointer place(pointers[i]);
      if (document.contains(place) && document.at(place).is_number()) numbers[i] = document.at(place).get<double>();
    }
    _exit(write(ends[1], numbers.data(), static_cast<std::size_t>(bytes)) == bytes ? 0 : 1);
  }
  close(ends[1]);
  std::vector<double> found(pointers.size());
  const bool whole = read(ends[0], found.data(), static_cast<std::size_t>(bytes)) == bytes;  // far below PIPE_BUF
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return whole ? found : numbers;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

Machine this_machine() {
  Machine m;
  m.cpu = line_of("/proc/cpuinfo", "model name");
  m.cores = sysconf(_SC_NPROCESSORS_ONLN);
  m.memory_gib = std::strtod(line_of("/proc/meminfo", "MemTotal").c_str(), nullptr) / (1 << 20);
  utsname name{};
  if (uname(&name) == 0) m.kernel = std::string(name.sysname) + " " + name.release;
  if (double load[1]; getloadavg(load, 1) == 1) m.load_1min = load[0];
  char text[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  m.time_utc = text;
  return m;
}

}  // namespace busbar::bench
