#include "busbar/workload/internal/layer_split.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace busbar::workload {
namespace {

using Counts = std::vector<std::uint32_t>;

constexpr double kRounding = 1e-9;  // of (n + head) - head

std::uint64_t sum(const Counts& counts) { return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}); }

/// A chunk between the ends without layers would have no work.
Status check_middle(const LayoutSpec& l, const Counts& counts) {
  for (std::size_t c = 1; c + 1 < counts.size(); ++c) {
    if (counts[c] > 0) continue;
    return invalid(fmt::format("model chunk {} would have no layer, embedding or head", c),
                   l.place(l.split.chunk_layers.empty() ? (l.vpp > 1 ? "vpp" : "pp") : "chunk_layers"));
  }
  return {};
}

Status check_given(const LayoutSpec& l, const ModelSpec& m) {
  if (l.split.chunk_layers.size() != l.chunks()) {
    return invalid(fmt::format("{} numbers for pp {} x vpp {} = {} model chunks", l.split.chunk_layers.size(), l.pp,
                               l.vpp, l.chunks()),
                   l.place("chunk_layers"));
  }
  if (sum(l.split.chunk_layers) != m.layers) {
    return invalid(
        fmt::format("the numbers sum to {}, but {} has {} layers", sum(l.split.chunk_layers), m.name, m.layers),
        l.place("chunk_layers"));
  }
  return check_middle(l, l.split.chunk_layers);
}

Status check_ends(const LayoutSpec& l, const ModelSpec& m) {
  const std::uint64_t ends = std::uint64_t{l.split.first_layers} + l.split.last_layers;
  const Where where = l.place(l.split.first_layers > 0 ? "first_layers" : "last_layers");
  if (ends == 0) return {};
  if (l.chunks() < 2) {
    return invalid("there is one model chunk, which takes all layers; set pp or leave first_layers and last_layers out",
                   where);
  }
  if (ends >= m.layers) {
    return invalid(fmt::format("first_layers {} and last_layers {} leave no layer of {} for other chunks",
                               l.split.first_layers, l.split.last_layers, m.layers),
                   where);
  }
  return {};
}

/// The most layers that fit into each open chunk at `longest` (in layers at speed 1), the head counted in the last one.
Counts at_most(const std::vector<double>& speeds, double longest, double head) {
  Counts counts;
  for (const double speed : speeds) counts.push_back(static_cast<std::uint32_t>(longest * speed + kRounding));
  counts.back() = static_cast<std::uint32_t>(std::max(0.0, std::floor(longest * speeds.back() - head + kRounding)));
  return counts;
}

/// `layers` over chunks of these speeds, of which the last has a head: the longest chunk is as short as possible.
Counts by_cost(std::uint32_t layers, const std::vector<double>& speeds, double head) {
  const auto chunks = static_cast<std::uint32_t>(speeds.size());
  // The longest chunk is a whole number of layers, or the last one with its head.
  std::vector<double> candidates, different = speeds;
  std::sort(different.begin(), different.end());
  different.erase(std::unique(different.begin(), different.end()), different.end());
  for (std::uint32_t n = 0; n <= layers; ++n) {
    for (const double speed : different) candidates.push_back(n / speed);
    candidates.push_back((n + head) / speeds.back());
  }
  std::sort(candidates.begin(), candidates.end());
  const auto fits = [&](double longest) { return sum(at_most(speeds, longest, head)) >= layers; };
  const double longest =
      *std::partition_point(candidates.begin(), candidates.end(), [&](double c) { return !fits(c); });
  Counts counts = at_most(speeds, longest, head);
  // What is too many goes from the ends inwards, the first chunk before the last: it has the embedding.
  std::uint64_t extra = sum(counts) - layers;
  for (std::uint32_t i = 0; extra > 0; i = (i + 1) % chunks) {
    std::uint32_t& count = counts[i % 2 == 0 ? i / 2 : chunks - 1 - i / 2];
    if (count == 0) continue;
    --count;
    --extra;
  }
  return counts;
}

/// Layers and one place each for embedding and head, divided evenly.
Result<Counts> with_places(const LayoutSpec& l, const ModelSpec& m) {
  const std::uint32_t places = m.layers + (l.split.embedding_as_layer ? 1 : 0) + (l.split.head_as_layer ? 1 : 0);
  if (places % l.chunks() != 0 || l.split.first_layers + l.split.last_layers > 0) {
    return invalid(fmt::format("{} layers with {} are not {} equal chunks; leave embedding_as_layer and head_as_layer "
                               "out to cut by cost, or give chunk_layers",
                               m.layers, places - m.layers == 2 ? "embedding and head" : "one more", l.chunks()),
                   l.place(l.split.embedding_as_layer ? "embedding_as_layer" : "head_as_layer"));
  }
  Counts counts(l.chunks(), places / l.chunks());
  if (l.split.embedding_as_layer) --counts.front();
  if (l.split.head_as_layer) --counts.back();
  return counts;
}

/// Of the chunks between the first and the last one, where these have numbers of their own.
std::vector<double> open_speeds(const LayoutSpec& l, std::uint32_t first, std::uint32_t count) {
  std::vector<double> out(count, 1);
  if (!l.stage_speed.empty())
    for (std::uint32_t c = 0; c < count; ++c) out[c] = l.stage_speed[l.stage_of(first + c)];
  return out;
}

}  // namespace

double head_in_layers(const ModelSpec& m, std::uint32_t seq) {
  ModelSpec bare = m;
  bare.layers = 0;
  const double head = flops_per_token(bare, seq).causal, all = flops_per_token(m, seq).causal;
  return head * m.layers / (all - head);
}

std::uint32_t first_layer_of(const LayoutSpec& l, std::uint32_t chunk) {
  return std::accumulate(l.split.chunk_layers.begin(), l.split.chunk_layers.begin() + chunk, 0u);
}

std::uint32_t layers_with_mtp(const LayoutSpec& l, const ModelSpec& m, std::uint32_t chunk) {
  return l.split.chunk_layers[chunk] + (chunk + 1 == l.chunks() ? m.mtp : 0);
}

Result<Counts> split_layers(const LayoutSpec& l, const ModelSpec& m) {
  if (!l.split.chunk_layers.empty()) {
    BUSBAR_RETURN_IF_ERROR(check_given(l, m));
    return l.split.chunk_layers;
  }
  BUSBAR_RETURN_IF_ERROR(check_ends(l, m));
  const std::uint32_t chunks = l.chunks();
  if (std::uint64_t{l.pp} * l.vpp > std::uint64_t{m.layers} + 2) {
    return invalid(fmt::format("{} layers cannot be cut into pp {} x vpp {} = {} model chunks; lower one of them",
                               m.layers, l.pp, l.vpp, std::uint64_t{l.pp} * l.vpp),
                   l.place(l.vpp > 1 ? "vpp" : "pp"));
  }
  if (l.split.embedding_as_layer || l.split.head_as_layer) return with_places(l, m);
  const std::uint32_t fixed = (l.split.first_layers > 0 ? 1 : 0) + (l.split.last_layers > 0 ? 1 : 0);
  const std::uint32_t open = chunks - fixed, rest = m.layers - l.split.first_layers - l.split.last_layers;
  Counts counts;
  if (open == 0 && rest > 0) {
    return invalid(fmt::format("first_layers {} and last_layers {} are not the {} layers", l.split.first_layers,
                               l.split.last_layers, m.layers),
                   l.place("first_layers"));
  }
  if (open > 0) {
    const std::vector<double> speeds = open_speeds(l, l.split.first_layers > 0 ? 1 : 0, open);
    const bool alike = std::equal(speeds.begin() + 1, speeds.end(), speeds.begin());
    counts = alike && rest % open == 0 && !l.split.balanced
                 ? Counts(open, rest / open)
                 : by_cost(rest, speeds, l.split.last_layers > 0 ? 0 : head_in_layers(m, l.batch.seq));
  }
  if (l.split.first_layers > 0) counts.insert(counts.begin(), l.split.first_layers);
  if (l.split.last_layers > 0) counts.push_back(l.split.last_layers);
  BUSBAR_RETURN_IF_ERROR(check_middle(l, counts));
  return counts;
}

std::string chunk_layers_text(const LayoutSpec& layout) {
  const Counts& counts = layout.split.chunk_layers;
  std::string text;
  for (std::size_t i = 0, end = 0; i < counts.size(); i = end) {
    while (end < counts.size() && counts[end] == counts[i]) ++end;
    text += i == 0 ? "" : ", ";
    text += end - i > 1 ? fmt::format("{} x {}", end - i, counts[i]) : fmt::format("{}", counts[i]);
  }
  return text;
}

}  // namespace busbar::workload
