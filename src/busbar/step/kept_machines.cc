#include "busbar/step/kept_machines.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace busbar::step {
namespace {

void give_back_freed_memory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace

std::size_t memory_of_process() {
  std::size_t all = 0, resident = 0, of_files = 0;
  std::ifstream("/proc/self/statm") >> all >> resident >> of_files;  // in pages
  return (resident - of_files) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

OpenedMachine KeptMachines::take(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.key == key && !e.in_use(); });
  if (found == entries_.end()) return {};
  entries_.splice(entries_.begin(), entries_, found);
  return found->machine;
}

void KeptMachines::keep(const std::string& key, const OpenedMachine& machine) {
  const std::lock_guard lock(mutex_);
  entries_.push_front({key, machine});
}

/// The machine that was used least recently, but for those in use. False: there is none.
bool KeptMachines::drop_last() {
  std::list<Entry> dropped;  // ends after the lock, because a large machine takes long to go
  const std::lock_guard lock(mutex_);
  const auto last = std::find_if(entries_.rbegin(), entries_.rend(), [](const Entry& e) { return !e.in_use(); });
  if (last == entries_.rend()) return false;
  dropped.splice(dropped.begin(), entries_, std::next(last).base());
  return true;
}

void KeptMachines::fit() {
  if (in_use_() <= budget_) return;
  do give_back_freed_memory();
  while (in_use_() > budget_ && drop_last());
}

}  // namespace busbar::step
