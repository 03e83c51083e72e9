#include "busbar/study/peers.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

#include "busbar/study/internal/mpi_module.h"

namespace busbar::study {
namespace {

/// MPI sends a message above some 4 to 64 kB, depending on the link, only once the receiver takes it, and a receiver
/// waits without end for a sender that died in between. Pieces of this size leave the sender at once.
constexpr std::size_t kPieceBytes = 1000;
constexpr char kMore = '+', kLast = '.';  // the first byte of a piece

/// Processes of this job, by what Open MPI, MPICH and their kin put in the environment; 1 if nothing is there.
int started_together() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"})
    if (const char* text = std::getenv(name); text != nullptr) return std::max(1, std::atoi(text));
  return 1;
}

/// In the folder of the program, or where `cmake --install` puts it.
void* open_module() {
  std::error_code none;
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
  for (const auto& file : {here / "busbar_mpi.so", here / ".." / "lib" / "busbar" / "busbar_mpi.so"})
    if (void* module = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL); module != nullptr) return module;
  return nullptr;
}

Error mpi_error(const char* what, int code) {
  return {ErrorCode::kUnsupported, fmt::format("MPI could not {} (error {})", what, code), {}};
}

}  // namespace

Result<std::unique_ptr<Peers>> Peers::join(std::string_view otherwise) {
  const int expected = started_together();
  if (expected < 2) return std::unique_ptr<Peers>();
  using Entry = const BusbarMpi* (*)();
  void* const module = open_module();
  const auto entry = module == nullptr ? nullptr : reinterpret_cast<Entry>(dlsym(module, "busbar_mpi_1"));
  if (entry == nullptr)
    return Error{ErrorCode::kUnsupported,
                 fmt::format("mpirun started {} of these, and this busbar was built without MPI, so each would {}, or "
                             "install libopenmpi-dev and build again",
                             expected, otherwise),
                 {}};
  int rank = 0, size = 1;
  if (const int e = entry()->start(&rank, &size); e != 0) return mpi_error("start", e);
  if (size == expected) return std::make_unique<Peers>(*entry(), rank, size);
  return Error{ErrorCode::kUnsupported,
               fmt::format("the launcher started {} processes, and the MPI that busbar was built with sees {}; use the "
                           "mpirun of that MPI",
                           expected, size),
               {}};
}

Peers::Peers(const BusbarMpi& mpi, int rank, int size)
    : mpi_(mpi), rank_(rank), size_(size), begun_(static_cast<std::size_t>(size)) {}

Status Peers::send(int to, const std::string& text) {
  for (std::size_t at = 0; at == 0 || at < text.size(); at += kPieceBytes) {
    const bool last = text.size() - at <= kPieceBytes;
    const std::string piece = (last ? kLast : kMore) + text.substr(at, kPieceBytes);
    if (const int e = mpi_.send(to, piece.data(), piece.size()); e != 0) return mpi_error("send", e);
  }
  return {};
}

Result<std::optional<PeerMessage>> Peers::next() {
  while (true) {
    int from = -1;
    std::size_t bytes = 0;
    if (const int e = mpi_.waiting(&from, &bytes); e != 0) return mpi_error("look for messages", e);
    if (from < 0) return std::optional<PeerMessage>();
    std::string piece(bytes, '\0');
    if (const int e = mpi_.receive(from, piece.data(), bytes); e != 0) return mpi_error("receive", e);
    std::string& begun = begun_[static_cast<std::size_t>(from)];
    begun.append(piece, 1);
    if (piece[0] == kLast) return std::optional<PeerMessage>({from, std::exchange(begun, {})});
  }
}

Status Peers::finish(std::chrono::milliseconds patience) {
  std::mutex mutex;
  std::condition_variable_any changed;
  const std::jthread watch([&](const std::stop_token& finished) {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, finished, patience, [] { return false; });
    if (finished.stop_requested()) return;
    fmt::print(stderr, "rank {}: a process was lost at the end; run the same command again to write the tables\n",
               rank_);
    std::_Exit(2);
  });
  const int e = mpi_.finish();
  return e == 0 ? Status() : Status(mpi_error("finish", e));
}

}  // namespace busbar::study
