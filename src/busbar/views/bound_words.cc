#include "busbar/views/bound_words.h"

#include <fmt/core.h>

#include "busbar/questions/bound_by.h"

namespace busbar::views {
namespace {

const char* word_of(lowering::BoundKind k) { return k == lowering::BoundKind::kBandwidth ? "bandwidth" : "latency"; }

}  // namespace

std::string bound_to_text(const lowering::Bound& b, const topology::Topology& t) {
  if (b.link == kNone<topology::LinkId>) return "nothing: no data is sent";
  return fmt::format("the {} of {} ({}, {})", word_of(b.kind), questions::brand_of(t.link_class(b.link)),
                     questions::part_of(t, b.link), t.name(b.link));
}

std::string bound_in_short(const lowering::Bound& b, const topology::Topology& t) {
  return b.link == kNone<topology::LinkId> ? "-"
                                           : fmt::format("{}, {}", word_of(b.kind), questions::part_of(t, b.link));
}

}  // namespace busbar::views
