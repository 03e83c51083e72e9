#include "busbar/cli/cmd_collective.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "busbar/base/quantity.h"
#include "busbar/base/random.h"
#include "busbar/choice/as_nccl.h"
#include "busbar/choice/fastest.h"
#include "busbar/choice/relief.h"
#include "busbar/cli/band.h"
#include "busbar/cli/machine.h"
#include "busbar/cli/session.h"
#include "busbar/engine/floor.h"
#include "busbar/engine/lowering.h"

namespace busbar {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  CommonOptions common;
  std::string cluster, op;
  std::string first = "8", last, protocol = "auto";
  double factor = 2;
  std::uint32_t gpus = 0, iterations = 0, channels = 0, chunks = 0, root = 0, jobs = 1;
  std::string placement = "packed";
  std::uint32_t seed = 0;
  std::string algorithm = "auto", nccl = "2.30";
};

/// Bus bandwidth per algorithm bandwidth. Source: NVIDIA nccl-tests, doc/PERFORMANCE.md.
double busbw_factor(Collective op, double n) {
  switch (op) {
    case Collective::kAllReduce:
      return 2 * (n - 1) / n;
    case Collective::kAllGather:
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
    case Collective::kGather:
    case Collective::kScatter:
      return (n - 1) / n;
    default:
      return 1;
  }
}

struct Row {
  Bytes size{};
  Duration time, floor, algorithm_floor;
  std::string algorithm, protocol = "simple";
  std::optional<NcclChoice> nccl;  ///< where it chose
  std::uint32_t channels = 1, chunks = 1;
  Bound bound;
  Band band;
  std::vector<Relief> relief;
  std::vector<Duration> jobs;  ///< when each of several jobs ended, earliest first
  double algbw() const { return time.in_ps() > 0 ? static_cast<double>(count(size)) / time.in_s() / 1e9 : 0; }
};

Status flag_error(const char* flag, std::string message) { return invalid(std::move(message), {"", 0, 0, flag}); }

struct Sweep {
  std::vector<Bytes> sizes;
};

Result<Sweep> sizes_of(const Options& o) {
  const auto parse = [](const std::string& text, const char* flag) -> Result<Bytes> {
    Result<Bytes> r = parse_cli_size(text);
    if (!r.ok()) r.error().where.path = flag;
    return r;
  };
  BUSBAR_ASSIGN(const Bytes first, parse(o.first, "-b"));
  const bool single = o.last.empty() && count(first) > (std::uint64_t{16} << 30);
  BUSBAR_ASSIGN(const Bytes last, parse(o.last.empty() ? (single ? o.first : "16G") : o.last, "-e"));
  if (count(first) == 0) return flag_error("-b", "sizes start at 1 byte").error();
  if (count(last) < count(first)) return flag_error("-e", fmt::format("{} is below -b {}", o.last, o.first)).error();
  if (!(o.factor > 1) || o.factor > 1e6) return flag_error("-f", "the step factor must be above 1").error();
  Sweep sweep;
  for (double s = static_cast<double>(count(first)); s <= static_cast<double>(count(last)) && sweep.sizes.size() < 4096;
       s *= o.factor)
    sweep.sizes.push_back(static_cast<Bytes>(s));
  return sweep;
}

/// The calls of all jobs, which start at once: job j on ranks [j n, (j + 1) n).
Result<std::vector<CallId>> prepare_jobs(const Options& o, Engine& engine, CollectiveCall call) {
  std::vector<CallId> ids;
  for (std::uint32_t j = 0; j < o.jobs; ++j) {
    call.groups.base = j * call.groups.size();
    BUSBAR_ASSIGN(const CallId id, engine.prepare(call));
    ids.push_back(id);
  }
  return ids;
}

Result<Row> predict(const Options& o, const Cluster& cluster, const Router& router, const Placement& placement,
                    const NcclChooser* nccl, Engine& engine, CollectiveCall call) {
  Row row;
  if (nccl != nullptr) {
    BUSBAR_ASSIGN(row.nccl, nccl->choose(call.op, call.bytes));
    row.protocol = protocol_name(row.nccl->protocol);
    call.algorithm = schedule_name(row.nccl->algorithm);
  }
  BUSBAR_ASSIGN(call, resolve_algorithm(engine, placement, cluster.topology, std::move(call)));
  BUSBAR_ASSIGN(const std::vector<CallId> ids, prepare_jobs(o, engine, call));
  row.size = call.bytes;
  row.algorithm = call.algorithm;
  for (std::uint32_t j = 0; j < o.jobs; ++j) engine.start(ids[j], j, SimTime());
  std::uint64_t last = 0;
  while (const auto done = engine.advance(SimTime::max())) {
    row.jobs.push_back(done->at - SimTime());
    last = done->tag;
  }
  BUSBAR_CHECK(row.jobs.size() == o.jobs) << "a started call must end";
  row.time = row.jobs.back();
  row.bound = engine.bound_by(ids[last]);
  row.band = collective_band(cluster, call.bytes);
  for (std::uint32_t j = 0; j < o.jobs; ++j) {
    if (const LoweredCall* lowered = engine.lowered(ids[j])) {
      row.channels = lowered->channels;
      row.chunks = lowered->chunks;
      if (row.nccl) row.channels = row.nccl->channels;
      row.algorithm_floor = std::max(row.algorithm_floor, duration_from_ps(lowered->algorithm_floor_ps));
    }
    call.groups.base = j * call.groups.size();
    row.floor = std::max(row.floor, machine_floor(router, placement, call).time);
  }
  BUSBAR_RETURN_IF_ERROR(check_floor(row.time, row.floor, name_of(call.op)));
  BUSBAR_RETURN_IF_ERROR(check_floor(row.time, row.algorithm_floor, call.algorithm));
  const std::uint32_t ranks = call.groups.size();
  if (o.jobs == 1 && (o.common.explain || ranks <= 1024)) {  // re-lowers the call: too dear unasked on large machines
    BUSBAR_ASSIGN(row.relief, find_relief(router, placement, cluster.protocol, call, o.common.explain));
  }
  return row;
}

Json to_json(const Row& r, double n, Collective op, const Topology& t) {
  Json j{{"size_bytes", count(r.size)},
         {"time_us", r.time.in_us()},
         {"algbw_GBps", r.algbw()},
         {"busbw_GBps", r.algbw() * busbw_factor(op, n)},
         {"algorithm", r.algorithm},
         {"protocol", r.protocol},
         {"channels", r.channels},
         {"chunks", r.chunks},
         {"floor_us", r.floor.in_us()},
         {"algorithm_floor_us", r.algorithm_floor.in_us()},
         {"bound_by", bound_to_json(r.bound, t)},
         {"band_percent", {r.band.low_percent, r.band.high_percent}},
         {"relief", Json::array()}};
  if (r.nccl)
    j["nccl"] = {{"algorithm", name_of(r.nccl->algorithm)},
                 {"protocol", name_of(r.nccl->protocol)},
                 {"channels", r.nccl->channels},
                 {"threads", r.nccl->threads},
                 {"forecast_us", r.nccl->forecast_us}};
  if (r.jobs.size() > 1)
    j["jobs_us"] = {{"first", r.jobs.front().in_us()},
                    {"median", r.jobs[r.jobs.size() / 2].in_us()},
                    {"last", r.jobs.back().in_us()}};
  for (const Relief& x : r.relief) j["relief"].push_back({{"what", x.what}, {"gain_percent", x.gain_percent}});
  return j;
}

/// What chooses algorithms, where none is given.
struct Chooser {
  std::optional<NcclChooser> nccl;
  std::string name, words;  ///< "nccl", "as NCCL 2.30 chooses"
};

/// NCCL for `auto`, unless the machine is not one for it.
Result<Chooser> make_chooser(const Options& o, const Cluster& c, std::span<const DeviceId> gpus) {
  Chooser out;
  out.name = o.algorithm == "fastest" ? "fastest" : "given";
  out.words = o.algorithm == "fastest" ? "the fastest legal ones" : "as given";
  Result<NcclVersion> version = parse_nccl_version(o.nccl);
  if (!version.ok()) {
    version.error().where.path = "--nccl";
    return version.error();
  }
  if (o.algorithm != "auto") return out;
  const NcclSettings settings = nccl_settings({c.fabric.kind, c.gpudirect, c.p2p}, *version);
  Result<NcclChooser> nccl = NcclChooser::make(c.topology, gpus, settings);
  if (nccl.ok()) {
    out.name = "nccl";
    out.words = fmt::format("as NCCL {} chooses", to_string(*version));
    out.nccl = std::move(*nccl);
    return out;
  }
  if (nccl.error().code != ErrorCode::kUnsupported) return nccl.error();
  out.name = "fastest";
  out.words = "the fastest legal ones; " + nccl.error().message;
  return out;
}

Document to_document(const Options& o, const Cluster& c, std::uint32_t gpus, Collective op,
                     const std::vector<Row>& rows, const Band& band, const Chooser& chooser) {
  Document d;
  d.title = fmt::format("{} over {} GPUs of {}", name_of(op), gpus, c.name);
  d.command = o.common.typed;
  Table t;
  t.title = d.title + ", " + o.common.engine + " engine";
  t.columns = {{"size (B)"},
               {"time (us)"},
               {"algbw (GB/s)"},
               {"busbw (GB/s)"},
               {"algorithm", Align::kLeft},
               {"protocol", Align::kLeft},
               {"floor (us)"},
               {"bound by", Align::kLeft}};
  for (const Row& r : rows)
    t.rows.push_back({std::to_string(count(r.size)), format_number(r.time.in_us(), 4), format_number(r.algbw()),
                      format_number(r.algbw() * busbw_factor(op, gpus)), r.algorithm, r.protocol,
                      format_number(r.floor.in_us(), 4), bound_in_short(r.bound, c.topology)});
  t.note =
      "GB/s is 1e9 bytes per second per direction. floor: no schedule on this machine can be faster. Algorithms: " +
      chooser.words + ".";
  d.blocks.push_back({t});
  const Row& last = rows.back();
  d.blocks.push_back({Highlight{fmt::format("At {} the time is bound by {}.", format_binary_size(count(last.size)),
                                            bound_to_text(last.bound, c.topology))}});
  if (!last.relief.empty()) {
    Table relief;
    relief.title = fmt::format("What relief would buy at {}", format_binary_size(count(last.size)));
    relief.columns = {{"change", Align::kLeft}, {"time saved (%)"}};
    for (const Relief& x : last.relief) relief.rows.push_back({x.what, format_number(x.gain_percent)});
    d.blocks.push_back({relief});
  }
  d.blocks.push_back({Paragraph{fmt::format("Trust: the truth lies {:+.0f} % to {:+.0f} % from these times: {}.",
                                            band.low_percent, band.high_percent, band.basis)}});
  return d;
}

/// The GPUs of all ranks: the first ones in order, or drawn from all of them.
Result<std::vector<DeviceId>> place(const Options& o, std::span<const DeviceId> all, std::size_t ranks) {
  std::vector<DeviceId> gpus(all.begin(), all.end());
  if (o.placement != "packed" && o.placement != "random")
    return invalid(fmt::format("there is no placement '{}'; use packed or random", o.placement),
                   {"", 0, 0, "--placement"});
  RandomStream random(o.seed, "placement");
  if (o.placement == "random")
    for (std::size_t i = gpus.size(); i > 1; --i) std::swap(gpus[i - 1], gpus[random.below(i)]);
  gpus.resize(ranks);
  return gpus;
}

int run(const Options& o) {
  const RunClock clock;
  const Result<Collective> op = parse_collective(o.op);
  if (!op.ok()) return report_error(op.error());
  if (o.protocol != "auto" && o.protocol != "simple")
    return report_error(
        {ErrorCode::kUnsupported, "only the simple protocol is modelled yet", {"", 0, 0, "--protocol"}});
  constexpr std::uint32_t kMostChannels = 1024;  // of a schedule
  if (o.channels > kMostChannels)
    return report_error(invalid(fmt::format("at most {} channels", kMostChannels), {"", 0, 0, "--channels"}));
  const Result<Sweep> sweep = sizes_of(o);
  if (!sweep.ok()) return report_error(sweep.error());
  const Result<Cluster> cluster = load_machine(o.cluster, o.common.overrides);
  if (!cluster.ok()) return report_error(cluster.error());
  const auto all = cluster->topology.gpus();
  if (o.jobs == 0) return report_error(invalid("there must be a job", {"", 0, 0, "--jobs"}));
  const std::uint32_t n = o.gpus == 0 ? static_cast<std::uint32_t>(all.size()) / o.jobs : o.gpus;
  if (n == 0 || std::uint64_t{n} * o.jobs > all.size())
    return report_error(invalid(
        fmt::format("{} GPUs asked for, {} has {}", std::uint64_t{std::max(n, 1u)} * o.jobs, cluster->name, all.size()),
        {"", 0, 0, "-g"}));
  if (o.root >= n)
    return report_error(invalid(fmt::format("root {} is not among {} ranks", o.root, n), {"", 0, 0, "--root"}));
  const Router router(cluster->topology, cluster->routing, cluster->seed);
  const Result<std::vector<DeviceId>> gpus = place(o, all, n * o.jobs);
  if (!gpus.ok()) return report_error(gpus.error());
  const Placement placement(router, *gpus);
  const Result<Chooser> chooser = make_chooser(o, *cluster, std::span<const DeviceId>(*gpus).first(n));
  if (!chooser.ok()) return report_error(chooser.error());
  std::vector<Row> rows;
  for (const Bytes size : sweep->sizes) {
    EngineOptions options;
    options.protocol = cluster->protocol;
    Result<std::unique_ptr<Engine>> engine = make_engine(o.common.engine, router, placement, options);
    if (!engine.ok()) return report_error(engine.error());
    CollectiveCall call;
    call.op = *op;
    call.bytes = size;
    call.groups = one_group(n);
    call.algorithm = o.algorithm;
    call.chunks = o.chunks;
    call.root = o.root;
    call.channels = o.channels;
    Result<Row> row =
        predict(o, *cluster, router, placement, chooser->nccl ? &*chooser->nccl : nullptr, **engine, call);
    if (!row.ok()) return report_error(row.error());
    rows.push_back(std::move(*row));
  }
  Band band = rows.front().band;  // the widest of all sizes
  for (const Row& r : rows) {
    band.low_percent = std::min(band.low_percent, r.band.low_percent);
    band.high_percent = std::max(band.high_percent, r.band.high_percent);
  }
  Json j{{"schema", "busbar.collective/1"},
         {"cluster", cluster->name},
         {"gpus", n},
         {"jobs", o.jobs},
         {"collective", name_of(*op)},
         {"engine", o.common.engine},
         {"algorithm_choice", chooser->name},
         {"algorithm_choice_note", chooser->words},
         {"inputs_hash", fmt::format("{:016x}", hash64(o.common.typed, hash64(cluster->text)))},
         {"results", Json::array()}};
  for (const Row& r : rows) j["results"].push_back(to_json(r, n, *op, cluster->topology));
  j["bound_by"] = j["results"].back()["bound_by"];
  j["band_percent"] = {band.low_percent, band.high_percent};
  j["band_basis"] = band.basis;
  j["run"] = clock.to_json();
  return deliver(o.common, j, to_document(o, *cluster, n, *op, rows, band, *chooser));
}

}  // namespace

Command collective_command(const std::string& typed) {
  const auto o = std::make_shared<Options>();
  o->common.typed = typed;
  Command c;
  c.name = "collective";
  c.summary = "time one collective over a range of sizes, as nccl-tests would print it";
  c.examples =
      "  busbar collective dgx-h100 all_reduce\n"
      "  busbar collective dgx-h100:64 all_reduce -b 1M -e 1G --algorithm hierarchical\n"
      "  busbar collective dgx-h100:2 all_gather -b 1G -e 1G --degrade node1.nic3=0.5 --explain\n"
      "  busbar collective dgx-h100:16 all_reduce -b 1G -e 1G -g 16 --jobs 8 --placement random --seed 1\n"
      "  busbar collective bench/cases/ar-b-512.yaml all_reduce -b 1G -e 1G --engine analytic --json\n";
  c.positionals = {
      {"CLUSTER", "preset (dgx-h100), NAME:N (N nodes on their default fabric) or a file (YAML, or NCCL topology XML)",
       &o->cluster},
      {"OP", "all_reduce, all_gather, reduce_scatter, broadcast; nccl-tests' spellings too", &o->op}};
  c.flags = {
      {"-b,--minbytes", "SIZE", "smallest size S; K, M, G are binary (default 8)", "Sweep", &o->first},
      {"-e,--maxbytes", "SIZE", "largest size (default 16G)", "Sweep", &o->last},
      {"-f,--stepfactor", "X", "factor from size to size (default 2)", "Sweep", &o->factor},
      {"-g,--gpus", "N", "use the first N GPUs (default all)", "Sweep", &o->gpus},
      {"-n,--iters", "N", "accepted for nccl-tests' sake; a prediction needs one", "Sweep", &o->iterations},
      {"--algorithm", "NAME", "auto (as NCCL chooses), fastest (the fastest legal one), ring, tree, hierarchical, ...",
       "Algorithm", &o->algorithm},
      {"--nccl", "VERSION", "whose choices auto follows, 2.18 to 2.30 (default 2.30)", "Algorithm", &o->nccl},
      {"--chunks", "N", "pieces that pipeline through the phases (default: from the machine's chunk size)", "Algorithm",
       &o->chunks},
      {"--protocol", "NAME", "auto or simple", "Algorithm", &o->protocol},
      {"--channels", "N", "parts that share the bytes, each with NICs of its own (default: as many as use every NIC)", "Algorithm", &o->channels},
      {"--jobs", "N", "N jobs of -g GPUs each start the collective at once and share the machine (default 1)", "Sweep",
       &o->jobs},
      {"--placement", "NAME", "packed (GPUs in order) or random (drawn from the whole machine)", "Sweep",
       &o->placement},
      {"--seed", "N", "of the random placement (default 0)", "Sweep", &o->seed},
      {"--root", "RANK", "root of broadcast (default 0)", "Algorithm", &o->root},
  };
  for (Flag& f : common_flags(o->common, true)) c.flags.push_back(std::move(f));
  c.run = [o] { return run(*o); };
  return c;
}

}  // namespace busbar
