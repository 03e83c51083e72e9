// Machines that stay ready between the steps of one process.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "busbar/predict/band.h"
#include "busbar/predict/predictor.h"
#include "busbar/workload/kernels.h"

namespace busbar::step {

/// What open_train() makes of a machine.
struct OpenedMachine {
  std::shared_ptr<predict::Predictor> predictor;
  workload::KernelTable kernels;
  predict::Band band;
  std::string launch;
};

/// Bytes that this process has in memory, without files that it maps. 0: not known.
std::size_t memory_of_process();

/// Machines with all that steps on them have prepared: routers, calls, states. A step uses a machine alone: while it
/// has it, take() does not find it. Safe for several threads.
class KeptMachines {
 public:
  static constexpr std::size_t kBudget = std::size_t{256} << 20;

  /// `in_use` tells how much memory the process has.
  explicit KeptMachines(std::size_t budget = kBudget, std::function<std::size_t()> in_use = memory_of_process)
      : budget_(budget), in_use_(std::move(in_use)) {}
  /// The machine that was kept under `key`; a null predictor if there is none, or a step has it.
  OpenedMachine take(const std::string& key);
  void keep(const std::string& key, const OpenedMachine& machine);
  /// Call after each answer, whose machine then has grown: while the process has more memory than the budget, lets go
  /// of the machine that was used least recently, and gives its memory back to the system.
  void fit();

 private:
  struct Entry {
    std::string key;
    OpenedMachine machine;
    bool in_use() const { return machine.predictor.use_count() > 1; }
  };
  bool drop_last();

  const std::size_t budget_;
  const std::function<std::size_t()> in_use_;
  std::mutex mutex_;          // guards the member below
  std::list<Entry> entries_;  // the last used first
};

}  // namespace busbar::step
