#include "busbar/predict/band.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "busbar/base/quantity.h"
#include "busbar/spec/reading.h"

namespace busbar::predict {
namespace {

constexpr double kMostPercent = 10'000;

template <typename E>
Status read_errors(MapReader& r, E& out) {
  r.required("low_percent", &YamlNode::as_number, out.low_percent, -100, kMostPercent);
  r.required("high_percent", &YamlNode::as_number, out.high_percent, -100, kMostPercent);
  r.required("configurations", &YamlNode::as_int, out.configurations, 1, 1'000'000);
  return r.finish();
}

}  // namespace

const char* name_of(JoinedBy by) {
  constexpr const char* kNames[] = {"switch", "mesh", "pcie"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(JoinedBy::kPcie) + 1);
  return kNames[static_cast<std::size_t>(by)];
}

JoinedBy joined_by(const topology::Topology& t) {
  JoinedBy out = JoinedBy::kPcie;
  if (t.gpus().empty()) return out;
  for (const topology::LinkId l : t.out_links(t.gpus().front())) {
    if (!topology::is_scale_up(t.link_class(l).kind)) continue;
    if (t.kind(t.to(l)) == topology::DeviceKind::kNvSwitch) return JoinedBy::kSwitch;
    if (t.kind(t.to(l)) == topology::DeviceKind::kGpu) out = JoinedBy::kMesh;
  }
  return out;
}

bool reaches_peers(const spec::Cluster& c) { return c.p2p || joined_by(c.topology) != JoinedBy::kPcie; }

Status AccuracyTable::read_bands(const YamlNode& list, const char* of, std::vector<SizeErrors>& out) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    SizeErrors band;
    MapReader b = spec::sourced(list.item(i));
    b.required("from", &YamlNode::as_size, band.from);
    b.required(of, &YamlNode::as_string, band.of);
    b.optional("several_nodes", &YamlNode::as_bool, band.several_nodes);
    b.optional("p2p", &YamlNode::as_bool, band.p2p);
    BUSBAR_RETURN_IF_ERROR(read_errors(b, band.errors));
    out.push_back(band);
  }
  return {};
}

Status AccuracyTable::read_collectives(const YamlNode& root) {
  MapReader r = spec::sourced(root);
  r.optional("name");
  r.optional("fit");
  BUSBAR_RETURN_IF_ERROR(read_bands(r.required("bands"), "gpu", collectives_));
  MapReader left_out = spec::sourced(r.required("left_out"));
  BUSBAR_RETURN_IF_ERROR(read_bands(left_out.required("bands"), "joined", collectives_left_out_));
  BUSBAR_RETURN_IF_ERROR(left_out.finish());
  return r.finish();
}

const AccuracyTable::SizeErrors* AccuracyTable::at(const std::vector<SizeErrors>& bands, const SizeErrors& of,
                                                   Bytes size) {
  const SizeErrors* best = nullptr;
  for (const SizeErrors& b : bands)
    if (b.several_nodes == of.several_nodes && b.p2p == of.p2p && b.of == of.of && count(b.from) <= count(size) &&
        (best == nullptr || count(b.from) > count(best->from)))
      best = &b;
  return best;
}

Band narrowed(const Band& band, const program::MeasuredCalls& measured, const program::CallTraits& call) {
  constexpr double kNineTenths = 1.645, kLeastKnown = 0.02;
  const program::MeasuredCalls::Estimate e = measured.at(call);
  if (band.ideal || band.basis.empty() || e.known < kLeastKnown) return band;
  const double left = std::sqrt(1 - e.known), least = kNineTenths * e.sigma * std::sqrt(e.known);
  Band out = band;
  out.low_percent = 100 * std::expm1(std::min(left * std::log1p(std::max(band.low_percent, -99.0) / 100), -least));
  out.high_percent = 100 * std::expm1(std::max(left * std::log1p(band.high_percent / 100), least));
  out.basis =
      fmt::format("{} calls measured on this machine ({:.0f} % of the spread is known from them); before that, {}",
                  measured.calls().size(), 100 * e.known, band.basis);
  return out;
}

Status AccuracyTable::read_training(const YamlNode& root) {
  MapReader r = spec::sourced(root);
  r.optional("name");
  r.optional("fit");
  const YamlNode gpus = r.required("gpus");
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    GpuErrors of;
    MapReader g = spec::sourced(gpus.item(i));
    of.gpu = g.required("name").scalar();
    BUSBAR_RETURN_IF_ERROR(read_errors(g, of.errors));
    training_.push_back(std::move(of));
  }
  MapReader layouts = spec::sourced(r.required("layouts"));
  layouts.required("percent", &YamlNode::as_number, layouts_percent_, 0, kMostPercent);
  layouts.optional("pairs");
  layouts.optional("jobs");
  BUSBAR_RETURN_IF_ERROR(layouts.finish());
  MapReader experts = spec::sourced(r.required("experts"));
  BUSBAR_RETURN_IF_ERROR(read_errors(experts, training_experts_));
  MapReader left_out = spec::sourced(r.required("left_out"));
  BUSBAR_RETURN_IF_ERROR(read_errors(left_out, training_left_out_));
  return r.finish();
}

Result<AccuracyTable> AccuracyTable::load(const spec::Catalog& catalog) {
  AccuracyTable out;
  BUSBAR_ASSIGN(const YamlDocument collectives, catalog.load("accuracy", "collectives"));
  BUSBAR_RETURN_IF_ERROR(out.read_collectives(collectives.root()));
  BUSBAR_ASSIGN(const YamlDocument training, catalog.load("accuracy", "training"));
  BUSBAR_RETURN_IF_ERROR(out.read_training(training.root()));
  return out;
}

std::string factor_words(double low_percent, double high_percent) {
  return fmt::format("{:.2f} to {:.2f} times", 1 + low_percent / 100, 1 + high_percent / 100);
}

std::string words_of(const Band& band, const std::string& at) {
  if (band.ideal) return fmt::format("I{}.", band.basis.substr(1));
  return fmt::format("Accuracy{}: 9 of 10 measurements took {} the predicted time: {}.", at,
                     factor_words(band.low_percent, band.high_percent), band.basis);
}

Band AccuracyTable::collective(const spec::Cluster& cluster, Bytes size, bool several_nodes) const {
  if (cluster.ideal)
    return {0, 0,
            "ideal machine: no software costs; exact for the given rates and latencies, not compared with measurements",
            true};
  const char* nodes = several_nodes ? "on several nodes" : "inside a node";
  const bool p2p = reaches_peers(cluster);
  const std::string gpu = (cluster.gpu_part.empty() ? "such GPU" : cluster.gpu_part) + (p2p ? "" : " with P2P off");
  const SizeErrors* left_out =
      at(collectives_left_out_, {.several_nodes = several_nodes, .of = name_of(joined_by(cluster.topology))}, size);
  const SizeErrors* own = at(collectives_, {.several_nodes = several_nodes, .p2p = p2p, .of = cluster.gpu_part}, size);
  if (own != nullptr && left_out != nullptr && own->from == left_out->from)
    return {own->errors.low_percent, own->errors.high_percent,
            fmt::format("measured on {} ({} configurations) and similar machines, {}, from {} on, see docs/accuracy.md",
                        gpu, own->errors.configurations, nodes, format_binary_size(count(own->from)))};
  if (left_out == nullptr) return {};
  return {left_out->errors.low_percent, left_out->errors.high_percent,
          fmt::format("no measurement of {} {}; estimated from sizes of {} and more, on boards left out of the fit ({} "
                      "configurations; boards whose GPUs are joined by {} count most), see docs/accuracy.md",
                      gpu, nodes, format_binary_size(count(left_out->from)), left_out->errors.configurations,
                      left_out->of)};
}

Band AccuracyTable::training(const spec::Cluster& cluster, bool experts) const {
  if (experts)
    return {training_experts_.low_percent, training_experts_.high_percent,
            fmt::format("from {} published runs of models with experts, see docs/accuracy.md",
                        training_experts_.configurations),
            false, layouts_percent_};
  for (const GpuErrors& of : training_)
    if (of.gpu == cluster.gpu_part)
      return {of.errors.low_percent, of.errors.high_percent,
              fmt::format("from {} published runs on {}, see docs/accuracy.md", of.errors.configurations, of.gpu),
              false, layouts_percent_};
  return {training_left_out_.low_percent, training_left_out_.high_percent,
          fmt::format("no published run on {}; from {} runs of series left out of the fit, see docs/accuracy.md",
                      cluster.gpu_part.empty() ? "such machine" : cluster.gpu_part, training_left_out_.configurations),
          false, layouts_percent_};
}

std::vector<Bytes> AccuracyTable::sizes() const {
  std::vector<Bytes> out;
  for (const SizeErrors& b : collectives_left_out_) out.push_back(b.from);
  std::sort(out.begin(), out.end(), [](Bytes a, Bytes b) { return count(a) < count(b); });
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace busbar::predict
