// A checkpoint of a predicted step's model: how large it is, and how long it takes to save and to load.
#pragma once

#include <string>

#include "busbar/step/checkpoint.h"
#include "busbar/step/train_run.h"

namespace busbar::survive {

/// As typed. Defaults and their sources: docs/models/survive.md.
struct CheckpointAsk {
  std::string checkpoint_to = "storage";  ///< or "nvme"
  std::string storage;                    ///< rate of the whole storage; empty: 0.65 GB/s per server
  bool async = false;                     ///< steps continue while a copy in host memory is written
  bool gpudirect_storage = false;
  std::string async_stop = "500ms";  ///< with `async`: steps wait at least so long
};

struct CheckpointRun {
  double bytes = 0, most_bytes = 0;  ///< of all; of the GPU that writes most
  double store_bytes_per_s = 0;      ///< of the whole storage; 0: drives of the servers
  bool async = false;
  step::CheckpointTimes links;
  double least_stop_s = 0;  ///< with `async`: planning, metadata and the barrier of all ranks
  double slowed = 0;        ///< with `async`: share by which a step takes longer while the write goes on, at most
  std::string slowed_link;  ///< that carries the write and the step; empty: none
  /// Seconds, with a storage `faster` times as fast.
  double write_s(double faster = 1) const;
  double load_s(double faster = 1) const;
  double stop_s(bool in_background, double faster = 1) const;  ///< the time for which steps wait
  double stop_s() const { return stop_s(async); }
  double lost_s(double between_s) const;  ///< by one checkpoint, if steps of `between_s` follow it
  /// The same where the write ends before the next checkpoint.
  double lost_s(bool in_background, double faster) const;
  std::string write_bound() const;  ///< "the storage at 1.3 TB/s", or a link
};
/// Errors name the member.
Result<CheckpointRun> run_checkpoint(const step::TrainRun& run, const CheckpointAsk& ask);

}  // namespace busbar::survive
