// The processes that mpirun started together: rank 0 manages a sweep, the others run its cells.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "busbar/base/result.h"

struct BusbarMpi;

namespace busbar {

struct PeerMessage {
  int from = 0;  ///< rank
  std::string text;
};

/// One thread calls it.
class Peers {
 public:
  /// Null if this process was not started by mpirun, or alone. Errors: kUnsupported where no MPI library was found when
  /// busbar was built, or another MPI started the processes.
  static Result<std::unique_ptr<Peers>> join();

  int rank() const { return rank_; }
  int size() const { return size_; }

  Status send(int to, const std::string& text);
  /// The next message, if one is there.
  Result<std::optional<PeerMessage>> next();
  /// Pre: all processes call it. Leave it out if one is lost.
  Status finish();

 private:
  explicit Peers(const BusbarMpi& mpi) : mpi_(mpi) {}
  const BusbarMpi& mpi_;
  int rank_ = 0, size_ = 1;
};

}  // namespace busbar
