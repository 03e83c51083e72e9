// Steps and their data over TCP between processes.
//
// A frame is a header and the data that the step wrote to its receiver. All frames of a thread take the same socket,
// and TCP keeps their order, so the counter of a thread only grows. Small frames to one receiver go together, since a
// call of the system costs more than they do. Larger data are sent from where they lie: the step is done when the last
// byte has gone into the socket. Who waits for that goes on receiving, so two that send to each other never wait
// without end.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "busbar/base/csr.h"
#include "busbar/base/id.h"
#include "busbar/runtime/player.h"

namespace busbar::runtime {

/// Connections between each two actors, `lanes` sockets each.
class Mesh {
 public:
  /// Sockets on the loopback interface, made before processes start; each then keeps its own ends. Nothing listens when
  /// it returns.
  static Result<Mesh> make(std::uint32_t actors, std::uint32_t lanes);
  /// Without sockets so far.
  Mesh(std::uint32_t actors, std::uint32_t lanes)
      : actors_(actors), lanes_(lanes), ends_(std::size_t{actors} * actors * lanes, -1) {}
  void set_end(std::uint32_t actor, std::uint32_t peer, std::uint32_t lane, int socket);
  Mesh(Mesh&& other) noexcept : actors_(other.actors_), lanes_(other.lanes_), ends_(std::move(other.ends_)) {
    other.ends_.clear();
  }
  Mesh& operator=(Mesh&&) = delete;
  ~Mesh();
  /// Closes the ends of all others.
  void keep(std::uint32_t actor);
  int end(std::uint32_t actor, std::uint32_t peer, std::uint32_t lane) const { return ends_[at(actor, peer, lane)]; }
  std::uint32_t actors() const { return actors_; }
  std::uint32_t lanes() const { return lanes_; }

 private:
  std::size_t at(std::uint32_t actor, std::uint32_t peer, std::uint32_t lane) const {
    return (std::size_t{actor} * actors_ + peer) * lanes_ + lane;
  }
  std::uint32_t actors_, lanes_;
  std::vector<int> ends_;  ///< per actor, peer and lane; -1: none
};

class TcpWire final : public Wire {
 public:
  TcpWire(const Mesh& mesh, std::uint32_t actor);
  /// The actors are processes of different hosts, which know each other by this wire alone: they meet on `board`, send
  /// each other texts, and one whose connection ends is lost.
  void join(Board& board);
  /// The actors share a board, so only frames of steps are sent.
  bool on_one_host() const { return board_ == nullptr; }
  /// Whether frames wait to be sent.
  bool holds() const;
  void begin(std::uint32_t task, const Stage& stage) override;
  Counter* counters(std::uint32_t threads) override;
  void end() override { task_ = 0; }
  bool send(std::uint32_t step, const std::byte* data) override;
  bool poll() override;
  void arrived(std::uint64_t round) override;
  void wait_for(std::uint32_t actor) override;

  void send_text(std::uint32_t peer, const std::string& text);
  /// The next text of this peer; none: it has not come.
  std::optional<std::string> take_text(std::uint32_t peer);
  /// Who was lost first, as far as this process knows.
  std::optional<std::uint32_t> lost() const { return lost_; }
  /// Tells all others what this one waited for, before it gives up.
  void tell_why(const std::string& words);
  /// What others have told before they gave up, per actor; empty: nothing.
  const std::vector<std::string>& why() const { return why_; }

 private:
  enum class Kind : std::uint32_t { kStep, kArrived, kText, kWhy };
  struct Header {
    Kind kind = Kind::kStep;
    std::uint32_t task = 0, step = 0, peer = 0;
    std::uint64_t done = 0;   ///< of the step's thread; or meetings
    std::uint64_t bytes = 0;  ///< that follow
  };
  /// One socket.
  struct Link {
    int socket = -1;
    std::vector<std::byte> small;    ///< headers and small data, to be sent first
    std::size_t small_sent = 0;      ///< of these
    std::uint32_t sender = kNone32;  ///< the thread whose data follow them
    const std::byte* data = nullptr;
    std::size_t bytes = 0, sent = 0;  ///< of these
    Header in;
    std::size_t received = 0;  ///< of the header, then of the data
    std::byte* to = nullptr;   ///< where the data belong; null: the header is not complete
    std::array<std::byte, 4096> ahead;
    std::size_t first = 0, last = 0;  ///< of what was read ahead
    std::string text;                 ///< that comes
    bool closed = false;
  };
  std::uint32_t lane_of(std::uint32_t thread) const { return thread % lanes_; }
  bool send_to(std::uint32_t peer, std::uint32_t step, const std::byte* data);
  void post(std::uint32_t peer, const Header& h, const std::string& text);
  bool makes_sense(const Header& h) const;
  void finish(Link& l);
  /// Ends the run if a connection with this peer has ended.
  void lose_closed(std::uint32_t peer);
  bool flush(Link& l);
  bool take_header(Link& l);
  bool take_data(Link& l);
  std::size_t receive(Link& l, std::byte* to, std::size_t bytes);
  void take(Link& l);

  std::uint32_t actor_, lanes_, task_ = 0;
  std::vector<Counter> counters_;
  Board* board_ = nullptr;  ///< of actors on different hosts
  std::optional<std::uint32_t> lost_;
  std::vector<Link> links_;                      ///< per peer and lane
  std::vector<std::vector<std::string>> texts_;  ///< per peer
  std::vector<std::string> why_;
  std::vector<std::uint32_t> from_, to_;  ///< links on which this task's frames come and go
  Stage stage_;
  Csr<std::uint32_t> told_;             ///< per step
  std::vector<std::uint32_t> reached_;  ///< per thread: how many of these its performed step has gone to
};

}  // namespace busbar::runtime
