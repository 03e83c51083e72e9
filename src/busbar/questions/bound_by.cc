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

BoundBy bound_result(const Bound& b, const Topology& t) {
  if (b.link == kNone<LinkId>) return {{}, {}, b.phase, {}, {}};
  return {t.name(b.link), part_of(t, b.link), b.phase, b.kind == BoundKind::kBandwidth ? "bandwidth" : "latency", {}};
}

std::string part_of(const Topology& t, LinkId link) {
  const LinkClass& c = t.link_class(link);
  return c.part.empty() ? name_of(c.kind) : c.part;
}

std::string brand_of(const LinkClass& link) {
  if (!link.brand.empty()) return link.brand;
  switch (link.kind) {
    case LinkKind::kNvlink:
      return "NVLink";
    case LinkKind::kXgmi:
      return "xGMI";
    case LinkKind::kIci:
      return "ICI";
    case LinkKind::kC2c:
      return "NVLink-C2C";
    case LinkKind::kPcie:
      return "PCIe";
    case LinkKind::kSocket:
      return "the link between CPUs";
    case LinkKind::kHost:
      return "host memory";
    case LinkKind::kInfiniband:
      return "InfiniBand";
    case LinkKind::kEthernet:
      return "Ethernet";
    case LinkKind::kIdeal:
      break;
  }
  return "network";
}

}  // namespace busbar::questions
