// One lane of a product of catalog/links.
#pragma once

#include "busbar/spec/reading.h"
#include "busbar/topology/link.h"

namespace busbar::spec {

struct LinkLane {
  topology::LinkClass link;
  YamlNode file;
};
Result<LinkLane> read_lane_file(const YamlNode& file);
/// `name`: an entry of catalog/links, or a map as in its files.
Result<LinkLane> read_lane(const YamlNode& name, Reading& reading);

}  // namespace busbar::spec
