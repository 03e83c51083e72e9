#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "busbar/base/json.h"
#include "busbar/base/quantity.h"
#include "busbar/base/random.h"
#include "busbar/cli/collective_report.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/long_run.h"
#include "busbar/cli/packet_options.h"
#include "busbar/cli/penalty_words.h"
#include "busbar/cli/schedule_run.h"
#include "busbar/cli/session.h"
#include "busbar/cli/sweep.h"
#include "busbar/cli/tuner_csv.h"
#include "busbar/formats/pair_matrix.h"
#include "busbar/predict/packet_words.h"
#include "busbar/predict/predictor.h"
#include "busbar/predict/rank_groups.h"
#include "busbar/step/machine.h"

namespace busbar {
namespace {

/// Which library chooses algorithms: "nccl", "rccl", "as NCCL 2.30 chooses".
struct Choice {
  std::string name, words;
};

Choice choice_of(const CollectiveOptions& o, Predictor& machine, const GroupFamily& groups) {
  if (o.algorithm == "fastest") return {o.algorithm, "the fastest legal ones"};
  if (o.algorithm == "all") return {o.algorithm, "every legal one"};
  if (o.algorithm != "auto") return {"given", "as given"};
  const std::string library = machine.library(groups);
  const char* name = library.empty() ? "fastest" : library == "RCCL" ? "rccl" : "nccl";
  return {name, machine.words_of_auto(groups)};
}

/// The algorithms to time; `words` receives those left out of "all".
std::vector<std::string> algorithms(const CollectiveOptions& o, const CollectiveCall& call, const Predictor& machine,
                                    std::string& words) {
  if (o.algorithm != "all") return {o.algorithm};
  LegalAlgorithms legal = machine.legal(call);
  words = "every legal one";
  for (const std::string& name : legal.left_out) words += (name == legal.left_out[0] ? ", without " : ", ") + name;
  return std::move(legal.names);
}

Result<PacketOptions> packets_of(const CollectiveOptions& o, const Cluster& cluster) {
  questions::PacketRun words = o.packets;
  BUSBAR_ASSIGN(PacketOptions out, read_packets(words, o.extras, o.seed, cluster, o.common.overrides));
  if (o.compute_jitter.empty()) return out;
  const Result<Duration> mean = parse_duration(o.compute_jitter);
  if (!mean.ok()) return flag_error("--compute-jitter", mean.error().message);
  out.compute_jitter = *mean;
  return out;
}

/// The policy from the flags.
Result<PredictPolicy> policy_of(const CollectiveOptions& o, const Cluster& cluster, double fan_in) {
  PredictPolicy out;
  out.engine = o.common.engine;
  out.stop = LongRun::flag();
  BUSBAR_RETURN_IF_ERROR(read_predict_options(o.predict, Catalog(o.common.overrides.catalog), out));
  if (out.engine == "packet") {
    BUSBAR_ASSIGN(out.packets, packets_of(o, cluster));
  } else if (!o.packets.transport.empty()) {
    BUSBAR_ASSIGN(out.penalty,
                  load_call_penalty(o.packets.transport, balance_of(cluster), fan_in, o.common.overrides.catalog));
  }
  BUSBAR_ASSIGN(out.delays, parse_jitter(o.jitter, cluster.topology));
  if (!o.jitter.empty() && out.packets)
    return Error{ErrorCode::kUnsupported,
                 "the packet engine cannot delay messages; use --engine flow or analytic",
                 {"", 0, 0, "--jitter"}};
  return out;
}

/// The matrix of an all_to_allv; empty if none is given.
Result<PairMatrix> read_matrix(const CollectiveOptions& o, Collective op, std::uint32_t ranks) {
  if (o.matrix.empty()) return PairMatrix();
  if (op != Collective::kAllToAllV)
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{} sends every pair equally many bytes; a matrix is for all_to_allv", name_of(op)),
                 {"", 0, 0, "--pairs"}};
  return read_pair_matrix(o.matrix, ranks);
}

/// The groups of --ranks, or the first -g GPUs.
Result<GroupFamily> read_groups(const CollectiveOptions& o, const Cluster& cluster) {
  const auto all = static_cast<std::uint32_t>(cluster.topology.gpus().size());
  const std::uint32_t asked = o.nccl_tests.ranks();
  if (o.jobs == 0) return flag_error("--jobs", "at least 1 job is needed");
  if (!o.ranks.empty()) {
    if (asked > 0 || o.jobs > 1 || o.placement != CollectiveOptions().placement)
      return flag_error("--ranks", "already selects the GPUs; leave out -g, --jobs and --placement");
    return parse_rank_groups(o.ranks, all);
  }
  const std::uint32_t n = asked == 0 ? all / o.jobs : asked;
  if (n == 0 || std::uint64_t{n} * o.jobs > all)
    return too_many_gpus("-g", std::uint64_t{std::max(n, 1u)} * o.jobs, cluster, o.common.overrides);
  return one_group(n);
}

Result<int> run(CollectiveOptions o) {
  if (o.nccl_tests.graph > 0 && o.predict.launch.empty()) o.predict.launch = "graph";
  if (!o.schedule.empty()) return run_schedule(o);
  BUSBAR_ASSIGN(const Collective op, parse_collective(o.op));
  Result<Protocol> protocol = parse_protocol(o.protocol);
  if (!protocol.ok()) {
    protocol.error().where.path = "--protocol";
    return protocol.error();
  }
  constexpr std::uint32_t kMostChannels = 1024;  // per schedule
  if (o.channels > kMostChannels) return flag_error("--channels", fmt::format("at most {} channels", kMostChannels));
  BUSBAR_ASSIGN(std::vector<Bytes> sweep, sweep_sizes(o.first, o.last, o.factor));
  const Overrides& said = o.common.overrides;
  BUSBAR_ASSIGN(Cluster loaded, load_machine(o.cluster, o.common.engine == "packet" ? without_packets(said) : said));
  if (o.common.engine != "packet") BUSBAR_RETURN_IF_ERROR(choose_paths(o.packets.lb, loaded));
  const auto all = loaded.topology.gpus();
  BUSBAR_ASSIGN(const GroupFamily groups, read_groups(o, loaded));
  const std::uint32_t n = groups.size();
  if (o.root >= n) return flag_error("--root", fmt::format("root {} is not among {} ranks", o.root, n));
  BUSBAR_ASSIGN(const PairMatrix matrix, read_matrix(o, op, n));
  const bool any_size = o.first == CollectiveOptions().first && o.last.empty();
  if (any_size && !o.matrix.empty()) sweep = {matrix.busiest};
  if (o.seed && o.common.engine != "packet")
    return flag_error("--seed",
                      "packets alone take paths at random; add --engine packet, or for a random placement "
                      "write --placement random:N");
  if (o.seed && *o.seed < 0) return flag_error("--seed", "a seed is 0 or more");
  const bool in_order = o.placement == CollectiveOptions().placement;  // rank r on GPU r, with no other option set
  BUSBAR_ASSIGN(std::vector<DeviceId> gpus,
                in_order ? std::vector<DeviceId>() : place_ranks(o.placement, all, n * o.jobs));
  BUSBAR_ASSIGN(const AccuracyTable accuracy, AccuracyTable::load(Catalog(o.common.overrides.catalog)));
  BUSBAR_ASSIGN(PredictPolicy policy, policy_of(o, loaded, fan_in_of(op, n, loaded.topology)));
  policy.accuracy = &accuracy;
  policy.nvls = o.nccl_tests.switches_may_reduce(op);
  BUSBAR_ASSIGN(const auto made, Predictor::make(std::move(loaded), std::move(gpus), std::move(policy)));
  Predictor& machine = *made;
  const Cluster* const cluster = &machine.cluster();
  BUSBAR_ASSIGN(const std::optional<TunerPicks> picks, read_tuner_file(o));
  Choice choice = picks ? Choice{"tuner", fmt::format("as {} says, NCCL's choice elsewhere", o.algorithm)}
                        : choice_of(o, machine, groups);
  const TimeAsk ask{.jobs = o.jobs, .explain = o.common.explain};
  std::vector<Prediction> rows;
  LongRun watch("sizes");
  std::size_t known = 0;
  for (const Bytes size : sweep) {
    if (!watch.go_on(known, sweep.size())) break;
    CollectiveCall call = call_over(op, size, n);
    call.groups = groups;
    call.algorithm = o.algorithm;
    call.protocol = *protocol;
    call.chunks = o.chunks;
    call.root = o.root;
    call.channels = o.channels;
    call.pairs = matrix.counts;
    const auto names = picks ? std::vector<std::string>{"auto"} : algorithms(o, call, machine, choice.words);
    std::optional<Error> refused;
    const std::size_t before = rows.size();
    for (const std::string& name : names) {
      call.algorithm = name;
      Result<Prediction> row = picks ? time_as_picked(*picks, call, ask, machine) : machine.time(call, ask);
      if (!row.ok() && watch.interrupted()) break;  // the packet engine stops within a size
      if (row.ok())
        rows.push_back(std::move(*row));
      else if (names.size() == 1 || row.error().code != ErrorCode::kUnsupported)
        return row.error();
      else
        refused = row.error();  // one of several
    }
    if (rows.size() == before && watch.interrupted()) break;
    if (rows.size() == before) return refused ? *refused : flag_error("--algorithm", "no algorithm can run this");
    ++known;
  }
  watch.go_on(known, sweep.size());
  watch.report_interruption();
  if (rows.empty()) return watch.status();
  const Band& band = summary_row(rows).band;
  if (!o.out.empty()) BUSBAR_RETURN_IF_ERROR(write_schedule(o.out, machine, rows));
  Json j{{"schema", "busbar.collective/1"},
         {"cluster", cluster->name},
         {"gpus", n},
         {"groups", groups.groups()},
         {"jobs", o.jobs},
         {"collective", name_of(op)},
         {"engine", o.common.engine},
         {"algorithm_choice", choice.name},
         {"algorithm_choice_note", choice.words},
         {"inputs_hash", inputs_hash(o.common, cluster->text)},
         {"results", Json::array()}};
  add_policy(j, machine.policy(), o.predict.launch, machine.protocol().launch);
  for (const Prediction& r : rows) j["results"].push_back(to_json(r, n, op, cluster->topology));
  j["bound_by"] = bound_to_json(summary_row(rows).bound, cluster->topology);
  if (!summary_row(rows).cause.empty()) j["bound_by"]["cause"] = summary_row(rows).cause;
  j["band_percent"] = Json::array({band.low_percent, band.high_percent});
  j["band_basis"] = band.basis;
  if (!cluster->assumptions.empty()) j["assumptions"] = cluster->assumptions;
  if (machine.policy().penalty) j["penalty"] = to_json(*machine.policy().penalty);
  j["complete"] = known == sweep.size();
  const std::string words = policy_words(machine.policy(), o.predict.launch, machine.protocol().launch);
  Document document = to_document(o, *cluster, n, op, rows, band, choice.words + "; " + words);
  if (const Prediction& row = summary_row(rows); row.p99)
    document.add(penalty_words(*machine.policy().penalty, format_binary_size(count(row.size())),
                               format_number(row.p99->in_us(), 4) + " us"));
  if (o.common.explain) explain_shortcuts(machine.policy().shortcuts, j, document);
  return deliver(o.common, j, document, watch.status());
}

}  // namespace

Command collective_command(const std::string& typed) {
  const auto o = std::make_shared<CollectiveOptions>();
  Command c = new_command(o->common, typed, "collective",
                          "time one collective over a range of sizes, in the format of nccl-tests");
  c.examples =
      "  busbar collective dgx-h100 all_reduce\n"
      "  busbar collective dgx-h100:64 all_reduce -b 1M -e 1G --algorithm hierarchical\n"
      "  busbar collective dgx-1v all_reduce -b 1G -e 1G --algorithm synthesized\n"
      "  busbar collective dgx-h100:2 all_gather -b 1G -e 1G --degrade node1.nic3=0.5 --explain\n"
      "  busbar collective dgx-h100:16 all_reduce -b 1G -e 1G -g 16 --jobs 8 --placement random:1\n"
      "  busbar collective dgx-h100:64 reduce_scatter -b 1G -e 1G --ranks 0:512:8+1x8\n"
      "  busbar collective examples/cards-100g.yaml all_reduce -b 1G -e 1G --engine analytic --json\n"
      "  busbar collective dgx-h100:2 all_reduce -b 16M -e 16M --algorithm ring --engine packet --transport dcqcn\n";
  c.positionals = {cluster_word(o->cluster),
                   {"OP",
                    "all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, all_to_allv, gather, "
                    "scatter or send_recv; the names of nccl-tests also work",
                    &o->op, true, nullptr, "", [](const std::string& word) { return parse_collective(word).ok(); }}};
  c.renamed = {{"--matrix", "--pairs"}};
  c.flags = {
      {"-b,--minbytes", "SIZE", "smallest size S; K, M, G are binary (default 8)", "Sweep", &o->first},
      {"-e,--maxbytes", "SIZE", "largest size (default 16G)", "Sweep", &o->last},
      {"-f,--stepfactor", "X", "factor between sizes (default 2)", "Sweep", &o->factor},
      {"--ranks", "LIST",
       "instead of -g: the ranks of a group, such as 0,1,4 or 0:512:8; several groups (repeat the flag, or 0:8+8x64) "
       "run at the same time",
       "Sweep", &o->ranks},
      {"--algorithm", "NAME",
       "auto (NCCL's choice), fastest, all (one row each), synthesized (made for this machine), ring, tree, ...; or "
       "FILE.conf: picks of NCCL's tuner plugin",
       "Algorithm", &o->algorithm},
      {"--chunks", "N", "number of pieces in the pipeline (default: from the machine's chunk size)", "Algorithm",
       &o->chunks},
      {"--protocol", "NAME", "auto (chosen with the algorithm), simple, ll128, ll", "Algorithm", &o->protocol,
       one_of("auto", "simple", "ll128", "ll")},
      {"--schedule", "FILE", "time the schedule in this file (MSCCL XML, MSCCL++ plan) and compare it with ours",
       "Algorithm", &o->schedule},
      {"--pairs", "FILE",
       "all_to_allv: CSV of src,dst,bytes; -b and -e scale it by the bytes of the rank that sends most", "Sweep",
       &o->matrix},
      {"--out", "FILE",
       "write the schedule of the largest size: .xml (MSCCL), .json (MSCCL++), .goal, .et (Chakra), .csv (flows); or "
       ".conf: picks for NCCL's tuner",
       "Algorithm", &o->out},
      {"--channels", "N", "number of channels, each with its own NICs (default: enough to use every NIC)", "Algorithm",
       &o->channels},
      {"--jobs", "N", "run the collective as N jobs of -g GPUs at the same time (default 1)", "Sweep", &o->jobs},
      {"--placement", "NAME",
       "packed (GPUs in order), or random or random:SEED (from the whole machine; default seed 0)", "Sweep",
       &o->placement},
      {"--jitter", "SELECTOR=P%xDELAY", "some messages over these links are delayed, e.g. node3.nic2=1%x50us",
       "Machine", &o->jitter},
      {"--seed", "N", "seed of the paths that packets take (default: the cluster's)", "Sweep", &o->seed},
      {"-r,--root", "RANK", "root of broadcast, reduce, gather and scatter (default 0)", "Algorithm", &o->root},
      with("--engine packet",
           {"--compute-jitter", "TIME", "each rank starts late by an exponential time with this mean", "Packets",
            &o->compute_jitter}),
  };
  c.add(nccl_tests_flags(o->nccl_tests));
  c.add(packet_run_flags(o->packets.transport, o->packets.lb, o->packets.patience));
  c.add(predict_flags(o->predict, "as the machine's file says"));
  c.add(packet_flags(o->extras));
  for (Flag& f : c.flags)  // a schedule from a file fixes these itself
    for (const char* own : {"--algorithm", "--protocol", "--channels", "--jobs", "--placement", "--jitter", "--seed",
                            "-r,--root", "--pairs", "--out", "--transport", "--lb", "-o,--op", "-d,--datatype"})
      if (f.names == own) f.useless_with = {"--schedule"};
  c.flags.push_back(cluster_flag(o->cluster));
  add_common_flags(c, o->common, Engines::kAll);
  c.run = [o] { return run(*o); };
  return c;
}

}  // namespace busbar
