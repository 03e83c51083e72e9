// Predictions are those that a person last approved. BUSBAR_UPDATE=1 writes them again; a change that is meant is
// listed in CHANGES.md under "Results change".
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "busbar/predict/predict_options.h"
#include "busbar/predict/test_corpus.h"

namespace busbar::predict {
namespace {

using corpus::ps;

/// Ten digits: processors round the last ones in different ways.
std::string digits(double value) { return fmt::format("{:.10g}", value); }

std::string text_of(const lowering::Bound& bound, const topology::Topology& t) {
  return fmt::format("{}, {}, {}", bound.link == kNone<topology::LinkId> ? "no link" : t.name(bound.link), bound.phase,
                     bound.kind == lowering::BoundKind::kLatency ? "latency" : "bandwidth");
}

std::string member(std::uint32_t m) { return m == kNone32 ? "-" : std::to_string(m); }

/// Everything that a prediction says, one fact per line.
std::string text_of(const Prediction& p, const topology::Topology& t) {
  std::string out = fmt::format("  {} ps: {}, {} channels, {} chunks, {}; {}\n", digits(ps(p.time)), how_of(p),
                                p.channels, p.chunks, name_of(p.chosen_by), text_of(p.bound, t));
  if (!p.cause.empty()) out += "  cause: " + p.cause + "\n";
  if (p.host_wait.in_ps() > 0) out += fmt::format("  host: {} ps\n", digits(ps(p.host_wait)));
  out += fmt::format("  floor: {} ps, {}, {}; of the algorithm {} ps\n", digits(ps(p.floor.time)),
                     floors::name_of(p.floor.kind), p.floor.cut, digits(ps(p.algorithm_floor)));
  if (!p.band.basis.empty()) out += "  band: " + words_of(p.band) + "\n";
  p.simplified.for_each(
      [&](lowering::Simplification s) { out += fmt::format("  simplified: {}\n", lowering::effect_of(s).words); });
  for (const choice::Relief& r : p.relief)
    out += fmt::format("  {}: {} %, at most {} %, then {}\n", r.what, digits(r.gain_percent), digits(r.most_percent),
                       r.next ? text_of(*r.next, t) : "?");
  for (const lowering::ChainPart& c : p.chain)
    out += fmt::format("  {} {}, {} to {}, rounds {} + {}, {}: {} ps\n", lowering::name_of(c.kind), c.phase,
                       member(c.from), member(c.to), c.first_round, c.rounds,
                       c.link == kNone<topology::LinkId> ? "no link" : t.name(c.link), digits(c.ps));
  if (p.made)
    out += fmt::format("  made {}, {} {} ps, ring {} ps\n", p.made->what, p.made->textbook,
                       digits(ps(p.made->textbook_time)), p.made->ring_time ? digits(ps(*p.made->ring_time)) : "?");
  if (p.jitter) out += "  " + jitter_to_text(*p.jitter, p.time) + "\n";
  if (p.p99) out += fmt::format("  p99 {} ps\n", digits(ps(*p.p99)));
  if (p.jobs.size() > 1)
    for (const Duration d : p.jobs) out += fmt::format("  job {} ps\n", digits(ps(d)));
  return out;
}

struct Asked {
  corpus::Machine machine;
  collectives::Collective op = collectives::Collective::kAllReduce;
  std::uint64_t bytes = 16 << 20;
  std::string algorithm = "auto";
  PredictOptions options{};
  TimeAsk ask{.explain = true};
  std::uint32_t ranks = 0;  ///< 0: all
  program::Protocol protocol = program::Protocol::kAuto;
  std::uint32_t channels = 0, chunks = 0;  ///< 0: chosen
  bool host_memory = false;
  std::optional<NetworkPenalty> penalty{};
};

std::string text_of(const Asked& a, const AccuracyTable& accuracy) {
  std::string name =
      fmt::format("{}, {} of {} B, {}", a.machine.cluster, collectives::name_of(a.op), a.bytes, a.algorithm);
  for (const auto* list : {&a.machine.degrade, &a.machine.fail, &a.machine.jitter, &a.options.env})
    for (const std::string& word : *list) name += ", " + word;
  for (const std::string* word : {&a.machine.engine, &a.options.nccl, &a.options.launch})
    if (!word->empty()) name += ", " + *word;
  if (a.ask.jobs > 1) name += fmt::format(", {} jobs", a.ask.jobs);
  for (const auto& [n, what] : {std::pair(a.ranks, "ranks"), {a.channels, "channels"}, {a.chunks, "chunks"}})
    if (n > 0) name += fmt::format(", {} {}", n, what);
  if (a.protocol != program::Protocol::kAuto) name += fmt::format(", {}", program::name_of(a.protocol));
  if (a.host_memory) name += ", with host memory";
  if (a.penalty) name += ", over " + a.penalty->transport;
  spec::Overrides overrides;
  overrides.degrade = a.machine.degrade;
  overrides.fail = a.machine.fail;
  spec::Cluster c = spec::load_cluster(a.machine.cluster, overrides).value();
  PredictPolicy policy{.engine = a.machine.engine};
  policy.delays = parse_jitter(a.machine.jitter, c.topology).value();
  policy.accuracy = &accuracy;
  policy.host_memory = a.host_memory;
  policy.penalty = a.penalty;
  if (const Status read = read_predict_options(a.options, spec::Catalog(""), policy); !read.ok())
    return name + "\n  " + read.error().text() + "\n";
  const auto m = Predictor::make(std::move(c), {}, std::move(policy)).value();
  program::CollectiveCall call = call_over(a.op, Bytes{a.bytes}, a.ranks > 0 ? a.ranks : m->ranks());
  call.algorithm = a.algorithm;
  call.protocol = a.protocol;
  call.channels = a.channels;
  call.chunks = a.chunks;
  const auto p = m->time(call, a.ask);
  return name + "\n" + (p.ok() ? text_of(*p, m->cluster().topology) : "  " + p.error().text() + "\n");
}

std::vector<Asked> questions() {
  std::vector<Asked> out;
  const collectives::Collective ops[] = {collectives::Collective::kAllReduce, collectives::Collective::kAllGather,
                                         collectives::Collective::kReduceScatter, collectives::Collective::kBroadcast,
                                         collectives::Collective::kAllToAll};
  const std::string oversubscribed =
      "{name: narrow, nodes: 8, node: {base: h100-pcie, gpus: 2}, fabric: {kind: leaf-spine, network: roce-100g, "
      "oversubscription: 2}}";
  for (const std::string& cluster :
       {std::string("dgx-h100"), std::string("dgx-h100:3"), std::string("dgx-1v"), std::string("dgx-a100:2"),
        std::string("mi300x-8:2"), std::string("tpu-v4:2"), std::string("ac922-6:2"), std::string("hgx-a100-4:2"),
        std::string("gb200-nvl72"), std::string("gaudi2-8"), oversubscribed})
    for (const collectives::Collective op : ops)
      for (const std::uint64_t bytes : {std::uint64_t{4096}, std::uint64_t{1} << 28})
        out.push_back({.machine = {cluster}, .op = op, .bytes = bytes});
  for (const char* algorithm :
       {"ring", "tree", "nvls", "nvlstree", "pat", "hierarchical", "halving_doubling", "sharp", "torus", "synthesized"})
    for (const char* cluster : {"dgx-h100", "dgx-h100:4", "dgx-a100:2", "tpu-v4:2"})
      out.push_back({.machine = {cluster}, .algorithm = algorithm});
  const corpus::Machine pair{"dgx-h100:2"};
  for (const char* setting :
       {"NCCL_P2P_DISABLE=1", "NCCL_P2P_LEVEL=PIX", "NCCL_NVLS_ENABLE=0", "NCCL_ALGO=tree", "NCCL_PROTO=LL",
        "NCCL_MIN_NCHANNELS=32", "NCCL_MAX_NCHANNELS=4", "NCCL_CROSS_NIC=1", "NCCL_NET=Socket", "NCCL_IB_HCA=mlx5_0",
        "NCCL_NET_GDR_LEVEL=LOC", "NCCL_BUFFSIZE=1048576", "NCCL_PXN_DISABLE=1", "NCCL_NO=1"})
    out.push_back({.machine = pair, .options = {.env = {setting}}});
  for (const char* version : {"2.18", "2.23", "2.27"}) out.push_back({.machine = pair, .options = {.nccl = version}});
  for (const char* mode : {"graph", "loop"}) out.push_back({.machine = pair, .options = {.launch = mode}});
  corpus::Machine slow = pair, dead = pair, held_up = pair, closed = pair;
  slow.degrade = {"node1.nic3=0.5", "node0.gpu2=0.3"};
  dead.fail = {"node0.nic1"};
  held_up.jitter = {"node1.nic1=1%x50us"};
  closed.engine = "analytic";
  for (const corpus::Machine& m : {slow, dead, held_up, closed})
    for (const collectives::Collective op : {collectives::Collective::kAllReduce, collectives::Collective::kAllToAll})
      out.push_back({.machine = m, .op = op});
  for (const program::Protocol protocol : {program::Protocol::kLl, program::Protocol::kLl128})
    for (const char* cluster : {"dgx-h100:2", "dgx-1v"})
      out.push_back({.machine = {cluster}, .algorithm = "ring", .protocol = protocol, .channels = 3});
  for (const char* algorithm : {"tree", "hierarchical", "nvls"})
    out.push_back({.machine = pair, .algorithm = algorithm, .chunks = 5});
  const std::string node = "{name: bare, nodes: 3, node: {base: h100-pcie, gpus: 4, gpudirect: false}, fabric: {kind: ";
  const std::string reducing = "leaf-spine, network: infiniband-hdr, switch: {ports: 8, reduces: true}}}";
  for (const collectives::Collective op : ops)
    out.push_back({.machine = {node + "leaf-spine, network: roce-100g}}"}, .op = op});
  for (const char* algorithm : {"sharp", "direct", "hierarchical"})
    out.push_back({.machine = {node + reducing}, .algorithm = algorithm});
  out.push_back({.machine = {"{name: thin, nodes: 9, node: {base: h100-pcie, gpus: 1}, fabric: {kind: " + reducing},
                 .algorithm = "sharp"});
  out.push_back({.machine = pair, .host_memory = true});
  for (const collectives::Collective op : {collectives::Collective::kAllReduce, collectives::Collective::kAllToAll})
    out.push_back({.machine = pair, .op = op, .penalty = NetworkPenalty{"dcqcn", "ecmp", 2, 1.25, 2.5}});
  out.push_back({.machine = {"dgx-1v"}, .ask = {.jobs = 2}, .ranks = 4});
  out.push_back({.machine = {"dgx-h100:4"}, .ask = {.jobs = 2}, .ranks = 12});
  out.push_back({.machine = {"dgx-1v"}, .op = collectives::Collective::kAllGather, .algorithm = "fastest", .ranks = 6});
  return out;
}

std::string text_of(const corpus::Case& c) {
  std::string out = c.name + "\n";
  for (const Shortcuts& limits : {Shortcuts{}, corpus::for_small_machines()}) {
    const Shortcuts shortcuts = corpus::with_a_ledger(limits);
    const corpus::Figures f = c.run(shortcuts);
    double sum = 0, by_place = 0;
    for (std::size_t i = 0; i < f.size(); ++i) {
      sum += f[i];
      by_place += f[i] * static_cast<double>(i + 1);
    }
    out += fmt::format("  {} figures: {}, sum {}, by place {}; took {}\n", f.size(), digits(f[0]), digits(sum),
                       digits(by_place), fmt::join(shortcuts.names_taken(), ", "));
  }
  return out;
}

TEST(Predictor, PredictsAsApproved) {
  const char* const file = "tests/fixtures/expected/predictions.txt";
  const AccuracyTable accuracy = AccuracyTable::load(spec::Catalog("")).value();
  std::string now;
  for (const Asked& a : questions()) now += text_of(a, accuracy);
  for (const corpus::Case& c : corpus::cases()) now += text_of(c);
  if (std::getenv("BUSBAR_UPDATE") != nullptr) std::ofstream(file, std::ios::binary) << now;
  std::ifstream before(file, std::ios::binary);
  std::istringstream after(now);
  std::string question, line, approved;
  for (int different = 0; different < 10 && std::getline(after, line);) {
    if (!line.starts_with(' ')) question = line;
    if (!std::getline(before, approved)) approved = "(end of the file)";
    different += line != approved;
    EXPECT_EQ(line, approved) << question << "; BUSBAR_UPDATE=1 writes " << file << " again";
  }
  EXPECT_FALSE(std::getline(before, approved)) << approved;
}

}  // namespace
}  // namespace busbar::predict
