// The processes that a launcher with PMIx started together: srun --mpi=pmix, prun, Open MPI's mpirun.
//
//   BUSBAR_ASSIGN(const auto job, PmixJob::join());
//   if (job) { BUSBAR_ASSIGN(const std::vector<std::string> addresses, job->exchange("10.0.0.1:7000", 30)); }
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "busbar/base/result.h"

namespace busbar::study {

/// One thread calls it.
class PmixJob {
 public:
  /// Null if this process was not started with PMIx, or alone. Error: kUnsupported, the library is not on this host, or
  /// it does not reach the launcher.
  static Result<std::unique_ptr<PmixJob>> join();
  PmixJob(const PmixJob&) = delete;
  PmixJob& operator=(const PmixJob&) = delete;
  ~PmixJob();

  std::uint32_t rank() const;
  std::uint32_t size() const;
  /// What each process says, by rank. All call it, once. Error: kIo, one of them said nothing for so long.
  Result<std::vector<std::string>> exchange(const std::string& text, double timeout_s);

  struct State;

 private:
  explicit PmixJob(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace busbar::study
