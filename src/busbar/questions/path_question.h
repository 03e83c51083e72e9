// How one device reaches another: type, links in order, bottleneck, latency, and what else uses the links.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "busbar/base/record.h"
#include "busbar/questions/bound_by.h"
#include "busbar/questions/context.h"
#include "busbar/spec/cluster.h"

namespace busbar::questions {

struct PathRequest {
  std::string cluster, a, b;
  spec::Overrides machine;
  bool explain = false;
};
const Record& record_of(const PathRequest*);

struct LinkOfHop {
  std::string link;
  double share = 0;
};
const Record& record_of(const LinkOfHop*);

struct Hop {
  std::string from, to, link, kind, part;
  double GBps = 0, wire_GBps = 0, latency_ns = 0;
  Named<double> latency_parts_ns;
  std::vector<LinkOfHop> links;
};
const Record& record_of(const Hop*);

struct NamedLink {
  std::string link, part;
};
const Record& record_of(const NamedLink*);

struct PathResult {
  std::string cluster, from, to, type, nccl_type;
  std::vector<Hop> hops;
  std::optional<double> GBps, wire_GBps;
  double latency_ns = 0;
  Named<double> latency_parts_ns;
  std::vector<std::string> copied_in;
  std::optional<NamedLink> bottleneck;
  std::optional<BoundBy> bound_by;
  std::vector<std::string> shared_with;
  std::uint64_t shared_count = 0;
  std::string inputs_hash;
  // For views only:
  std::string meaning, nccl_meaning;  ///< of the types, in words
  std::string brand;                  ///< of the bottleneck: "NVLink"
};
const Record& record_of(const PathResult*);

Result<PathResult> answer(const PathRequest& request, const Context& context = {});

}  // namespace busbar::questions
