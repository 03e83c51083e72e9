#include "busbar/step/train_jobs.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "busbar/base/random.h"
#include "busbar/base/text.h"
#include "busbar/topology/topology.h"

namespace busbar::step {
namespace {

Error step_flag_error(const char* flag, std::string message) { return invalid(std::move(message), {"", 0, 0, flag}); }

constexpr program::OpClass kPurposes[] = {program::OpClass::kTp, program::OpClass::kDp, program::OpClass::kCp,
                                          program::OpClass::kEp};

/// The calls of a purpose that have a choice of algorithms.
std::set<std::size_t> calls_of(const program::Program& p, program::OpClass purpose) {
  std::set<std::size_t> out;
  const auto add = [&](const std::vector<program::Op>& ops) {
    for (const program::Op& o : ops)
      if (o.kind == program::OpKind::kCollective && o.cls == purpose &&
          p.calls[index(o.call)].op != collectives::Collective::kSendRecv)
        out.insert(index(o.call));
  };
  add(p.ops);
  for (const program::Pass& pass : p.passes) add(pass.ops);
  return out;
}

}  // namespace

Result<Stragglers> parse_stragglers(const std::string& text) {
  Stragglers out;
  if (text.empty()) return out;
  const std::size_t x = text.find("%x");
  double percent = 0;
  if (x == std::string::npos || !is_number(text.substr(0, x), percent) || !is_number(text.substr(x + 2), out.factor) ||
      !(percent > 0 && percent <= 100) || !(out.factor >= 1 && out.factor <= 100))
    return step_flag_error(
        "--stragglers", fmt::format("'{}' is not PERCENT%xFACTOR, for example 0.01%x1.3: each GPU takes 1.3 times as "
                                    "long in one of 10,000 steps",
                                    text));
  out.chance = percent / 100;
  return out;
}

namespace {

/// Of each server or rack those that run jobs.
Result<std::vector<std::vector<topology::DeviceId>>> gpus_of_domains(const topology::Topology& topology,
                                                                     const StepSettings& settings) {
  const auto all = topology.gpus();
  std::vector<std::vector<topology::DeviceId>> out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i == 0 || topology.block_of(all[i]) != topology.block_of(all[i - 1])) out.emplace_back();
    out.back().push_back(all[i]);
  }
  if (settings.gpus_per_domain == 0) return out;
  for (std::vector<topology::DeviceId>& gpus : out) {
    if (gpus.size() < settings.gpus_per_domain)
      return step_flag_error("--gpus-per-domain", fmt::format("{} GPUs are asked for, a server or rack has {}",
                                                              settings.gpus_per_domain, gpus.size()));
    gpus.resize(settings.gpus_per_domain);
  }
  return out;
}

}  // namespace

Result<std::vector<topology::DeviceId>> place_jobs(const topology::Topology& topology, const StepSettings& settings) {
  std::vector<topology::DeviceId> out;
  if (settings.jobs == 1 && settings.placement == "packed" && settings.gpus_per_domain == 0) return out;
  BUSBAR_ASSIGN(const std::vector<std::vector<topology::DeviceId>> nodes, gpus_of_domains(topology, settings));
  if (settings.jobs == 0 || nodes.size() % settings.jobs != 0)
    return step_flag_error("--jobs", fmt::format("{} nodes are not divisible by {} jobs", nodes.size(), settings.jobs));
  std::vector<std::size_t> order(nodes.size());
  const std::size_t each = nodes.size() / settings.jobs;
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i] = settings.placement == "interleaved" ? i % each * settings.jobs + i / each : i;
  if (settings.placement.starts_with("random")) {
    double seed = 0;
    const std::size_t colon = settings.placement.find(':');
    if (colon != std::string::npos && !is_number(settings.placement.substr(colon + 1), seed))
      return step_flag_error("--placement", fmt::format("'{}': the seed is not a number", settings.placement));
    RandomStream random(static_cast<std::uint64_t>(std::max(0.0, seed)), "nodes of jobs");
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  } else if (settings.placement != "packed" && settings.placement != "interleaved") {
    return step_flag_error("--placement", fmt::format("there is no placement '{}'; use packed, interleaved, random or "
                                                      "random:SEED",
                                                      settings.placement));
  }
  for (const std::size_t node : order) out.insert(out.end(), nodes[node].begin(), nodes[node].end());
  return out;
}

Status set_algorithms(const std::vector<std::string>& algorithms, const predict::Predictor& machine, bool all,
                      program::Program& program) {
  for (const std::string& text : algorithms) {
    const std::size_t equals = text.find('=');
    const auto purpose = std::find_if(std::begin(kPurposes), std::end(kPurposes), [&](program::OpClass c) {
      return text.substr(0, equals) == program::name_of(c);
    });
    if (equals == std::string::npos || purpose == std::end(kPurposes))
      return step_flag_error("--algorithm", fmt::format("'{}' is not PURPOSE=NAME with tp, dp, cp or ep, for example "
                                                        "dp=tree",
                                                        text));
    const std::string name = text.substr(equals + 1), base = name.substr(0, name.find('('));
    std::set<std::string> known;
    bool set = false;
    const std::set<std::size_t> calls = calls_of(program, *purpose);
    for (const std::size_t i : calls) {
      const std::vector<std::string> names = machine.legal(program.calls[i]).names;
      known.insert(names.begin(), names.end());
      const bool runs =
          base == "auto" || base == "fastest" || std::find(names.begin(), names.end(), base) != names.end();
      if (runs) program.calls[i].algorithm = name;
      set |= runs;
    }
    if (calls.empty() && !all) continue;
    if (calls.empty()) return step_flag_error("--algorithm", fmt::format("'{}': the step has no such calls", text));
    if (!set)
      return step_flag_error("--algorithm", fmt::format("'{}' can run none of the calls of {}; legal are {}", name,
                                                        program::name_of(*purpose), fmt::join(known, ", ")));
  }
  return {};
}

void copy_calls(std::uint32_t jobs, std::uint32_t ranks, program::Program& program) {
  if (jobs <= 1) return;
  for (program::CollectiveCall& call : program.calls) {
    collectives::GroupFamily& f = call.groups;
    if (f.listed.empty()) {
      f.outer.push_back({jobs, ranks, 0});
      continue;
    }
    const std::vector<std::uint32_t> one = f.listed;
    for (std::uint32_t j = 1; j < jobs; ++j)
      for (const std::uint32_t actor : one) f.listed.push_back(actor + j * ranks);
    f.listed_groups *= jobs;
  }
}

}  // namespace busbar::step
