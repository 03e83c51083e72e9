// The fields of a request about flows, and of the result of fluids.
#include <algorithm>
#include <utility>

#include "busbar/questions/flows_question.h"
#include "busbar/questions/machine_request.h"

namespace busbar::questions {
namespace {

/// The field `name` of `fields`, which no longer have it.
Field taken(std::vector<Field>& fields, const char* name) {
  const auto at = std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.name == name; });
  Field out = std::move(*at);
  fields.erase(at);
  return out;
}

/// The choice of paths, which fluids make too.
Field paths_field(Field lb) {
  lb.meaning = "ecmp (one path per flow, by hash), spray, adaptive, or (packets only) flowlet; default: the cluster's";
  return std::move(lb).of("Machine").among({"ecmp", "spray", "adaptive", "flowlet"});
}

std::vector<Field> request_fields() {
  using Q = FlowsRequest;
  std::vector<Field> packets = fields_inside(&Q::packets), source = fields_inside(&Q::source);
  Field lb = paths_field(taken(packets, "lb")), list = taken(source, "flows");
  return joined({{std::move(lb),
                  Field("seed", &Q::seed, "", "seed of the hash of paths, and of random flows (default: the cluster's)")
                      .takes("N")
                      .of("Machine"),
                  Field("cdf", &Q::cdf, "", "write the distribution of completion times: fct_us,percent,slowdown,bytes")
                      .takes("FILE.csv")
                      .of("Files")
                      .undecided(),
                  Field("links", &Q::links, "", "number of links to list, fullest first (default 1000)")
                      .takes("N")
                      .of("Output")
                      .with("--json")
                      .undecided()},
                 std::move(source),
                 std::move(packets),
                 fields_inside(&Q::watch),
                 fields_inside(&Q::extras),
                 {cluster_field(&Q::cluster)},
                 {std::move(list)},
                 {engine_field(&Q::engine, Engines::kAll)},
                 fields_inside(&Q::machine),
                 {explain_field(&Q::explain), Field("page", &Q::page, "", "keep what only the pictures of a page need")
                                                  .of("Output")
                                                  .filled_in(Field::Told::kPage)
                                                  .undecided()}});
}

}  // namespace

const Record& record_of(const FlowsRequest*) {
  static const Record record("flows request", request_fields());
  return record;
}

const Record& record_of(const FctSummary*) {
  static const Record record("times", {{"min", &FctSummary::min, "us", "the shortest"},
                                       {"p50", &FctSummary::p50, "us", "half of them are below"},
                                       {"p99", &FctSummary::p99, "us", "99 of 100 are below"},
                                       {"max", &FctSummary::max, "us", "the longest"}});
  return record;
}

const Record& record_of(const FluidParts*) {
  static const Record record("parts", {{"latency", &FluidParts::latency, "us", "of the links on its path"},
                                       {"transfer", &FluidParts::transfer, "us", "its bytes alone"},
                                       {"sharing", &FluidParts::sharing, "us", "what others cost it"}});
  return record;
}

const Record& record_of(const FluidRow*) {
  using F = FluidRow;
  static const Record record("flow", {{"id", &F::id, "", "as in the list"},
                                      {"bytes", &F::bytes, "bytes", "of its payload"},
                                      {"start_us", &F::start_us, "us", "when it began; null: it has not ended"},
                                      {"fct_us", &F::fct_us, "us", "from start to arrival"},
                                      {"parts_us", &F::parts_us, "us", "parts that sum to its time"},
                                      {"held_by", &F::held_by, "", "the link that set its rate at the end"}});
  return record;
}

const Record& record_of(const FluidLink*) {
  using L = FluidLink;
  static const Record record("link", {{"link", &L::link, "", "its name"},
                                      {"bytes", &L::bytes, "bytes", "that it carried"},
                                      {"flows", &L::flows, "", "that crossed it"},
                                      {"mean_use_percent", &L::mean_use_percent, "%", "of the time of the run"}});
  return record;
}

const Record& record_of(const FluidResult*) {
  using R = FluidResult;
  static const Record record("flows",
                             {{"cluster", &R::cluster, "", "name of the machine"},
                              {"engine", &R::engine, "", "flow"},
                              {"inputs_hash", &R::inputs_hash, "", "of everything that the result depends on"},
                              {"makespan_us", &R::makespan_us, "us", "until the last flow ends"},
                              {"floor_us", &R::floor_us, "us", "busy time of the fullest link at wire rate"},
                              {"fct_us", &R::fct_us, "us", "flow completion times"},
                              {"bound_by", &R::bound_by, "", "of the flow that ends last"},
                              {"band_percent", &R::band_percent, "%", "measured times are within: low, high"},
                              {"band_basis", &R::band_basis, "", "what the band was measured on"},
                              {"events", &R::events, "", "of the engine"},
                              {"rate_changes", &R::rate_changes, "", "of flows"},
                              {"flows_done", &R::flows_done, "", "flows that have ended"},
                              {"complete", &R::complete, "", "all flows have ended"},
                              Field("warning", &R::warning, "", "the time is below the floor").or_absent(),
                              Field("assumptions", &R::assumptions, "", "about the machine").or_absent(),
                              {"fct_cdf", &R::fct_cdf, "", "cumulative distribution"},
                              {"fct_by_size", &R::fct_by_size, "", "by class of sizes"},
                              Field("penalties", &R::penalties, "", "of a transport").or_absent(),
                              Field("fct_with_penalties_us", &R::fct_with_penalties_us, "us", "with them").or_absent(),
                              Field("jobs", &R::jobs, "", "if there are several").or_absent(),
                              Field("flows", &R::flows, "", "in the order of the list").by_rows(),
                              {"links", &R::links, "", "fullest first"},
                              {"links_used", &R::links_used, "", "links that carried something"},
                              Field("shortcuts", &R::shortcuts, "", "that the answer took").or_absent()});
  return record;
}

}  // namespace busbar::questions
