// Notices that the user of a server has gone: the end of standard input.
#pragma once

namespace busbar {

/// Watches standard input if it is a terminal, a pipe or a socket; otherwise (/dev/null, a file) it never ends. Drops
/// what is typed. In the background of a terminal it reads nothing.
class TerminalEnd {
 public:
  TerminalEnd();
  /// Returns after `ms`, or earlier when there is something to read or a signal has come.
  void wait_ms(int ms);
  bool ended() const { return ended_; }

 private:
  bool watched_ = false, ended_ = false;
};

}  // namespace busbar
