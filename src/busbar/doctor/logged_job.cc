#include "busbar/doctor/internal/logged_job.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "busbar/accuracy/library_version.h"
#include "busbar/base/text.h"
#include "busbar/nccl/environment.h"
#include "busbar/predict/environment.h"
#include "busbar/topology/selector.h"

namespace busbar::doctor {
namespace {

/// Rank -> number of its host, in the order of the hosts' lowest ranks. Ranks without a line are placed like the
/// others: as many on each host, in order.
std::vector<std::uint32_t> hosts_of_ranks(const formats::LoggedCommunicator& said) {
  const auto n = static_cast<std::uint32_t>(said.ranks);
  std::vector<std::uint32_t> out(n);
  if (said.members.size() == n) {
    std::map<std::string, std::uint32_t> number;
    for (const auto& [rank, member] : said.members)
      out[static_cast<std::size_t>(rank)] =
          number.try_emplace(member.host, static_cast<std::uint32_t>(number.size())).first->second;
    return out;
  }
  std::set<std::string> hosts;
  for (const auto& [rank, member] : said.members) hosts.insert(member.host);
  const auto nodes =
      std::max(said.nodes > 0 ? static_cast<std::uint32_t>(said.nodes) : 1u, static_cast<std::uint32_t>(hosts.size()));
  const std::uint32_t each = std::max(1u, (n + nodes - 1) / nodes);
  for (std::uint32_t r = 0; r < n; ++r) out[r] = r / each;
  return out;
}

std::vector<std::vector<topology::DeviceId>> gpus_by_block(const topology::Topology& t) {
  std::map<topology::BlockId, std::size_t> place;
  std::vector<std::vector<topology::DeviceId>> out;
  for (const topology::DeviceId gpu : t.gpus()) {
    const auto [at, fresh] = place.try_emplace(t.block_of(gpu), out.size());
    if (fresh) out.emplace_back();
    out[at->second].push_back(gpu);
  }
  return out;
}

/// The settings that the model follows; the others with the reason go to `ignored`.
std::vector<std::string> followed_settings(const formats::NcclLog& log, LogComparison& out) {
  std::vector<std::string> followed;
  for (const formats::LoggedSetting& s : log.settings) {
    const std::string text = s.name + "=" + s.value;
    nccl::NcclSettings trial;
    const Status known = nccl::parse_nccl_setting(text, trial);
    if (known.ok())
      followed.push_back(text);
    else
      out.ignored.push_back(fmt::format("{} ({})", text, known.error().message));
  }
  return followed;
}

/// How many rings of the log the communicator has.
std::size_t equal_rings(const formats::LoggedCommunicator& said, const nccl::NcclComm& comm) {
  std::size_t out = 0;
  for (const auto& [channel, order] : said.rings) {
    if (channel < 0 || static_cast<std::uint32_t>(channel) >= comm.channels) continue;
    const std::vector<std::uint32_t> expected = nccl::nccl_ring(comm, static_cast<std::uint32_t>(channel)).order;
    out += std::equal(order.begin(), order.end(), expected.begin(), expected.end(),
                      [](int a, std::uint32_t b) { return a >= 0 && static_cast<std::uint32_t>(a) == b; });
  }
  return out;
}

/// Builds the communicator by the rules of `release`.
Status build(LoggedJob& job, nccl::NcclVersion release) {
  job.options.policy.nccl = release;
  job.cluster = job.sound;
  BUSBAR_ASSIGN(const nccl::NcclSettings settings,
                predict::apply_nccl_environment(job.cluster, release, job.options.policy.env));
  BUSBAR_ASSIGN(job.comm, comm_of_job(job, settings));
  return {};
}

/// By the rules of the log's release; if it names none, those of the newest release that gives most of its rings.
Status build_as_logged(LoggedJob& job, LogComparison& out) {
  const bool stated = !job.log->versions.empty();
  const accuracy::LibraryVersion release =
      accuracy::library_version(stated ? "NCCL " + job.log->versions.front().text : std::string());
  BUSBAR_RETURN_IF_ERROR(build(job, release.rules));
  const bool amd = job.comm.shapes.front().system.amd_gpus;
  out.library = amd ? nccl::library_name(job.comm) : release.words;
  if (stated || amd || job.said->rings.empty()) return {};
  nccl::NcclVersion best = release.rules;
  std::size_t most = equal_rings(*job.said, job.comm);
  for (nccl::NcclVersion v{best.major, static_cast<std::uint16_t>(best.minor - 1)}; nccl::nearest_known(v) == v;
       --v.minor) {
    BUSBAR_RETURN_IF_ERROR(build(job, v));
    const std::size_t equal = equal_rings(*job.said, job.comm);
    if (equal > most) most = equal, best = v;
  }
  out.library = fmt::format("NCCL {}, which fits its rings best (the log names no release)", nccl::to_string(best));
  return build(job, best);
}

}  // namespace

Result<nccl::NcclComm> comm_of_job(const LoggedJob& job, const nccl::NcclSettings& settings) {
  return nccl::build_nccl_comm(job.cluster.topology, job.gpus, settings);
}

const formats::LoggedCommunicator* largest_communicator(const formats::NcclLog& log) {
  const formats::LoggedCommunicator* out = nullptr;
  const auto told = [](const formats::LoggedCommunicator& c) { return !c.rings.empty() || c.coll_channels >= 0; };
  for (const formats::LoggedCommunicator& c : log.communicators)
    if (c.ranks > 1 && told(c) && (out == nullptr || c.ranks > out->ranks)) out = &c;
  return out;
}

Result<std::vector<topology::DeviceId>> gpus_of_ranks(const formats::LoggedCommunicator& said,
                                                      const topology::Topology& t) {
  const auto n = static_cast<std::size_t>(said.ranks);
  const std::vector<std::uint32_t> host = hosts_of_ranks(said);
  const std::uint32_t hosts = *std::max_element(host.begin(), host.end()) + 1;
  const auto blocks = gpus_by_block(t);
  std::vector<std::uint32_t> next(hosts);
  std::vector<topology::DeviceId> out;
  std::set<topology::DeviceId> taken;
  bool fits = hosts <= blocks.size();
  for (std::size_t r = 0; fits && r < n; ++r) {
    const auto member = said.members.find(static_cast<int>(r));
    std::uint32_t gpu = next[host[r]]++;
    if (member != said.members.end() && member->second.nvml_device >= 0)
      gpu = static_cast<std::uint32_t>(member->second.nvml_device);
    fits = gpu < blocks[host[r]].size() && taken.insert(blocks[host[r]][gpu]).second;
    if (fits) out.push_back(blocks[host[r]][gpu]);
  }
  if (fits) return out;
  if (hosts > blocks.size() && blocks.size() == 1 && n <= t.gpus().size())  // trays of one NVLink domain
    return std::vector<topology::DeviceId>(t.gpus().begin(), t.gpus().begin() + static_cast<std::ptrdiff_t>(n));
  return invalid(
      fmt::format("its {} ranks on {} hosts do not fit on {} nodes with {} GPUs; name a machine of as many "
                  "nodes",
                  n, hosts, blocks.size(), t.gpus().size()));
}

Result<double> time_of_job(const LoggedJob& job, collectives::Collective op, std::uint64_t bytes,
                           const std::vector<std::string>& variables, const std::vector<std::string>& failed) {
  predict::PredictPolicy policy = job.options.policy;
  policy.engine = job.options.engine;
  policy.env.insert(policy.env.end(), variables.begin(), variables.end());
  spec::Cluster cluster = job.sound;
  if (!failed.empty()) {
    topology::TopologyBuilder builder(cluster.topology);
    for (const std::string& part : failed) BUSBAR_RETURN_IF_ERROR(topology::fail_cables(builder, part));
    cluster.topology = std::move(builder).seal();
  }
  BUSBAR_ASSIGN(const auto machine, predict::Predictor::make(std::move(cluster), job.gpus, std::move(policy)));
  BUSBAR_ASSIGN(const predict::Prediction p,
                machine->time(predict::call_over(op, Bytes{bytes}, machine->ranks()), predict::kTimeAlone));
  return p.time.in_us();
}

std::optional<double> price(const LoggedJob& job, LogDifference& d, const std::vector<std::string>& variables,
                            const std::vector<std::string>& failed) {
  const Result<double> expected = time_of_job(job, job.options.op, kPricedBytes);
  const Result<double> logged = time_of_job(job, job.options.op, kPricedBytes, variables, failed);
  if (!expected.ok() || !logged.ok()) {
    d.cost_of = "not predicted: " + (expected.ok() ? logged.error().message : expected.error().message);
    return std::nullopt;
  }
  std::string by;
  for (const std::string& v : variables) append_word(by, v);
  for (const std::string& f : failed) by += (by.empty() ? "without " : ", ") + f;
  d.cost_percent = 100 * (*logged / *expected - 1);
  d.cost_of = fmt::format("{} of 1 GiB, as logged ({}) {:.4g} ms, as expected {:.4g} ms",
                          collectives::name_of(job.options.op), by, *logged / 1e3, *expected / 1e3);
  return *expected;
}

Result<LogComparison> compare_log(const formats::NcclLog& log, const std::string& file,
                                  const accuracy::ExpectOptions& options) {
  LogComparison out;
  out.file = file;
  LoggedJob job;
  job.log = &log;
  job.said = largest_communicator(log);
  job.options = options;
  BUSBAR_ASSIGN(job.sound, options.load(options.cluster, options.overrides));
  if (job.said == nullptr) {
    out.refused = "no communicator of two or more ranks with channels is in the log (NCCL_DEBUG_SUBSYS=INIT,GRAPH)";
    return out;
  }
  out.line = job.said->line;
  out.ranks = static_cast<std::uint32_t>(job.said->ranks);
  out.others = static_cast<std::uint32_t>(log.communicators.size() - 1);
  const auto refuse = [&](const Error& why) {
    out.refused = why.message;
    return out;
  };
  auto gpus = gpus_of_ranks(*job.said, job.sound.topology);
  if (!gpus.ok()) return refuse(gpus.error());
  job.gpus = *std::move(gpus);
  out.settings = followed_settings(log, out);
  job.options.policy.env = out.settings;
  if (const Status built = build_as_logged(job, out); !built.ok()) return refuse(built.error());
  job.tuning = nccl::tune_nccl(job.comm);
  out.nodes = job.comm.node_count();
  compare_transports(job, out);
  compare_channels(job, out);
  compare_picks(job, out);
  return out;
}

}  // namespace busbar::doctor
