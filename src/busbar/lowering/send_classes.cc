#include "busbar/lowering/internal/send_classes.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "busbar/base/random.h"

namespace busbar::lowering {
namespace {

using Colours = std::vector<std::uint64_t>;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) { return mix64(a ^ mix64(b)); }
std::uint64_t mix(std::uint64_t a, double b) { return mix(a, std::bit_cast<std::uint64_t>(b)); }

std::size_t distinct(const Colours& colours) {
  return std::unordered_set<std::uint64_t>(colours.begin(), colours.end()).size();
}

/// What edges weigh on links: per edge its links, each with the weight as a hash.
struct Crossings {
  explicit Crossings(std::span<const SendOver> edges) {
    for (const SendOver& e : edges) {
      links.insert(links.end(), e.links.begin(), e.links.end());
      for (const double w : e.weights) weights.push_back(mix64(std::bit_cast<std::uint64_t>(w)));
      end.push_back(links.size());
    }
  }
  std::vector<std::uint32_t> links;
  Colours weights;
  std::vector<std::size_t> end;
};

/// One round of refinement; sums are of what is unordered.
void refine(std::span<const SendOver> edges, const Crossings& over, Colours& of_edges, Colours& of_links) {
  Colours on_links(of_links.size()), next(edges.size());
  for (std::size_t e = 0, k = 0; e < edges.size(); ++e) {
    std::uint64_t sum = 0;
    for (; k < over.end[e]; ++k) {
      on_links[over.links[k]] += mix64(of_edges[e] ^ over.weights[k]);
      sum += mix64(of_links[over.links[k]] ^ over.weights[k]);
    }
    next[e] = mix(mix(of_edges[e], of_edges[edges[e].previous]), sum);
  }
  for (std::size_t l = 0; l < of_links.size(); ++l) of_links[l] = mix(of_links[l], on_links[l]);
  of_edges = std::move(next);
}

/// Per item the number of its colour, in order of first items.
std::vector<std::uint32_t> numbered(const Colours& colours, std::vector<std::uint32_t>& first) {
  std::unordered_map<std::uint64_t, std::uint32_t> number;
  std::vector<std::uint32_t> out;
  for (const std::uint64_t c : colours) {
    const auto [it, fresh] = number.emplace(c, static_cast<std::uint32_t>(number.size()));
    if (fresh) first.push_back(static_cast<std::uint32_t>(out.size()));
    out.push_back(it->second);
  }
  return out;
}

}  // namespace

SendClasses send_classes(std::span<const SendOver> edges, std::span<const double> capacity, bool classes) {
  Colours of_edges, of_links;
  for (const SendOver& e : edges) of_edges.push_back(mix(mix(mix64(e.rounds), e.latency_ps), e.bytes));
  for (const double c : capacity) of_links.push_back(mix(1, c));
  // Counting colours costs more than a round, so rounds between two counts double.
  const Crossings over(edges);
  std::size_t known = 0, now = distinct(of_edges) + distinct(of_links);
  for (std::size_t rounds = 1; classes && now > known; rounds *= 2) {
    for (std::size_t i = 0; i < rounds; ++i) refine(edges, over, of_edges, of_links);
    known = std::exchange(now, distinct(of_edges) + distinct(of_links));
  }
  if (!classes) {
    std::iota(of_edges.begin(), of_edges.end(), 0);
    std::iota(of_links.begin(), of_links.end(), 0);
  }

  SendClasses out;
  std::vector<std::uint32_t> first_links;
  out.of = numbered(of_edges, out.first);
  const std::vector<std::uint32_t> class_of_link = numbered(of_links, first_links);
  for (const std::uint32_t l : first_links) out.capacity.push_back(capacity[l]);
  out.links.resize(out.first.size());
  out.weights.resize(out.first.size());
  for (std::size_t e = 0; e < edges.size(); ++e)
    for (std::size_t k = 0; k < edges[e].links.size(); ++k) {
      const std::uint32_t l = edges[e].links[k], at = class_of_link[l];
      if (first_links[at] != l) continue;
      std::vector<std::uint32_t>& links = out.links[out.of[e]];
      const auto it = std::find(links.begin(), links.end(), at);
      if (it == links.end()) {
        links.push_back(at);
        out.weights[out.of[e]].push_back(edges[e].weights[k]);
      } else {
        out.weights[out.of[e]][static_cast<std::size_t>(it - links.begin())] += edges[e].weights[k];
      }
    }
  return out;
}

}  // namespace busbar::lowering
