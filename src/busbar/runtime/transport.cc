#include "busbar/runtime/transport.h"

#include <fmt/core.h>

#include <utility>

#include "busbar/runtime/internal/message_library.h"

namespace busbar::runtime {
namespace {

constexpr const char* kTransports[] = {"threads", "shm", "tcp", "ucx", "ofi"};

}  // namespace

const char* name_of(Transport transport) { return kTransports[static_cast<std::size_t>(transport)]; }

Result<Transport> parse_transport(const std::string& name) {
  for (std::size_t i = 0; i < std::size(kTransports); ++i)
    if (name == kTransports[i]) return static_cast<Transport>(i);
  return Error{ErrorCode::kInvalid, fmt::format("'{}' is none of threads, shm, tcp, ucx, ofi", name), {}};
}

Status usable(Transport transport) {
  if (transport == Transport::kUcx) return ucx_usable();
  return transport == Transport::kOfi ? ofi_usable() : Status();
}

Result<FunctionsOf> FunctionsOf::library(const char* file, const char* what, const char* package) {
  auto found = std::make_shared<const LoadedLibrary>(file);
  if (found->is_there()) return FunctionsOf(std::move(found), file);
  return Error{ErrorCode::kUnsupported,
               fmt::format("{} is not on this host: {} cannot be loaded; install it (Debian: {}), or use "
                           "--transport tcp",
                           what, file, package),
               {}};
}

Status FunctionsOf::all_there() const {
  if (all_there_) return {};
  return Error{
      ErrorCode::kUnsupported, fmt::format("{} is too old: it lacks functions; use --transport tcp", file_), {}};
}

Result<std::unique_ptr<MessageLibrary>> open_message_library(Transport transport, const std::string& host) {
  return transport == Transport::kUcx ? open_ucx() : open_ofi(host);
}

}  // namespace busbar::runtime
