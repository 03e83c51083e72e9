// A run on several hosts: one process per rank, which know each other by a secret and meet over TCP.
//
//   BUSBAR_ASSIGN(Listener listener, Listener::open("10.0.0.2:7000"));
//   HostRun run{.rank = 1, .addresses = {"10.0.0.1:7000", "10.0.0.2:7000"}, .secret = secret, .run = "bench ..."};
//   BUSBAR_ASSIGN(const auto group, HostGroup::join(std::move(listener), run));
//   run_tasks(tasks, {.transport = Transport::kTcp, .hosts = group.get()});  // all ranks call it with the same tasks
#pragma once

#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/runtime/transport.h"

namespace busbar::runtime {

/// A socket that waits for connections; closed with the object.
class Listener {
 public:
  /// `address`: host and port, "10.0.0.1:7000" or "[fe80::1]:7000"; port 0 is any free one. It listens there and
  /// nowhere else. Errors: kInvalid, kIo.
  static Result<Listener> open(const std::string& address);
  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&&) = delete;
  ~Listener();
  int socket() const { return socket_; }
  std::uint16_t port() const { return port_; }

 private:
  Listener(int socket, std::uint16_t port) : socket_(socket), port_(port) {}
  int socket_;
  std::uint16_t port_;
};

/// A secret for HostRun::secret, drawn at random. Error: kIo, the system has no random numbers.
Result<std::string> new_secret();

/// What a process knows of the run it takes part in.
struct HostRun {
  std::uint32_t rank = 0;
  std::vector<std::string> addresses{};   ///< per rank: where it listens
  std::string secret{};                   ///< 32 hexadecimal digits that all share; never sent
  std::string run{};                      ///< what all must be told alike, in words: version and arguments
  Transport transport = Transport::kTcp;  ///< of data; ranks meet over TCP in any case
  std::uint32_t sockets = 1;              ///< per pair of ranks
  double timeout_s = 30;                  ///< for all to come
  const volatile std::sig_atomic_t* stop = nullptr;
};

class HostGroup {
 public:
  /// Returns when all ranks have met; nothing listens then. A connection that does not prove to know the secret is
  /// closed. Errors: kIo names the rank that cannot be reached or does not come, kInvalid the one that was told
  /// something else.
  static Result<std::unique_ptr<HostGroup>> join(Listener listener, const HostRun& run);
  HostGroup(const HostGroup&) = delete;
  HostGroup& operator=(const HostGroup&) = delete;
  ~HostGroup();

  std::uint32_t rank() const;
  std::uint32_t ranks() const;
  /// What rank 0 says, at all ranks. All call it. Error: kIo, a rank is lost.
  Result<std::string> share(const std::string& text);

  struct State;
  State& state() { return *state_; }

 private:
  explicit HostGroup(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace busbar::runtime
