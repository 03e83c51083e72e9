#include "busbar/runtime/internal/processes.h"

#include <fmt/core.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "busbar/runtime/host_rates.h"
#include "busbar/runtime/internal/library_wire.h"
#include "busbar/runtime/internal/watch.h"

namespace busbar::runtime {
namespace {

/// The processes of one run. Each holds the only writing end of a pipe, so that its death is an event at the other end.
class Family {
 public:
  Family(const std::vector<Task>& tasks, const Arena& arena, Board& board, const SessionOptions& options, Mesh* mesh)
      : tasks_(tasks), arena_(arena), board_(board), options_(options), mesh_(mesh), watch_(tasks, board, options) {}
  ~Family() {
    for (std::size_t i = 0; i < pids_.size(); ++i) {
      if (pids_[i] > 0) {
        kill(pids_[i], SIGKILL);
        waitpid(pids_[i], nullptr, 0);
      }
      if (ends_[i].fd >= 0) close(ends_[i].fd);
    }
  }
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  Status start();
  Status wait();

 private:
  [[noreturn]] void be_child(std::uint32_t actor, pid_t parent, int end);
  Status reap(std::uint32_t actor);
  Status ended_early(std::uint32_t actor, const std::string& how);
  /// A process that a signal stopped would look as if it made no step.
  Status stopped_one(const Error& stands_still);

  const std::vector<Task>& tasks_;
  const Arena& arena_;
  Board& board_;
  const SessionOptions& options_;
  Mesh* mesh_;  ///< null: data are in shared memory
  Watch watch_;
  std::vector<pid_t> pids_;   ///< per actor; 0: has ended
  std::vector<pollfd> ends_;  ///< per actor
};

/// A child of a parent that dies is killed at once; the second look is for a parent that died before the first.
void Family::be_child(std::uint32_t actor, pid_t parent, int end) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  begin_on_own_core(actor, board_.actors());
  if (mesh_ != nullptr) mesh_->keep(actor);
  std::optional<TcpWire> sockets;
  if (mesh_ != nullptr) sockets.emplace(*mesh_, actor);
  Wire* wire = sockets ? &*sockets : nullptr;
  std::unique_ptr<LibraryWire> library;
  if (mesh_ != nullptr && options_.transport != Transport::kTcp) {
    auto opened = LibraryWire::open(options_.transport, "127.0.0.1", *sockets, actor, board_);
    if (!opened.ok()) {
      const std::string& why = opened.error().message;
      _exit(write(end, why.data(), why.size()) > 0 ? 3 : 4);
    }
    library = std::move(*opened);
    wire = library.get();
  }
  const bool played = act(actor, tasks_, arena_, board_, wire, 1);
  library.reset();
  _exit(played ? 0 : 3);
}

Status Family::start() {
  const pid_t parent = getpid();
  for (std::uint32_t a = 0; a < arena_.actors(); ++a) {
    int ends[2];
    if (pipe(ends) != 0)
      return Error{ErrorCode::kIo, fmt::format("no pipe for rank {}: {}", a, std::strerror(errno)), {}};
    const pid_t pid = fork();
    if (pid == 0) be_child(a, parent, ends[1]);
    close(ends[1]);
    ends_.push_back({ends[0], POLLIN, 0});
    pids_.push_back(std::max(pid, 0));
    if (pid < 0) return Error{ErrorCode::kIo, fmt::format("no process for rank {}: {}", a, std::strerror(errno)), {}};
  }
  return {};
}

/// Others that were at work wait a moment later.
Status Family::ended_early(std::uint32_t actor, const std::string& how) {
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const std::string waits = watch_.who_waits(actor);
  return Error{ErrorCode::kIo, fmt::format("rank {} {}{}{}", actor, how, waits.empty() ? "" : "; ", waits), {}};
}

Status Family::reap(std::uint32_t actor) {
  int status = 0;
  const pid_t pid = pids_[actor];
  waitpid(pid, &status, 0);
  pids_[actor] = 0;
  char words[512];
  const ssize_t told = read(ends_[actor].fd, words, sizeof words);
  close(std::exchange(ends_[actor].fd, -1));  // poll() skips what is negative
  if (WIFSIGNALED(status))
    return ended_early(actor, fmt::format("(process {}) was killed by signal {} ({})", pid, WTERMSIG(status),
                                          strsignal(WTERMSIG(status))));
  if (WEXITSTATUS(status) == 0) return {};
  if (told > 0) return Error{ErrorCode::kIo, fmt::format("rank {}: {}", actor, std::string(words, told)), {}};
  return ended_early(actor, fmt::format("(process {}) ended with status {}", pid, WEXITSTATUS(status)));
}

Status Family::stopped_one(const Error& stands_still) {
  for (std::uint32_t a = 0; a < pids_.size(); ++a) {
    int status = 0;
    if (pids_[a] == 0 || waitpid(pids_[a], &status, WUNTRACED | WNOHANG) != pids_[a]) continue;
    if (!WIFSTOPPED(status)) return pids_[a] = 0, ended_early(a, "ended");
    return ended_early(a, fmt::format("(process {}) is stopped by signal {}; let it go on with kill -CONT {}", pids_[a],
                                      WSTOPSIG(status), pids_[a]));
  }
  return stands_still;
}

Status Family::wait() {
  constexpr int kTickMs = 20;
  for (std::size_t left = pids_.size(); left > 0;) {
    const int events = poll(ends_.data(), ends_.size(), kTickMs);
    for (std::uint32_t a = 0; events > 0 && a < ends_.size(); ++a) {
      if (ends_[a].fd < 0 || ends_[a].revents == 0) continue;
      BUSBAR_RETURN_IF_ERROR(reap(a));
      --left;
    }
    if (const Status s = watch_.look(); !s.ok()) return stopped_one(s.error());
  }
  return {};
}

}  // namespace

Status play_as_processes(const std::vector<Task>& tasks, const Arena& arena, Board& board,
                         const SessionOptions& options) {
  std::optional<Mesh> mesh;
  if (!shares_memory(options.transport)) {
    BUSBAR_ASSIGN(Mesh made, Mesh::make(arena.actors(), options.sockets));
    mesh.emplace(std::move(made));
  }
  Family family(tasks, arena, board, options, mesh ? &*mesh : nullptr);
  Status s = family.start();
  if (s.ok()) s = family.wait();
  if (!s.ok()) board.end_run();
  return s;
}

}  // namespace busbar::runtime
