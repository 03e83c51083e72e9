#include "busbar/floors/internal/floor_demand.h"

#include <algorithm>

namespace busbar::floors {

FloorDemand::FloorDemand(const program::CollectiveCall& call) : op_(call.op), n_(call.groups.size()), root_(call.root) {
  constexpr std::uint32_t kMostUneven = 4096;  // it sums ranks^2 counts
  const collectives::PairCounts& pairs = call.schedule ? call.schedule->pairs : call.pairs;
  if (op_ != collectives::Collective::kAllToAllV || pairs.equal() || n_ > kMostUneven) return;
  uneven_ = true;
  pairs_ = &pairs;
  const auto n = static_cast<std::uint32_t>(n_);
  sent_.assign(n, 0);
  received_.assign(n, 0);
  for (std::uint32_t a = 0; a < n; ++a)
    for (std::uint32_t b = 0; b < n; ++b) {
      const double c = pairs_->count(n, a, b);
      sent_[a] += c;
      received_[b] += c;
    }
  parts_ = std::max(1.0, *std::max_element(sent_.begin(), sent_.end()));
}

Demand FloorDemand::across(const std::vector<std::uint32_t>& inside) const {
  if (op_ == collectives::Collective::kSendRecv && n_ > 2) {  // one S between each member and the next
    std::vector<std::uint8_t> in(static_cast<std::size_t>(n_), 0);
    for (const std::uint32_t m : inside) in[m] = 1;
    Demand d;
    for (std::size_t m = 0; m < in.size(); ++m) {
      const bool next = in[(m + 1) % in.size()] != 0;
      d.out += in[m] && !next;
      d.in += !in[m] && next;
    }
    return d;
  }
  if (!uneven_)
    return across(static_cast<double>(inside.size()), std::find(inside.begin(), inside.end(), root_) != inside.end());
  Demand d;
  const auto n = static_cast<std::uint32_t>(n_);
  for (const std::uint32_t a : inside) {
    double within_sent = 0, within_received = 0;
    for (const std::uint32_t b : inside) {
      within_sent += pairs_->count(n, a, b);
      within_received += pairs_->count(n, b, a);
    }
    d.out += (sent_[a] - within_sent) / parts_;
    d.in += (received_[a] - within_received) / parts_;
  }
  return d;
}

Demand demand_across(collectives::Collective op, double inside, double n) {
  const double outside = (n - inside) / n;
  switch (op) {
    case collectives::Collective::kAllReduce:
      return {1, 1};
    case collectives::Collective::kAllGather:
      return {inside / n, outside};
    case collectives::Collective::kReduceScatter:
      return {outside, inside / n};
    case collectives::Collective::kAllToAll:
      return {inside * outside, inside * outside};
    default:
      return {};
  }
}

Demand FloorDemand::across(double inside, bool root_inside) const {
  const double outside = (n_ - inside) / n_;
  if (inside >= n_) return {};
  switch (op_) {
    case collectives::Collective::kBroadcast:
      return root_inside ? Demand{1, 0} : Demand{0, 1};
    case collectives::Collective::kReduce:
      return root_inside ? Demand{0, 1} : Demand{1, 0};
    case collectives::Collective::kAllToAllV:
      return uneven_ ? Demand{} : demand_across(collectives::Collective::kAllToAll, inside, n_);
    case collectives::Collective::kGather:
      return root_inside ? Demand{0, outside} : Demand{inside / n_, 0};
    case collectives::Collective::kScatter:
      return root_inside ? Demand{outside, 0} : Demand{0, inside / n_};
    case collectives::Collective::kSendRecv:
      if (n_ > 2) return {1, 1};
      return root_inside ? Demand{1, 0} : Demand{0, 1};
    default:
      return demand_across(op_, inside, n_);
  }
}

double FloorDemand::through_memory(std::uint32_t member) const {
  const Demand d = uneven_ ? across({member}) : across(1, member == root_);
  const bool adds = op_ == collectives::Collective::kAllReduce || op_ == collectives::Collective::kReduceScatter ||
                    op_ == collectives::Collective::kReduce;
  return (adds ? 1 : d.out) + d.in;
}

}  // namespace busbar::floors
