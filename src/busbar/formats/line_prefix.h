// What launchers, container runtimes and loggers write before each line of a program.
//
//   2026-11-24T12:00:00.123Z [default0]:# nThread 1      kubectl logs --timestamps of torchrun
//   3: # nThread 1                                       srun -l
//
// The prefix that NCCL itself writes (host:pid:tid [device] NCCL INFO) is none of these.
// Sources of the shapes: Kubernetes 1.31, kubectl logs and the CRI logging format; Slurm 24.05, srun --label; Open MPI
// 4 and 5, mpirun --tag-output and --timestamp-output; MPICH 4, mpiexec -prepend-rank; PyTorch 2.5, torchrun; Ray 2.40,
// python/ray/_private/worker.py; Docker Compose 2; RFC 3164, RFC 3339 and journalctl of systemd 252; dmesg of
// util-linux 2.38; pdsh 2.34, clush 1.9.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace busbar::formats {

/// The parts of a prefix point into the line.
struct LinePrefix {
  std::size_t length = 0;                    ///< bytes; 0: none
  std::string_view time, stream, host;       ///< as written; "stdout"; empty: not said
  std::array<std::string_view, 3> labels{};  ///< outermost first: "pod/trainer-0/main", "default0"
  int rank = -1;                             ///< of the process; -1: not said
  bool partial = false;                      ///< CRI: the line goes on in the next one of its stream

  /// Tells lines of different origin apart: the labels, joined by blanks; empty without any.
  std::string source() const;
};

/// Labels that only their repetition tells from the text of a line.
struct LabelStyles {
  bool number = false;   ///< "3: "
  bool bracket = false;  ///< "[3] "
  bool host = false;     ///< "gpu-a01: "
  bool bar = false;      ///< "worker-0  | "
};
/// The styles with which at least half of the lines of `sample` begin, and three lines alike. The last line may be cut.
LabelStyles label_styles(std::string_view sample);

/// Cost: a comparison or two for a line without a prefix.
LinePrefix prefix_of(std::string_view line, LabelStyles labels);

/// The lines of `text` without their prefixes.
std::string without_prefixes(std::string_view text);

/// Removes the colours and other commands to a terminal. Source: ECMA-48, section 5.4.
void remove_terminal_commands(std::string_view line, std::string& out);

}  // namespace busbar::formats
