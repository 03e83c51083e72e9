// The packet engine behind the common interface: calls start when a program says so, and share the network.
#pragma once

#include <memory>

#include "busbar/engine/engine.h"
#include "busbar/packet/packet_list.h"

namespace busbar::packet {

/// A call becomes the moves of its schedule (collective_flows.h). Its time alone, its bound and its loads of links are
/// those of the closed form. All calls must be prepared before the first one starts; after that prepare() returns
/// kUnsupported.
class PacketEngine : public engine::Engine {
 public:
  /// Packet-hops of one run of the call, without retransmissions.
  virtual double hops(program::CallId call) const = 0;
  /// What the packets of all calls met, after the last one. Like link_bytes(), it first lets all packets arrive; no
  /// call can start after that.
  virtual PacketCounts counts() const = 0;
  /// Threads that run packets, once a call has started.
  virtual std::uint32_t threads() const = 0;
};

std::unique_ptr<PacketEngine> make_packet_engine(const routing::Router& router, const routing::Placement& placement,
                                                 engine::EngineOptions options, PacketOptions packets);
/// The closed form, for choosing algorithms. It refuses calls that packets cannot run.
std::unique_ptr<engine::Engine> make_packet_chooser(const routing::Router& router, const routing::Placement& placement,
                                                    engine::EngineOptions options);
/// Prepares all calls. Refuses a program whose calls would take longer than options.patience_s or have too many moves.
Status check_packet_program(PacketEngine& engine, const program::Program& program, double patience_s);

}  // namespace busbar::packet
