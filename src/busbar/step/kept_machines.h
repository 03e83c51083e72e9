// Machines that stay ready between the steps of one process.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "busbar/predict/band.h"
#include "busbar/predict/predictor.h"
#include "busbar/workload/kernels.h"

namespace busbar {

/// What open_train() makes of a machine.
struct OpenedMachine {
  std::shared_ptr<Predictor> predictor;
  KernelTable kernels;
  Band band;
  std::string launch;
};

/// The last few machines, with the calls that steps on them have prepared. A step uses a machine alone: while it has
/// it, take() does not find it. Safe for several threads.
class KeptMachines {
 public:
  /// Each use adds calls to a machine, so it is dropped after `uses`; one of 16,384 GPUs takes about 100 MB.
  explicit KeptMachines(std::size_t machines = 3, int uses = 100) : most_machines_(machines), most_uses_(uses) {}
  /// The machine that was kept under `key`; a null predictor if there is none, or a step has it.
  OpenedMachine take(const std::string& key);
  void keep(const std::string& key, const OpenedMachine& machine);

 private:
  struct Entry {
    std::string key;
    OpenedMachine machine;
    int uses = 0;
  };
  const std::size_t most_machines_;
  const int most_uses_;
  std::mutex mutex_;          // guards the member below
  std::list<Entry> entries_;  // the last used first
};

}  // namespace busbar
