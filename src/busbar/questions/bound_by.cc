#include "busbar/questions/bound_by.h"

namespace busbar::questions {

const Record& record_of(const BoundBy*) {
  static const Record record("bound_by",
                             {{"link", &BoundBy::link, "", "the link that limits"},
                              {"class", &BoundBy::part, "", "its part: ndr 4x"},
                              {"phase", &BoundBy::phase, "", "of the schedule"},
                              {"kind", &BoundBy::kind, "", "bandwidth or latency"},
                              Field("cause", &BoundBy::cause, "", "why, where it is not a link").or_absent()});
  return record;
}

BoundBy bound_result(const lowering::Bound& b, const topology::Topology& t) {
  if (b.link == kNone<topology::LinkId>) return {{}, {}, b.phase, {}, {}};
  return {t.name(b.link),
          part_of(t, b.link),
          b.phase,
          b.kind == lowering::BoundKind::kBandwidth ? "bandwidth" : "latency",
          {}};
}

std::string part_of(const topology::Topology& t, topology::LinkId link) {
  const topology::LinkClass& c = t.link_class(link);
  return c.part.empty() ? topology::name_of(c.kind) : c.part;
}

std::string brand_of(const topology::LinkClass& link) {
  if (!link.brand.empty()) return link.brand;
  switch (link.kind) {
    case topology::LinkKind::kNvlink:
      return "NVLink";
    case topology::LinkKind::kXgmi:
      return "xGMI";
    case topology::LinkKind::kIci:
      return "ICI";
    case topology::LinkKind::kC2c:
      return "NVLink-C2C";
    case topology::LinkKind::kPcie:
      return "PCIe";
    case topology::LinkKind::kSocket:
      return "the link between CPUs";
    case topology::LinkKind::kHost:
      return "host memory";
    case topology::LinkKind::kInfiniband:
      return "InfiniBand";
    case topology::LinkKind::kEthernet:
      return "Ethernet";
    case topology::LinkKind::kIdeal:
      break;
  }
  return "network";
}

}  // namespace busbar::questions
