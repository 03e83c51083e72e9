#include "busbar/cli/own_run.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "busbar/formats/json_text.h"

extern char** environ;

namespace busbar {
namespace {

std::vector<std::string> command_words(const std::string& command) {
  std::vector<std::string> out;
  bool quoted = false, open = false;
  for (const char c : command) {
    if (c == '\'') quoted = !quoted;
    const bool ends = c == ' ' && !quoted;
    if (ends || c == '\'') {
      open = open && !ends;
      continue;
    }
    if (!open) out.emplace_back();
    open = true;
    out.back() += c;
  }
  return out;
}

Error not_started(int code) {
  return {ErrorCode::kIo, fmt::format("another run of busbar cannot start: {}", std::strerror(code)), {}};
}

/// A pipe whose ends close on exec; the child gets its end under another number.
struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() { [[maybe_unused]] const int status = pipe2(ends.data(), O_CLOEXEC); }
  ~Pipe() {
    for (const int end : ends)
      if (end >= 0) close(end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_writing() {
    close(ends[1]);
    ends[1] = -1;
  }
};

std::string read_all(int from) {
  std::string out;
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ssize_t n = read(from, buffer.data(), buffer.size());
    if (n > 0) out.append(buffer.data(), static_cast<std::size_t>(n));
    if (n == 0 || (n < 0 && errno != EINTR)) return out;
  }
}

/// Starts this program with `words`; its output and its messages go into `to`.
Result<pid_t> start(std::vector<std::string>& words, int to) {
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, to, STDERR_FILENO);
  pid_t child = 0;
  const int code = posix_spawn(&child, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0) return not_started(code);
  return child;
}

}  // namespace

Result<Json> own_run(const std::string& command) {
  std::vector<std::string> words = command_words("busbar " + command + " --json");
  Pipe pipe;
  if (pipe.ends[0] < 0) return not_started(errno);
  BUSBAR_ASSIGN(const pid_t child, start(words, pipe.ends[1]));
  pipe.close_writing();
  const std::string printed = read_all(pipe.ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) <= 1 && printed.starts_with('{'))
    return parse_json(printed.substr(0, printed.rfind('}') + 1), command);
  return invalid(fmt::format("'busbar {}' failed: {}", command, printed.substr(0, printed.find('\n'))));
}

}  // namespace busbar
