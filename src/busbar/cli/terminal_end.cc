#include "busbar/cli/terminal_end.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

namespace busbar {

TerminalEnd::TerminalEnd() {
  struct stat input {};
  watched_ = isatty(STDIN_FILENO) != 0 ||
             (fstat(STDIN_FILENO, &input) == 0 && (S_ISFIFO(input.st_mode) || S_ISSOCK(input.st_mode)));
}

void TerminalEnd::wait_ms(int ms) {
  const bool background = isatty(STDIN_FILENO) != 0 && tcgetpgrp(STDIN_FILENO) != getpgrp();
  pollfd input{STDIN_FILENO, static_cast<short>(background ? 0 : POLLIN), 0};  // 0: only whether the terminal has gone
  if (poll(&input, watched_ ? 1 : 0, ms) <= 0) return;
  std::array<char, 256> dropped{};
  ended_ = (input.revents & POLLIN) == 0 || read(STDIN_FILENO, dropped.data(), dropped.size()) <= 0;
}

}  // namespace busbar
