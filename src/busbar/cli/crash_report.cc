#include "busbar/cli/crash_report.h"

#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <exception>
#include <string_view>
#include <utility>

#include "busbar/cli/long_run.h"
#include "busbar/report/plain.h"

#if __has_include(<execinfo.h>)
#include <execinfo.h>
#define BUSBAR_HAS_BACKTRACE 1
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BUSBAR_UNDER_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define BUSBAR_UNDER_SANITIZER 1
#endif

namespace busbar::cli {
namespace {

constexpr std::pair<int, std::string_view> kCrashes[] = {
    {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}, {SIGFPE, "SIGFPE"}, {SIGILL, "SIGILL"}, {SIGABRT, "SIGABRT"}};

/// Version, command line and a request, ready for a signal handler, which may allocate no memory.
std::string to_report;

void write_error(std::string_view text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

/// Module and offset of each frame: `addr2line -e MODULE OFFSET` names its line.
void write_place() {
#ifdef BUSBAR_HAS_BACKTRACE
  constexpr int kMost = 16;
  void* frames[kMost];
  write_error("  place:\n");
  backtrace_symbols_fd(frames, backtrace(frames, kMost), STDERR_FILENO);
#endif
}

void on_crash(int number) {
  std::signal(number, SIG_DFL);
  write_error("busbar: crashed by ");
  for (const auto& [signal, name] : kCrashes)
    if (signal == number) write_error(name);
  write_error(to_report);
  write_place();
  raise(number);  // comes when this handler returns
}

std::string what_to_report(const std::string& typed) {
  return fmt::format(
      "; this is a bug of Busbar. Please report these lines and the files that the command reads:\n"
      "  version: busbar {}\n  command: {}\n",
      BUSBAR_VERSION, report::escape_terminal(typed, true));
}

}  // namespace

void report_crashes(const std::string& typed) {
#ifndef BUSBAR_UNDER_SANITIZER
  to_report = what_to_report(typed);
#ifdef BUSBAR_HAS_BACKTRACE
  void* frame[1];
  backtrace(frame, 1);  // the first call loads a library, which a handler must not do
#endif
  static std::array<char, 1 << 16> stack;  // for a crash because the stack is full
  const stack_t other{stack.data(), 0, stack.size()};
  sigaltstack(&other, nullptr);
  struct sigaction action {};
  action.sa_handler = on_crash;
  action.sa_flags = SA_ONSTACK;
  for (const auto& [signal, name] : kCrashes) sigaction(signal, &action, nullptr);
#endif
}

int run_reporting_exceptions(const std::function<int()>& command, const std::string& typed) {
  const auto report = [&](const std::string& what) {
    clear_progress();
    write_error("busbar: stopped by an exception: " + report::escape_terminal(what, true) + what_to_report(typed));
    return 2;
  };
  try {
    return command();
  } catch (const std::exception& e) {
    return report(e.what());
  } catch (...) {
    return report("of an unknown type");
  }
}

}  // namespace busbar::cli
