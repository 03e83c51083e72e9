#include "busbar/study/peers.h"

#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "busbar/study/internal/mpi_module.h"

namespace busbar {
namespace {

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

Result<std::unique_ptr<Peers>> Peers::join() {
  const int expected = started_together();
  if (expected < 2) return std::unique_ptr<Peers>();
  using Entry = const BusbarMpi* (*)();
  void* const module = open_module();
  const auto entry = module == nullptr ? nullptr : reinterpret_cast<Entry>(dlsym(module, "busbar_mpi_1"));
  if (entry == nullptr)
    return Error{ErrorCode::kUnsupported,
                 fmt::format("mpirun started {} of these, and this busbar was built without MPI, so each would run the "
                             "whole sweep; start one per shard with --shard I/N and --merge them, or install "
                             "libopenmpi-dev and build again",
                             expected),
                 {}};
  std::unique_ptr<Peers> out(new Peers(*entry()));
  if (const int e = out->mpi_.start(&out->rank_, &out->size_); e != 0) return mpi_error("start", e);
  if (out->size_ == expected) return out;
  return Error{ErrorCode::kUnsupported,
               fmt::format("the launcher started {} processes, and the MPI that busbar was built with sees {}; use the "
                           "mpirun of that MPI",
                           expected, out->size_),
               {}};
}

Status Peers::send(int to, const std::string& text) {
  const int e = mpi_.send(to, text.data(), text.size());
  return e == 0 ? Status() : Status(mpi_error("send", e));
}

Result<std::optional<PeerMessage>> Peers::next() {
  int from = -1;
  std::size_t bytes = 0;
  if (const int e = mpi_.waiting(&from, &bytes); e != 0) return mpi_error("look for messages", e);
  if (from < 0) return std::optional<PeerMessage>();
  PeerMessage message{from, std::string(bytes, '\0')};
  if (const int e = mpi_.receive(from, message.text.data(), bytes); e != 0) return mpi_error("receive", e);
  return std::optional<PeerMessage>(std::move(message));
}

Status Peers::finish() {
  const int e = mpi_.finish();
  return e == 0 ? Status() : Status(mpi_error("finish", e));
}

}  // namespace busbar
