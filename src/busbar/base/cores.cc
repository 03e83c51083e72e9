#include "busbar/base/cores.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <thread>
#include <vector>

namespace busbar {

std::uint32_t idle_cores() {
  double load = 0;
  const auto cores = static_cast<double>(std::thread::hardware_concurrency());
  if (getloadavg(&load, 1) != 1) return 1;
  return static_cast<std::uint32_t>(std::max(1.0, std::round(cores - load)));
}

void share_out(std::size_t items, std::size_t threads,
               const std::function<void(std::size_t item, std::size_t thread)>& work) {
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> failed(std::max<std::size_t>(1, std::min(threads, items)));
  const auto take = [&](std::size_t thread) {
    try {
      for (std::size_t item = next++; item < items; item = next++) work(item, thread);
    } catch (...) {
      failed[thread] = std::current_exception();
      next = items;
    }
  };
  std::vector<std::thread> others;
  for (std::size_t t = 1; t < failed.size(); ++t) others.emplace_back(take, t);
  take(0);
  for (std::thread& other : others) other.join();
  for (const std::exception_ptr& e : failed)
    if (e) std::rethrow_exception(e);
}

double memory_of_this_machine() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

}  // namespace busbar
