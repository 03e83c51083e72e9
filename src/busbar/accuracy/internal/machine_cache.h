// Machines described by rows of a table, each built once.
#pragma once

#include <fmt/core.h>

#include <map>
#include <memory>
#include <string>

#include "busbar/accuracy/internal/measured_machine.h"

namespace busbar::accuracy {

/// `T` is the data that a kind of row needs of its machine.
template <typename T>
class MachineCache {
 public:
  /// The machine of `m`, built by make() on first use; `more` holds everything else it depends on. If a board cannot be
  /// built as described, all its rows get a reason of kind kUnsupported, and the run continues.
  template <typename Make>
  Result<T*> of(const MeasuredMachine& m, const std::string& more, Make&& make) {
    std::string key = fmt::format("{}|{}|{}", m.gpus_per_node, more, m.text);
    for (const std::uint32_t id : m.gpu_ids) key += fmt::format(",{}", id);
    auto it = machines_.find(key);
    if (it == machines_.end()) {
      Result<std::unique_ptr<T>> made = make();
      if (!made.ok()) made = Error{ErrorCode::kUnsupported, made.error().message, {}};
      it = machines_.emplace(std::move(key), std::move(made)).first;
    }
    if (!it->second.ok()) return it->second.error();
    return it->second->get();
  }

 private:
  std::map<std::string, Result<std::unique_ptr<T>>> machines_;
};

}  // namespace busbar::accuracy
