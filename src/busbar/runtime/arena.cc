#include "busbar/runtime/internal/arena.h"

#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "busbar/runtime/free_memory.h"

namespace busbar::runtime {
namespace {

constexpr std::size_t kPage = std::size_t{2} << 20;  // a huge page

/// Takes `bytes` at a multiple of `align`, and moves `end` behind them.
std::size_t take(std::size_t& end, std::size_t bytes, std::size_t align) {
  const std::size_t at = (end + align - 1) / align * align;
  end = at + bytes;
  return at;
}

}  // namespace

Result<Arena> Arena::make(const std::vector<Task>& tasks, bool shared) {
  Arena a;
  for (const Task& t : tasks) a.actors_ = std::max(a.actors_, t.program->plan.actors());
  std::size_t end = 0;
  take(end, Board::bytes(a.actors_), 64);
  a.measured_ = take(end, sizeof(Measured) * tasks.size() * a.actors_, 64);
  std::vector<std::size_t> data(a.actors_, 0);
  for (const Task& t : tasks) {
    a.counters_.push_back(take(end, sizeof(Counter) * t.program->threads(), 64));
    a.steps_.push_back(take(end, t.record ? sizeof(StepTime) * t.program->plan.steps.size() : 0, 64));
    for (std::uint32_t i = 0; i < t.program->plan.actors(); ++i)
      data[i] = std::max(data[i], t.program->chunks_of(i) * t.filling.chunk_bytes());
  }
  // Blocks that begin at the same place of a page would meet in the same lines of a cache.
  for (std::uint32_t i = 0; i < a.actors_; ++i) a.blocks_.push_back(take(end, data[i], data[i] < kPage ? 4096 : kPage));
  a.bytes_ = std::max<std::size_t>(end, 4096);
  // Memory that is only promised ends a rank later, and not with a line that says why.
  if (const auto left = free_memory(); left && a.bytes_ > *left)
    return Error{
        ErrorCode::kIo,
        fmt::format("{} MB of memory for {} ranks are needed, and this host has {} MB left; use a smaller -e, or a "
                    "file with shorter messages",
                    a.bytes_ / 1'000'000, a.actors_, *left / 1'000'000),
        {}};
  void* base = mmap(nullptr, a.bytes_, PROT_READ | PROT_WRITE,
                    (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED)
    return Error{ErrorCode::kIo,
                 fmt::format("{} MB of memory for {} ranks cannot be had: {}; use a smaller -e", a.bytes_ / 1'000'000,
                             a.actors_, std::strerror(errno)),
                 {}};
  madvise(base, a.bytes_, MADV_HUGEPAGE);
  a.base_ = static_cast<std::byte*>(base);
  return a;
}

Arena::Arena(Arena&& o) noexcept
    : base_(std::exchange(o.base_, nullptr)),
      bytes_(o.bytes_),
      measured_(o.measured_),
      actors_(o.actors_),
      counters_(std::move(o.counters_)),
      steps_(std::move(o.steps_)),
      blocks_(std::move(o.blocks_)) {}

Arena::~Arena() {
  if (base_ != nullptr) munmap(base_, bytes_);
}

std::vector<std::byte*> Arena::blocks() const {
  std::vector<std::byte*> out;
  for (const std::size_t b : blocks_) out.push_back(base_ + b);
  return out;
}

}  // namespace busbar::runtime
