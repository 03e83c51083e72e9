#include "busbar/questions/flow_source.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"
#include "busbar/packet/background.h"
#include "busbar/predict/flow_sizes.h"
#include "busbar/questions/flow_trace.h"
#include "busbar/questions/question.h"

namespace busbar::questions {
namespace {

Result<NamedFlows> random_flows(const FlowSource& source, const routing::Router& router, std::uint64_t seed,
                                const std::string& catalog_directory) {
  packet::BackgroundTraffic traffic;
  traffic.flag = "--load";
  traffic.seed = seed;
  traffic.load = source.load;
  if (!(source.load > 0 && source.load < 1))
    return invalid("write a share of each host's cables above 0 and below 1, for example --load 0.6", field_of("load"));
  BUSBAR_ASSIGN(traffic.sizes, predict::read_flow_sizes(source.sizes, catalog_directory));
  const Result<Duration> until = parse_duration(source.until);
  if (!until.ok()) return invalid(until.error().message, field_of("until"));
  traffic.until = SimTime::at(*until);
  NamedFlows named;
  BUSBAR_RETURN_IF_ERROR(packet::add_background(traffic, router, named.list));
  if (named.list.flows.empty())
    return invalid("no flow starts by then; give more time or more load", field_of("until"));
  for (std::size_t f = 0; f < named.list.flows.size(); ++f) named.ids.push_back(std::to_string(f));
  return named;
}

Result<NamedFlows> read_list(const std::string& file, const std::string& groups, std::uint32_t first,
                             const spec::Cluster& cluster, const routing::Router& router) {
  return is_flow_trace(file) ? read_flow_trace(file, groups, first, cluster) : read_flow_csv(file, router, first);
}

/// Adds the flows of one more job.
void append(NamedFlows more, const std::string& file, NamedFlows& all) {
  const auto base = static_cast<std::uint32_t>(all.ids.size());
  for (std::uint32_t f = 0; f < more.ids.size(); ++f) {
    all.list.flows.push_back(more.list.flows[f]);
    all.ids.push_back(fmt::format("{}:{}", all.jobs.size(), more.ids[f]));
    for (const std::uint32_t before : more.list.after.row(f)) all.list.after.values.push_back(base + before);
    all.list.after.close_row();
  }
  if (more.list.shares != program::RateShares{}) all.list.shares = more.list.shares;
  all.jobs.push_back({file, base, all.ids.size()});
}

/// FILE or FILE@GPU.
Result<NamedFlows> read_jobs(const FlowSource& source, const spec::Cluster& cluster, const routing::Router& router) {
  NamedFlows all;
  std::vector<std::string> files{source.file};
  files.insert(files.end(), source.job.begin(), source.job.end());
  for (const std::string& text : files) {
    const std::size_t at = &text == &files.front() ? std::string::npos : text.rfind('@');
    const std::string file = text.substr(0, at);
    std::uint32_t first = 0;
    if (at != std::string::npos && !is_number(std::string_view(text).substr(at + 1), first))
      return invalid(fmt::format("'{}' is no number of a GPU; write FILE@64", text.substr(at + 1)), field_of("job"));
    BUSBAR_ASSIGN(NamedFlows more, read_list(file, source.groups, first, cluster, router));
    append(std::move(more), file, all);
  }
  return all;
}

}  // namespace

const Record& record_of(const JobEnd*) {
  static const Record record("job", {{"file", &JobEnd::file, "", "the list"},
                                     {"flows", &JobEnd::flows, "", "in it"},
                                     {"end_us", &JobEnd::end_us, "us", "of its last flow; null: it has not ended"}});
  return record;
}

std::vector<JobEnd> job_ends(const NamedFlows& named, const std::function<double(std::size_t)>& end_us) {
  std::vector<JobEnd> out;
  for (const FlowJob& job : named.jobs) {
    double end = 0;
    bool whole = true;
    for (std::size_t f = job.begin; f < job.end; ++f) {
      end = std::max(end, end_us(f));
      whole = whole && end_us(f) >= 0;
    }
    out.push_back({job.file, job.end - job.begin, whole ? std::optional(end) : std::nullopt});
  }
  return out;
}

const Record& record_of(const FlowSource*) {
  using S = FlowSource;
  const auto field = [](Field f, const char* value) { return std::move(f).of("Traffic").takes(value); };
  static const Record record(
      "flows",
      {field({"job", &S::job, "",
              "a further list or trace that runs at the same time, its rank 0 on this GPU (default 0); repeatable"},
             "FILE[@GPU]"),
       field({"groups", &S::groups, "", "Chakra traces: ranks of their groups, as JSON: {\"1\": [0, 1, 2, 3]}"},
             "FILE"),
       field({"sizes", &S::sizes, "", "random flows in place of a list: websearch, hadoop or FILE.csv (bytes,percent)"},
             "NAME"),
       field(Field("load", &S::load, "", "of each host's cables, e.g. 0.6; starts are Poisson, destinations uniform")
                 .with("sizes"),
             "SHARE"),
       field(Field("until", &S::until, "", "time of the last start (default 1ms)").with("sizes"), "TIME"),
       Field("out", &S::out, "", "write all flows, random or of traces, as a list that this command reads")
           .of("Files")
           .takes("FILE.csv")
           .undecided(),
       Field("flows", &S::file, "",
             "id,src,dst,bytes,start_ns,after[,trigger][,lane][,delay_ns], one flow per line; or a GOAL or Chakra "
             "trace (PREFIX.0.et), rank r on GPU r")
           .takes("FLOWS.csv")
           .as_word()
           .optional()});
  return record;
}

Result<NamedFlows> read_flows(const FlowSource& source, const spec::Cluster& cluster, const routing::Router& router,
                              std::uint64_t seed, const std::string& catalog_directory) {
  if (source.sizes.empty() && source.file.empty())
    return invalid("there are no flows; name a list, or write --sizes websearch --load 0.6", field_of("flows"));
  if (!source.sizes.empty() && !(source.file.empty() && source.job.empty()))
    return invalid("it generates the flows; leave out the list, or add flows to a list with --background",
                   field_of("sizes"));
  const bool of_trace = !source.job.empty() || (!source.file.empty() && is_flow_trace(source.file));
  if (!source.groups.empty() && !of_trace)
    return invalid("gives the ranks of the groups of a trace, and there is no trace; leave it out", field_of("groups"));
  BUSBAR_ASSIGN(NamedFlows named, !source.sizes.empty() ? random_flows(source, router, seed, catalog_directory)
                                  : source.job.empty()  ? read_list(source.file, source.groups, 0, cluster, router)
                                                        : read_jobs(source, cluster, router));
  named.list.reach = {cluster.gpudirect, cluster.p2p};
  return named;
}

}  // namespace busbar::questions
