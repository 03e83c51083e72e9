#include "busbar/floors/internal/floor_demand.h"

#include <algorithm>

namespace busbar {

FloorDemand::FloorDemand(const CollectiveCall& call) : op_(call.op), n_(call.groups.size()), root_(call.root) {
  constexpr std::uint32_t kMostUneven = 4096;  // it sums ranks^2 counts
  const PairCounts& pairs = call.schedule ? call.schedule->pairs : call.pairs;
  if (op_ != Collective::kAllToAllV || pairs.equal() || n_ > kMostUneven) return;
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
  if (op_ == Collective::kSendRecv && n_ > 2) {  // one S between each member and the next
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

Demand demand_across(Collective op, double inside, double n) {
  const double outside = (n - inside) / n;
  switch (op) {
    case Collective::kAllReduce:
      return {1, 1};
    case Collective::kAllGather:
      return {inside / n, outside};
    case Collective::kReduceScatter:
      return {outside, inside / n};
    case Collective::kAllToAll:
      return {inside * outside, inside * outside};
    default:
      return {};
  }
}

Demand FloorDemand::across(double inside, bool root_inside) const {
  const double outside = (n_ - inside) / n_;
  if (inside >= n_) return {};
  switch (op_) {
    case Collective::kBroadcast:
      return root_inside ? Demand{1, 0} : Demand{0, 1};
    case Collective::kReduce:
      return root_inside ? Demand{0, 1} : Demand{1, 0};
    case Collective::kAllToAllV:
      return uneven_ ? Demand{} : demand_across(Collective::kAllToAll, inside, n_);
    case Collective::kGather:
      return root_inside ? Demand{0, outside} : Demand{inside / n_, 0};
    case Collective::kScatter:
      return root_inside ? Demand{outside, 0} : Demand{0, inside / n_};
    case Collective::kSendRecv:
      if (n_ > 2) return {1, 1};
      return root_inside ? Demand{1, 0} : Demand{0, 1};
    default:
      return demand_across(op_, inside, n_);
  }
}

double FloorDemand::through_memory(std::uint32_t member) const {
  const Demand d = uneven_ ? across({member}) : across(1, member == root_);
  const bool adds = op_ == Collective::kAllReduce || op_ == Collective::kReduceScatter || op_ == Collective::kReduce;
  return (adds ? 1 : d.out) + d.in;
}

}  // namespace busbar
