// Sends of rings that begin and end together: what is alike all around is followed once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace busbar::lowering {

/// What one edge of a ring sends over, each link once.
struct SendOver {
  double latency_ps = 0, bytes = 0;  ///< bytes: of all rounds
  std::uint32_t rounds = 0;
  std::uint32_t previous = 0;  ///< the edge whose pieces this one passes on
  std::vector<std::uint32_t> links;
  std::vector<double> weights;  ///< one per link
};

/// The coarsest division of edges and links into classes such that two edges of a class have equal latency, bytes,
/// rounds, previous edges of one class, and the same weights on links of the same classes; two links of a class have
/// equal capacity and carry the same weights of edges of the same classes. Edges of a class then start and end at the
/// same times, as do all links of a class fill alike, since both hold when nothing is sent and every event keeps them.
///
/// Source: colour refinement (Weisfeiler and Leman 1968); classes are told apart by 64-bit hashes of what they compare.
/// Cost:   rounds of refinement (at most the length of a ring) x (edges + crossings).
struct SendClasses {
  std::vector<std::uint32_t> of;     ///< per edge: its class, numbered in order of their first edges
  std::vector<std::uint32_t> first;  ///< per class: its first edge
  std::vector<double> capacity;      ///< per class of links
  /// Per class of edges: the classes of links it crosses, and what all its edges together weigh on one such link.
  std::vector<std::vector<std::uint32_t>> links;
  std::vector<std::vector<double>> weights;
};

/// `classes` false: each edge and link is a class of its own. Pre: a ring's edges lead around by `previous`.
SendClasses send_classes(std::span<const SendOver> edges, std::span<const double> capacity, bool classes = true);

}  // namespace busbar::lowering
