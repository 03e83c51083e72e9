// Steps and their data over TCP between the processes of one host.
//
// A frame is a header and the data that the step wrote to its receiver. TCP keeps the order of frames, so the counter
// of a thread only grows. What a socket does not take at once is copied, because the step counts as done.
#pragma once

#include <cstdint>
#include <vector>

#include "busbar/runtime/player.h"

namespace busbar::runtime {

/// A connection between each two actors. Made before processes start; each then keeps its own ends.
class Mesh {
 public:
  /// Sockets on the loopback interface; nothing listens when it returns.
  static Result<Mesh> make(std::uint32_t actors);
  Mesh(Mesh&& other) noexcept : actors_(other.actors_), ends_(std::move(other.ends_)) { other.ends_.clear(); }
  Mesh& operator=(Mesh&&) = delete;
  ~Mesh();
  /// Closes the ends of all others.
  void keep(std::uint32_t actor);
  int end(std::uint32_t actor, std::uint32_t peer) const { return ends_[std::size_t{actor} * actors_ + peer]; }

 private:
  explicit Mesh(std::uint32_t actors) : actors_(actors), ends_(std::size_t{actors} * actors, -1) {}
  std::uint32_t actors_;
  std::vector<int> ends_;  ///< per actor and peer; -1: none
};

class TcpWire final : public Wire {
 public:
  TcpWire(const Mesh& mesh, std::uint32_t actor, std::uint32_t actors);
  /// From now on frames are of this task. Call when all actors have ended the one before.
  void begin(std::uint32_t task, const Stage& stage);
  void finished(std::uint32_t step, const std::byte* data) override;
  bool poll() override;

 private:
  struct Header {
    std::uint32_t task = 0, step = 0;
    std::uint64_t done = 0;   ///< of the step's thread
    std::uint64_t bytes = 0;  ///< that follow
  };
  struct Peer {
    int socket = -1;
    std::vector<std::byte> waiting;  ///< to be sent
    std::size_t sent = 0;            ///< of these
    Header header;
    std::size_t received = 0;  ///< of the header, then of the data
    std::byte* to = nullptr;
  };
  void send(Peer& p, const Header& h, const std::byte* data);
  void flush(Peer& p);
  void take(Peer& p);
  bool take_header(Peer& p);
  bool take_data(Peer& p);

  std::uint32_t actor_, task_ = 0;
  std::vector<Peer> peers_;
  Stage stage_;
  Csr<std::uint32_t> told_;  ///< per step of this actor: who waits for it
};

}  // namespace busbar::runtime
