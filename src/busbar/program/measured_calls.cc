#include "busbar/program/measured_calls.h"

#include <algorithm>
#include <cmath>

namespace busbar::program {
namespace {

/// Each rank of the others sends to many ranks at once.
bool one_stream_per_rank(collectives::Collective op) {
  switch (op) {
    case collectives::Collective::kAllReduce:
    case collectives::Collective::kAllGather:
    case collectives::Collective::kReduceScatter:
    case collectives::Collective::kBroadcast:
    case collectives::Collective::kReduce:
      return true;
    default:
      return false;
  }
}

std::size_t start_of(std::size_t i) { return i * (i + 1) / 2; }

/// Replaces a positive definite matrix, by rows of its lower triangle, with its Cholesky factor.
void factorise(std::vector<double>& a, std::size_t n) {
  constexpr double kLeast = 1e-12;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a[start_of(i) + j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[start_of(i) + k] * a[start_of(j) + k];
      a[start_of(i) + j] = i == j ? std::sqrt(std::max(sum, kLeast)) : sum / a[start_of(j) + j];
    }
}

/// Solves L x = b in place.
void solve_lower(const std::vector<double>& l, std::vector<double>& b) {
  for (std::size_t i = 0; i < b.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= l[start_of(i) + k] * b[k];
    b[i] /= l[start_of(i) + i];
  }
}

/// Solves L^T x = b in place.
void solve_upper(const std::vector<double>& l, std::vector<double>& b) {
  for (std::size_t i = b.size(); i-- > 0;) {
    for (std::size_t k = i + 1; k < b.size(); ++k) b[i] -= l[start_of(k) + i] * b[k];
    b[i] /= l[start_of(i) + i];
  }
}

}  // namespace

/// The rates of NICs are one quantity of the machine, whatever uses them: set by that, because only one published
/// machine has several operations over several nodes. All others are the best of a few choices for the published
/// machines (accuracy/own_table.h).
CarryOver carry_over_in_use() {
  return {.rate = 0.5,
          .latency = 0.3,
          .curve = 0.15,
          .noise = 0.04,
          .octaves = 2.5,
          .other_way = 0.6,
          .operation = 0,
          .operation_network = 0.8,
          .across_nodes = 0.3,
          .rate_across_nodes = 0.1,
          .per_doubling_in_node = 0};
}

MeasuredCalls::MeasuredCalls(std::vector<MeasuredCall> calls, const CarryOver& carry)
    : calls_(std::move(calls)), carry_(carry) {
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) factor_.push_back(covariance(calls_[i].call, calls_[j].call));
    factor_.back() += carry_.noise * carry_.noise;
    weights_.push_back(std::log(calls_[i].us / calls_[i].modelled_us));
  }
  factorise(factor_, calls_.size());
  solve_lower(factor_, weights_);
  solve_upper(factor_, weights_);
}

/// Over NICs, measurements of some nodes hold for any number of them.
double MeasuredCalls::fewer_ranks(const CallTraits& a, const CallTraits& b) const {
  if (a.several_nodes || b.several_nodes || a.ranks == b.ranks) return 1;
  return std::pow(carry_.per_doubling_in_node, std::abs(std::log2(static_cast<double>(a.ranks) / b.ranks)));
}

double MeasuredCalls::rate_covariance(const CallTraits& a, const CallTraits& b) const {
  double shared = fewer_ranks(a, b) * (a.several_nodes == b.several_nodes ? 1 : carry_.rate_across_nodes);
  const bool streams = a.several_nodes && b.several_nodes && one_stream_per_rank(a.op) && one_stream_per_rank(b.op);
  if (a.op != b.op) shared *= streams ? carry_.operation_network : carry_.operation;
  const double both = a.bytes_share * b.bytes_share;  // squared: calls that bytes half bound tell little about rates
  return carry_.rate * carry_.rate * both * both * shared;
}

double MeasuredCalls::latency_covariance(const CallTraits& a, const CallTraits& b) const {
  const double shared = fewer_ranks(a, b) * (a.several_nodes == b.several_nodes ? 1 : carry_.across_nodes) *
                        (a.op == b.op ? 1 : carry_.operation);
  return carry_.latency * carry_.latency * (1 - a.bytes_share) * (1 - b.bytes_share) * shared;
}

double MeasuredCalls::curve_covariance(const CallTraits& a, const CallTraits& b) const {
  const double apart = std::log2(std::max(a.bytes, 1.0) / std::max(b.bytes, 1.0)) / carry_.octaves;
  const double shared = fewer_ranks(a, b) * (a.several_nodes == b.several_nodes ? 1 : carry_.across_nodes) *
                        (a.op == b.op ? 1 : carry_.operation) * (a.way == b.way ? 1 : carry_.other_way);
  return carry_.curve * carry_.curve * std::exp(-apart * apart / 2) * shared;
}

double MeasuredCalls::covariance(const CallTraits& a, const CallTraits& b) const {
  return rate_covariance(a, b) + latency_covariance(a, b) + curve_covariance(a, b);
}

double MeasuredCalls::ln_factor(const CallTraits& call) const {
  double out = 0;
  for (std::size_t i = 0; i < calls_.size(); ++i) out += weights_[i] * covariance(call, calls_[i].call);
  return out;
}

/// `with_calls`: covariance with each measured call. Sigma here is without noise.
MeasuredCalls::Estimate MeasuredCalls::estimate(const std::vector<double>& with_calls, double prior) const {
  Estimate out;
  for (std::size_t i = 0; i < calls_.size(); ++i) out.ln_factor += weights_[i] * with_calls[i];
  std::vector<double> v = with_calls;
  solve_lower(factor_, v);
  double left = prior;
  for (const double x : v) left -= x * x;
  out.known = prior > 0 ? std::clamp(1 - left / prior, 0.0, 1.0) : 0;
  out.sigma = std::sqrt(std::max(0.0, left));
  return out;
}

MeasuredCalls::Estimate MeasuredCalls::at(const CallTraits& call) const {
  std::vector<double> with_calls;
  for (const MeasuredCall& m : calls_) with_calls.push_back(covariance(call, m.call));
  Estimate out = estimate(with_calls, covariance(call, call));
  out.sigma = std::sqrt(out.sigma * out.sigma + carry_.noise * carry_.noise);  // hypot() needs a newer glibc
  return out;
}

MeasuredCalls::Quantity MeasuredCalls::quantity(const CallTraits& call, Covariance part) const {
  std::vector<double> with_calls;
  for (const MeasuredCall& m : calls_) with_calls.push_back((this->*part)(call, m.call));
  const Estimate e = estimate(with_calls, (this->*part)(call, call));
  return {e.ln_factor, e.sigma};
}

MeasuredCalls::Quantity MeasuredCalls::rates(collectives::Collective op, std::uint32_t ranks,
                                             bool several_nodes) const {
  return quantity({op, ranks, several_nodes, "", 1, 1}, &MeasuredCalls::rate_covariance);
}

MeasuredCalls::Quantity MeasuredCalls::latencies(collectives::Collective op, std::uint32_t ranks,
                                                 bool several_nodes) const {
  return quantity({op, ranks, several_nodes, "", 1, 0}, &MeasuredCalls::latency_covariance);
}

}  // namespace busbar::program
