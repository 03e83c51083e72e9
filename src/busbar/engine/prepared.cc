#include "busbar/engine/prepared.h"

#include <algorithm>
#include <cmath>

#include "busbar/lowering/stage_bytes.h"

namespace busbar::engine {

PreparedCalls::PreparedCalls(const routing::Router& router, const routing::Placement& placement,
                             const EngineOptions& options)
    : topology_(router.topology()),
      lowering_(router, placement, options.protocol, options.shortcuts, options.stop),
      solver_(lowering_.capacities().counts(), options.shortcuts, options.stop),
      likeness_(router, placement),
      shortcuts_(options.shortcuts),
      images_(shortcuts_.has(Shortcut::kCallImages) && options.delays.empty()),
      known_(shortcuts_.has(Shortcut::kKnownCalls) ? options.known : nullptr) {
  lowering_.set_what_if(options.what_if);
  lowering_.set_delays(options.delays);
  lowering_.keep_chains(options.keep_chains);
}

/// `from` on the links of `call`, which likeness_ has just found alike. Nothing where it crosses links that the pairing
/// does not reach: past a dead cable, a way may go down and up again.
std::shared_ptr<const lowering::LoweredCall> PreparedCalls::moved(const lowering::LoweredCall& from,
                                                                  const program::CollectiveCall& call) const {
  lowering::LoweredCall out = from;
  out.call = call;
  out.chains.clear();  // they name links of the other
  for (lowering::Stage& stage : out.stages) {
    if (!likeness_.move(stage.on)) return nullptr;
    if (stage.busiest != kNone<topology::LinkId>) stage.busiest = likeness_.image(stage.busiest).link();
  }
  return std::make_shared<lowering::LoweredCall>(std::move(out));
}

std::shared_ptr<const lowering::LoweredCall> PreparedCalls::known(const program::CollectiveCall& call) const {
  if (known_)
    for (const auto& lowered : known_->calls)
      if (lowered->call == call) return shortcuts_.take(Shortcut::kKnownCalls) ? lowered : nullptr;
  return nullptr;
}

program::CallId PreparedCalls::add(std::shared_ptr<const lowering::LoweredCall> call, program::CallId like) {
  calls_.push_back(std::move(call));
  like_.push_back(like);
  return static_cast<program::CallId>(calls_.size() - 1);
}

/// Takes over what another engine moved, from a call that is prepared here too.
bool PreparedCalls::add_known_image(const program::CollectiveCall& call) {
  if (!known_) return false;
  for (const LoweredCalls::Image& image : known_->images) {
    if (!(image.call->call == call)) continue;
    const auto from = std::find(calls_.begin(), calls_.end(), image.from);
    if (from == calls_.end() || !shortcuts_.take(Shortcut::kKnownCalls)) return false;
    add(image.call, like_[static_cast<std::size_t>(from - calls_.begin())]);
    return true;
  }
  return false;
}

/// Moves a call there that was lowered here and is alike.
bool PreparedCalls::add_image(const program::CollectiveCall& call) {
  for (std::uint32_t i = 0; i < calls_.size(); ++i) {
    if (index(like_[i]) != i || !likeness_.alike(calls_[i]->call, call)) continue;
    auto there = moved(*calls_[i], call);
    if (!there) return false;
    shortcuts_.take(Shortcut::kCallImages);
    if (known_) known_->images.push_back({there, calls_[i]});
    add(std::move(there), static_cast<program::CallId>(i));
    return true;
  }
  return false;
}

Result<program::CallId> PreparedCalls::prepare(const program::CollectiveCall& call) {
  if (interrupted()) return busbar::interrupted();
  for (std::uint32_t i = 0; i < calls_.size(); ++i)
    if (calls_[i]->call == call) return static_cast<program::CallId>(i);
  if (images_ && (add_known_image(call) || add_image(call))) return static_cast<program::CallId>(calls_.size() - 1);
  std::shared_ptr<const lowering::LoweredCall> found = known(call);
  if (!found) {
    BUSBAR_ASSIGN(lowering::LoweredCall lowered, lowering_.lower(call));
    found = std::make_shared<lowering::LoweredCall>(std::move(lowered));
    if (known_) known_->calls.push_back(found);
  }
  return add(std::move(found), static_cast<program::CallId>(calls_.size()));
}

std::vector<double> PreparedCalls::flow_stage_ps(const lowering::LoweredCall& call) {
  std::vector<double> out;
  for (const lowering::Stage& stage : call.stages) {
    double longest = 0;
    if (same_bytes(stage) && shortcuts_.take(Shortcut::kClosedForm)) {
      out.push_back(std::max(stage.slowest_alone_ps, stage.load_ps));
      continue;
    }
    for (std::uint32_t c = 0; c < stage.components.size(); ++c) {
      const lowering::Component& component = stage.components[c];
      if (component.like != c) continue;  // an equal one has been run
      const bool single = component.end - component.begin == 1 && shortcuts_.take(Shortcut::kLoneFluid);
      // One fluid by itself: its time alone already holds its own links' loads.
      longest = std::max(longest,
                         single ? stage.fluids[stage.members[component.begin]].alone_ps
                                : run_component(solver_, lowering_.capacities(), stage, component, INFINITY, nullptr));
    }
    out.push_back(longest);
  }
  return out;
}

lowering::Bound PreparedCalls::bound_by(program::CallId id) const { return lowering::bound_of(lowered(id)); }

void PreparedCalls::add_link_bytes(program::CallId id, double times, std::vector<double>& bytes) const {
  times /= lowered(id).time_factor;
  for (const lowering::Stage& s : lowered(id).stages)
    lowering::for_each_link_bytes(s, lowering_.capacities(), times,
                                  [&](topology::LinkId l, double sent) { bytes[index(l)] += sent; });
}

}  // namespace busbar::engine
