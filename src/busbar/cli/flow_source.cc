#include "busbar/cli/flow_source.h"

#include <fmt/core.h>

#include "busbar/base/output.h"
#include "busbar/base/quantity.h"
#include "busbar/cli/flow_sizes.h"
#include "busbar/packet/background.h"

namespace busbar {
namespace {

Result<NamedFlows> random_flows(const FlowSource& source, const Router& router, std::uint64_t seed,
                                const std::string& catalog_directory) {
  BackgroundTraffic traffic;
  traffic.flag = "--load";
  traffic.seed = seed;
  traffic.load = source.load;
  if (!(source.load > 0 && source.load < 1))
    return flag_error("--load", "write a share of each host's cables above 0 and below 1, for example --load 0.6");
  BUSBAR_ASSIGN(traffic.sizes, read_flow_sizes(source.sizes, catalog_directory));
  const Result<Duration> until = parse_duration(source.until);
  if (!until.ok()) return flag_error("--until", until.error().message);
  traffic.until = SimTime::at(*until);
  NamedFlows named;
  BUSBAR_RETURN_IF_ERROR(add_background(traffic, router, named.list));
  if (named.list.flows.empty()) return flag_error("--until", "no flow starts by then; give more time or more load");
  for (std::size_t f = 0; f < named.list.flows.size(); ++f) named.ids.push_back(std::to_string(f));
  return named;
}

}  // namespace

std::vector<Flag> flow_source_flags(FlowSource& source) {
  return {{"--sizes", "NAME", "random flows in place of a list: websearch, hadoop or FILE.csv (bytes,percent)",
           "Traffic", &source.sizes},
          {"--load",
           "SHARE",
           "of each host's cables, e.g. 0.6; starts are Poisson, destinations uniform",
           "Traffic",
           &source.load,
           {},
           "--sizes"},
          {"--until", "TIME", "time of the last start (default 1ms)", "Traffic", &source.until, {}, "--sizes"},
          {"--out",
           "FILE.csv",
           "write the random flows as a list that this command reads",
           "Files",
           &source.out,
           {},
           "--sizes"}};
}

Result<NamedFlows> read_flows(const FlowSource& source, const Router& router, std::uint64_t seed,
                              const std::string& catalog_directory) {
  if (source.sizes.empty() && source.file.empty())
    return invalid("there are no flows; name a list, or write --sizes websearch --load 0.6", {"", 0, 0, "FLOWS.csv"});
  if (source.sizes.empty()) return read_flow_csv(source.file, router);
  if (!source.file.empty())
    return flag_error("--sizes", "it makes the flows, so it goes with no list; --background adds flows to a list");
  BUSBAR_ASSIGN(NamedFlows named, random_flows(source, router, seed, catalog_directory));
  if (!source.out.empty()) BUSBAR_RETURN_IF_ERROR(write_file(source.out, write_flow_csv(named.list, router)));
  return named;
}

}  // namespace busbar
