#include "busbar/survive/checkpoint_run.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/quantity.h"
#include "busbar/step/train_jobs.h"
#include "busbar/survive/failure_rates.h"
#include "busbar/workload/memory.h"

namespace busbar::survive {
namespace {

constexpr double kStoragePerServer = 0.65e9;  // bytes/s: docs/models/survive.md

/// Per rank of the layout: its part of the checkpoint.
std::vector<double> bytes_of_ranks(const step::TrainRun& run) {
  const std::vector<double> shares = workload::checkpoint_shares(run.scenario.model, run.layout);
  std::vector<double> out(run.layout.ranks(), 0.0);
  for (std::uint32_t s = 0; s < run.layout.pp; ++s) {
    const collectives::GroupFamily& ranks = run.program.roles[s].ranks;
    for (std::uint32_t m = 0; m < ranks.size(); ++m)
      if (const std::uint32_t r = ranks.actor(0, m); r < out.size()) out[r] = shares[s];
  }
  return out;
}

double servers_of(const step::TrainRun& run) {
  return std::max(1.0, static_cast<double>(count_parts(run.cluster())[static_cast<std::size_t>(FailingPart::kServer)]));
}

/// Both the write and the step cross these links. They, and all others of their classes, lose the rate that the write
/// takes of the busiest of them: what the step then takes is the most that it can.
Status set_slowdown(const step::TrainRun& run, CheckpointRun& c) {
  const topology::Topology& t = run.cluster().topology;
  const auto engine = run.machine->open_engine({});
  std::vector<double> bytes(t.link_count(), 0.0);
  for (const program::CollectiveCall& call : run.program.calls) {
    BUSBAR_ASSIGN(const program::CallId id, engine->prepare(call));
    engine->add_bytes_of(id, bytes);
  }
  lowering::WhatIf less;
  double most = 0;
  for (const engine::LinkUse& use : c.links.written) {
    if (bytes[index(use.link)] <= 0) continue;
    const double share = use.bytes / t.payload_rate(use.link) / c.write_s();
    less.link_classes.push_back(t.link_class_index(use.link));
    if (share > most) most = share, c.slowed_link = t.name(use.link);
  }
  if (most == 0) return {};
  std::sort(less.link_classes.begin(), less.link_classes.end());
  less.link_classes.erase(std::unique(less.link_classes.begin(), less.link_classes.end()), less.link_classes.end());
  constexpr double kLeastRate = 0.05;  // the write may fill a link; fair shares leave the step some of it
  less.rate_factor = std::max(kLeastRate, 1 - most);
  BUSBAR_ASSIGN(const Duration step, step::step_if(run, less));
  c.slowed = std::max(0.0, step.in_s() / run.step.step_time.in_s() - 1);
  return {};
}

}  // namespace

double CheckpointRun::write_s(double faster) const {
  return std::max(links.save_s, store_bytes_per_s > 0 ? bytes / (store_bytes_per_s * faster) : 0);
}
double CheckpointRun::load_s(double faster) const {
  return std::max(links.load_s, store_bytes_per_s > 0 ? bytes / (store_bytes_per_s * faster) : 0);
}
double CheckpointRun::stop_s(bool in_background, double faster) const {
  return in_background ? std::min(std::max(links.copy_s, least_stop_s), write_s(faster)) : write_s(faster);
}
double CheckpointRun::lost_s(double between_s) const {
  return stop_s() + slowed * std::min(between_s, std::max(0.0, write_s() - stop_s()));
}
double CheckpointRun::lost_s(bool in_background, double faster) const {
  const double stop = stop_s(in_background, faster);
  return stop + (in_background ? slowed * (write_s(faster) - stop) : 0);
}
std::string CheckpointRun::write_bound() const {
  if (store_bytes_per_s > 0 && write_s() > links.save_s)
    return fmt::format("the storage at {}", format_rate(store_bytes_per_s));
  return links.save_link;
}

Result<CheckpointRun> run_checkpoint(const step::TrainRun& run, const CheckpointAsk& ask) {
  CheckpointRun out;
  out.async = ask.async;
  const Result<Duration> stop = parse_duration(ask.async_stop);
  if (!stop.ok() || *stop < Duration())
    return invalid(fmt::format("'{}' is not a time; write for example 500ms", ask.async_stop),
                   {"", 0, 0, "async_stop"});
  out.least_stop_s = stop->in_s();
  const bool drives = ask.checkpoint_to == "nvme";
  if (ask.async && ask.gpudirect_storage)
    return invalid("writes out of GPU memory, and --async out of a copy in host memory; leave one of them out",
                   {"", 0, 0, "gpudirect_storage"});
  if (drives && !ask.storage.empty())
    return invalid("is the rate of a storage system; leave out --checkpoint-to nvme", {"", 0, 0, "storage"});
  if (!drives) out.store_bytes_per_s = kStoragePerServer * servers_of(run);
  if (!ask.storage.empty()) {
    const Result<BytesPerSecond> rate = parse_rate(ask.storage);
    if (!rate.ok()) return invalid(rate.error().message, {"", 0, 0, "storage"});
    out.store_bytes_per_s = static_cast<double>(per_second(*rate));
  }
  const std::vector<double> bytes = bytes_of_ranks(run);
  for (const double b : bytes) out.bytes += b, out.most_bytes = std::max(out.most_bytes, b);
  BUSBAR_ASSIGN(std::vector<topology::DeviceId> gpus, step::place_jobs(run.cluster().topology, run.settings));
  const auto all = run.cluster().topology.gpus();
  if (gpus.empty()) gpus.assign(all.begin(), all.end());
  Result<step::CheckpointTimes> links =
      step::checkpoint_times(run.machine->router(), gpus, bytes, {drives, ask.gpudirect_storage});
  if (!links.ok() && links.error().where.prefix().empty()) links.error().where.path = "checkpoint_to";
  BUSBAR_ASSIGN(out.links, std::move(links));
  if (out.async && run.engine != "packet") BUSBAR_RETURN_IF_ERROR(set_slowdown(run, out));
  return out;
}

}  // namespace busbar::survive
