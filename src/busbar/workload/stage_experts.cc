// The half of a layer with routed experts: tokens go to the ranks of their experts and come back.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "busbar/workload/expert_kernels.h"
#include "busbar/workload/expert_load.h"
#include "busbar/workload/internal/layer_split.h"
#include "busbar/workload/internal/rank_groups.h"
#include "busbar/workload/internal/stage_writer.h"

namespace busbar::workload {
namespace {

constexpr double kElement = 2;  // bytes per element of outputs and gradients

// Time of an exchange while GEMMs run, relative to an exchange alone. Source: deepseek-ai/profile-data, training trace
// of 64 H800 (2025): 36 and 38 GB/s, against 46 and 45 of the same release of DeepEP alone.
constexpr double kDuringCompute = 1.25;
// Exchanges are laid pair by pair where the loads of experts differ, in groups of so many ranks at most and if the
// whole machine has at most so many pairs: a step of 4,096 pairs takes 0.4 s of a processor. All pairs of larger ones
// have the bytes of the busiest rank.
constexpr std::size_t kMostUneven = 64, kMostPairs = 4096;
constexpr double kMeanChunks = 256;  // of a pair, in the mean: loads count in steps of 0.4 %

/// One call where ranks have experts with these loads: each member sends to the ranks of its tokens' experts, or back.
/// `bytes` is what a rank of mean load sends.
program::CollectiveCall uneven_call(const std::vector<double>& loads, bool back, double bytes,
                                    collectives::GroupFamily groups) {
  const auto chunks = [](double load) { return static_cast<std::uint32_t>(std::lround(load * kMeanChunks)); };
  std::vector<std::uint32_t> begin{0};
  std::uint32_t most = 0;  // chunks of the busiest sender
  for (const double own : loads) {
    const std::uint32_t before = begin.back();
    for (const double other : loads) begin.push_back(begin.back() + chunks(back ? own : other));
    most = std::max(most, begin.back() - before);
  }
  const double mean = kMeanChunks * static_cast<double>(loads.size());
  program::CollectiveCall c = auto_call(collectives::Collective::kAllToAllV,
                                        static_cast<std::uint64_t>(bytes * most / mean), std::move(groups));
  c.pairs.begin = std::move(begin);
  return c;
}

/// The mean loads of nodes of `near` consecutive ranks.
std::vector<double> node_loads(const std::vector<double>& ranks, std::uint32_t near) {
  std::vector<double> out(ranks.size() / near);
  for (std::size_t i = 0; i < out.size() * near; ++i) out[i / near] += ranks[i] / near;
  return out;
}

/// Places (nodes, ranks) that have an expert of one token, expected: n (1 - (1 - 1/n)^k) for k choices among n.
double places_of_token(const ModelSpec& m, double n) { return n * (1 - std::pow(1 - 1 / n, m.moe.per_token)); }

}  // namespace

void StageWriter::prepare_expert_calls(std::uint32_t scale_up_gpus) {
  if (model_.moe.experts == 0) return;
  const double token = static_cast<double>(layout_.routed_tokens()) * routed_hidden(model_);
  const double busiest = expert_load(model_, layout_).busiest;
  const auto bytes = [&](double copies, double per_element) {  // all wait for the busiest rank
    return static_cast<std::uint64_t>(token * busiest * copies * per_element);
  };
  const double copies = model_.moe.per_token, there = layout_.experts.dispatch_bytes;
  const NodeGroups groups = expert_node_groups(layout_, stage_, scale_up_gpus);
  const std::uint32_t nodes = groups.across.size(), near = groups.inside.size();
  const bool per_place = layout_.experts.exchange == ExpertExchange::kPerNode;
  const std::uint32_t chosen = model_.moe.most_nodes == 0 ? nodes : std::min(nodes, model_.moe.most_nodes);
  const double ranks = places_of_token(model_, static_cast<double>(chosen) * near);  // one copy for each
  hidden_share_ = overlapped_share(layout_.experts, expert_layers_of_a_pass());
  const ExpertKernelCosts kernels = expert_kernel_costs(layout_, nodes == 1);
  const double during = (1 + (kDuringCompute - 1) * hidden_share_) * kernels.slowdown,
               by_token = near > 1 ? during / kernels.near_rate : during;
  const auto by_pair = [&](std::size_t members) {
    return busiest > 1 && members <= kMostUneven && members * layout_.ranks() <= kMostPairs;
  };
  const auto slowed = [&](program::CollectiveCall c, double slowdown) {
    c.slowdown = slowdown;
    return out_.intern(c);
  };
  const auto even = [&](double sent, double per_element, const collectives::GroupFamily& members, double slowdown) {
    return slowed(auto_call(collectives::Collective::kAllToAll, bytes(sent, per_element), members), slowdown);
  };
  const auto exchange = [&](double sent, const std::vector<double>& loads, const collectives::GroupFamily& members,
                            double slowdown) {
    const auto one = [&](bool back, double per_element) {
      return by_pair(loads.size()) ? slowed(uneven_call(loads, back, token * sent * per_element, members), slowdown)
                                   : even(sent, per_element, members, slowdown);
    };
    ep_dispatch_ = one(false, there);
    ep_gradient_ = one(false, kElement);
    ep_combine_ = one(true, kElement);
  };
  if (per_place && nodes > 1 && near > 1) {
    exchange(places_of_token(model_, chosen), node_loads(rank_loads(model_, layout_), near), groups.across, during);
    ep_fan_out_ = even(ranks, there, groups.inside, by_token);
    ep_fan_in_ = even(ranks, kElement, groups.inside, by_token);
  } else if (layout_.ep > 1) {
    exchange(per_place ? ranks : copies, rank_loads(model_, layout_), expert_groups(layout_, stage_),
             per_place ? by_token : during);
  }
  if (layout_.expert_tensor() > 1) {
    const collectives::GroupFamily sharing = expert_tensor_groups(layout_, stage_);
    ep_gather_ = call(collectives::Collective::kAllGather, bytes(copies * layout_.expert_tensor(), kElement), sharing);
    ep_scatter_ =
        call(collectives::Collective::kReduceScatter, bytes(copies * layout_.expert_tensor(), kElement), sharing);
  }
}

/// Between nodes and, at the same time, inside each: the next computation waits for both. In a pair of passes the
/// computation of the other micro-batch comes in between: the next computation waits for the exchange of a layer
/// before.
void StageWriter::expert_exchange(Label label, program::CallId call, program::CallId inside) {
  if (call == kNone<program::CallId>) return;
  const program::OpId before = arrived_;
  arrived_ = out_.collective(role_, StreamId::kEp, label, program::OpClass::kEp, call, {last_compute_, before});
  if (inside != kNone<program::CallId>)
    arrived_inside_ =
        out_.collective(role_, StreamId::kTp, label, program::OpClass::kEp, inside, {last_compute_, before});
  hides_ += paired_ ? hidden_share_ : 0;
  if (hides_ < 1)
    return hidden_.fill(kNone<program::OpId>);  // streams run in order: who waits for this one waits for those
  hides_ -= 1;
  const program::OpId now = arrived_, now_inside = arrived_inside_;
  arrived_ = hidden_[0];
  arrived_inside_ = hidden_[1];
  std::copy(hidden_.begin() + 2, hidden_.end(), hidden_.begin());
  hidden_[hidden_.size() - 2] = now;
  hidden_.back() = now_inside;
}

/// What `shared` writes does not wait for the exchange under way, if shared experts compute next to it.
void StageWriter::while_tokens_travel(const std::function<void()>& shared) {
  const program::OpId across = std::exchange(arrived_, kNone<program::OpId>),
                      inside = std::exchange(arrived_inside_, kNone<program::OpId>);
  shared();
  arrived_ = across;
  arrived_inside_ = inside;
}

/// The layers with experts of one pass; where passes differ, of the one with the fewest.
std::uint32_t StageWriter::expert_layers_of_a_pass() const {
  std::uint32_t least = kNone32;
  for (std::uint32_t c = 0; c < layout_.vpp; ++c) {
    std::uint32_t with = 0;
    const std::uint32_t v = layout_.virtual_stage(stage_, c), first = first_layer_of(layout_, v);
    for (std::uint32_t l = 0; l < layers_with_mtp(layout_, model_, v); ++l)
      with += has_experts(model_, first + l) ? 1 : 0;
    if (with > 0) least = std::min(least, with);
  }
  return least == kNone32 ? 0 : least;
}

void StageWriter::expert_tensor(Label label, program::CallId call) {
  if (call == kNone<program::CallId>) return;
  arrived_ = out_.collective(role_, StreamId::kTp, label, program::OpClass::kTp, call,
                             {last_compute_, arrived_, arrived_inside_});
  arrived_inside_ = kNone<program::OpId>;
}

void StageWriter::forward_experts(std::uint32_t layer, Run run) {
  const ExpertTimes& t = times_.experts;
  const std::uint32_t in = chunk_->plan.tensor(layer, TensorPart::kMlpIn),
                      out = chunk_->plan.tensor(layer, TensorPart::kMlpOut);
  compute(Label::kNorm, t.norm);
  await_parameters(in);
  if (run == Run::kAgain) await_again(in);
  const bool shares = model_.moe.shared > 0;
  const auto shared = [&] { forward_block(t.shared, mlp_labels(), in, out, run, false); };
  if (shares && !layout_.overlap.shared_experts) shared();
  compute(Label::kRoute, t.route);
  expert_exchange(Label::kDispatch, ep_dispatch_, ep_fan_out_);
  if (shares && layout_.overlap.shared_experts) while_tokens_travel(shared);
  expert_tensor(Label::kGatherTokens, ep_gather_);
  compute(Label::kExperts, t.in + t.middle + t.out);
  expert_tensor(Label::kScatterTokens, ep_scatter_);
  expert_exchange(Label::kCombine, ep_combine_, ep_fan_in_);
  compute(Label::kCollect, t.collect);
}

void StageWriter::backward_experts(std::uint32_t layer) {
  const ExpertTimes& t = times_.experts;
  const bool splits = layout_.splits_backward();  // layer_weights() has the rest
  const std::uint32_t in = chunk_->plan.tensor(layer, TensorPart::kMlpIn),
                      out = chunk_->plan.tensor(layer, TensorPart::kMlpOut);
  compute(Label::kCollectBack, t.collect_back);
  await_again(out);
  expert_exchange(Label::kDispatchGradient, ep_gradient_, ep_fan_in_);
  expert_tensor(Label::kGatherTokens, ep_gather_);
  compute(Label::kExpertsBack, t.out_dgrad + t.middle_back + t.in_dgrad + (splits ? Duration{} : t.weights()));
  expert_tensor(Label::kScatterTokens, ep_scatter_);
  expert_exchange(Label::kCombineGradient, ep_combine_, ep_fan_in_);
  const auto shared = [&] { backward_block(t.shared, mlp_labels(), in, out); };
  if (model_.moe.shared > 0 && layout_.overlap.shared_experts) while_tokens_travel(shared);
  compute(Label::kRouteBack, t.route_back);
  if (model_.moe.shared > 0) {
    if (!layout_.overlap.shared_experts) shared();
  } else if (!splits) {
    gradient_ready(out);
    gradient_ready(in);
  }
  compute(Label::kNormBack, t.norm_back);
}

}  // namespace busbar::workload
