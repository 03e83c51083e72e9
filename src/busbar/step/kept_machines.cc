#include "busbar/step/kept_machines.h"

#include <algorithm>

namespace busbar {

OpenedMachine KeptMachines::take(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) {
    return e.key == key && e.machine.predictor.use_count() == 1;  // only this list has it
  });
  if (found == entries_.end()) return {};
  OpenedMachine out = found->machine;
  entries_.splice(entries_.begin(), entries_, found);
  if (++found->uses == most_uses_) entries_.erase(found);
  return out;
}

void KeptMachines::keep(const std::string& key, const OpenedMachine& machine) {
  const std::lock_guard lock(mutex_);
  entries_.push_front({key, machine});
  if (entries_.size() > most_machines_) entries_.pop_back();
}

}  // namespace busbar
