// Every call takes its own closed-form time, whatever else is under way.
#include <map>

#include "busbar/engine/prepared.h"

namespace busbar::engine {
namespace {

class AnalyticEngine final : public Engine {
 public:
  AnalyticEngine(const routing::Router& router, const routing::Placement& placement, const EngineOptions& options)
      : calls_(router, placement, closed_forms(options)) {}

  Result<program::CallId> prepare(const program::CollectiveCall& call) override {
    BUSBAR_ASSIGN(const program::CallId id, calls_.prepare(call));
    if (index(id) == alone_.size()) {
      alone_.push_back(duration_from_ps(lowering::closed_form_ps(calls_.lowered(id))));
      starts_.push_back(0);
    }
    return id;
  }
  bool alike(const program::CollectiveCall& a, const program::CollectiveCall& b) override { return calls_.alike(a, b); }
  Shortcuts shortcuts() const override { return calls_.shortcuts(); }
  const program::ProtocolModel* protocol() const override { return &calls_.lowering().protocol(); }
  Duration time_alone(program::CallId call) const override { return alone_[index(call)]; }
  Duration least_time(const program::CollectiveCall& call) override { return calls_.least_time(call); }
  lowering::Bound bound_by(program::CallId call) const override { return calls_.bound_by(call); }
  const lowering::LoweredCall* lowered(program::CallId call) const override { return &calls_.lowered(call); }
  bool times_hold() const override { return true; }
  bool apart(program::CallId, program::CallId) override { return true; }
  Status status() const override { return calls_.interrupted() ? Status(interrupted()) : Status(); }
  void count_runs(program::CallId call, std::uint64_t times) override {
    starts_[index(call)] += static_cast<double>(times);
  }
  void start(program::CallId call, std::uint64_t tag, SimTime at) override {
    pending_.emplace(std::pair(at + alone_[index(call)], sequence_++), tag);
    ++starts_[index(call)];
  }
  std::optional<Finished> advance(SimTime limit) override {
    if (pending_.empty() || pending_.begin()->first.first > limit) return std::nullopt;
    const auto first = pending_.begin();
    const Finished done{first->second, first->first.first};
    pending_.erase(first);
    return done;
  }
  void add_bytes_of(program::CallId call, std::vector<double>& bytes) const override {
    calls_.add_link_bytes(call, 1, bytes);
  }
  std::vector<double> link_bytes() const override {
    std::vector<double> bytes(calls_.topology().link_count(), 0.0);
    for (std::uint32_t c = 0; c < starts_.size(); ++c)
      calls_.add_link_bytes(static_cast<program::CallId>(c), starts_[c], bytes);
    return bytes;
  }

 private:
  /// Pairs of a group are one fluid here, as no pair ends for itself; calls kept for other engines are as those ask.
  static EngineOptions closed_forms(EngineOptions options) {
    if (!options.known) options.shortcuts.pairs_apart = 0;
    return options;
  }
  PreparedCalls calls_;
  std::vector<Duration> alone_;
  std::vector<double> starts_;
  std::map<std::pair<SimTime, std::uint64_t>, std::uint64_t> pending_;
  std::uint64_t sequence_ = 0;
};

}  // namespace

std::unique_ptr<Engine> make_analytic_engine(const routing::Router& router, const routing::Placement& placement,
                                             EngineOptions options) {
  return std::make_unique<AnalyticEngine>(router, placement, options);
}

}  // namespace busbar::engine
