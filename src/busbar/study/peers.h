// The processes that mpirun started together: rank 0 manages a sweep, the others run its cells.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/result.h"

struct BusbarMpi;

namespace busbar::study {

struct PeerMessage {
  int from = 0;  ///< rank
  std::string text;
};

/// One thread calls it.
class Peers {
 public:
  /// Null if this process was not started by mpirun, or alone. Errors: kUnsupported where no MPI library was found when
  /// busbar was built, or another MPI started the processes. `otherwise`: what each process would do by itself, and
  /// what to do about that.
  static Result<std::unique_ptr<Peers>> join(std::string_view otherwise);
  Peers(const BusbarMpi& mpi, int rank, int size);

  int rank() const { return rank_; }
  int size() const { return size_; }

  Status send(int to, const std::string& text);
  /// The next message, if one is there.
  Result<std::optional<PeerMessage>> next();
  /// Pre: all processes call it. Leave it out if one is lost. Where one is lost meanwhile, MPI waits for it without
  /// end; then this process ends with status 2 after `patience`.
  Status finish(std::chrono::milliseconds patience = std::chrono::seconds(30));

 private:
  const BusbarMpi& mpi_;
  int rank_, size_;
  std::vector<std::string> begun_;  ///< per rank: the pieces so far of its message
};

}  // namespace busbar::study
