#include "busbar/predict/band.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "busbar/base/quantity.h"
#include "busbar/spec/kernels_file.h"
#include "busbar/spec/reading.h"

namespace busbar::predict {
namespace {

constexpr double kMostPercent = 10'000;

template <typename E>
Status read_errors(MapReader& r, E& out) {
  r.required("low_percent", &YamlNode::as_number, out.low_percent, -100, kMostPercent);
  r.required("high_percent", &YamlNode::as_number, out.high_percent, -100, kMostPercent);
  r.required("configurations", &YamlNode::as_int, out.configurations, 1, 1'000'000);
  r.optional("sources", &YamlNode::as_int, out.sources, 1, 1'000'000);
  r.optional("held_percent", &YamlNode::as_number, out.held_percent, 0, 100);
  return r.finish();
}

/// "90 % of the measurements of sources left out are inside"; empty: not known.
std::string held_words(double percent) {
  return percent <= 0 ? "" : fmt::format("; it holds {:.0f} % of the measurements of sources left out", percent);
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

std::string network_kind(const topology::Topology& t) {
  for (std::uint32_t l = 0; l < t.link_count(); ++l)
    if (const topology::LinkKind kind = t.link_class(topology::LinkId{l}).kind; topology::is_fabric(kind))
      return topology::name_of(kind);
  return {};
}

Status AccuracyTable::read_bands(const YamlNode& list, const char* of, std::vector<SizeErrors>& out) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    SizeErrors band;
    MapReader b = spec::sourced(list.item(i));
    b.required("from", &YamlNode::as_size, band.from);
    b.required(of, &YamlNode::as_string, band.of);
    b.optional("several_nodes", &YamlNode::as_bool, band.several_nodes);
    b.optional("p2p", &YamlNode::as_bool, band.p2p);
    b.optional("network", &YamlNode::as_string, band.network);
    b.optional("launch", &YamlNode::as_string, band.launch);
    BUSBAR_RETURN_IF_ERROR(read_errors(b, band.errors));
    out.push_back(band);
  }
  return {};
}

Status AccuracyTable::read_collectives(const YamlNode& root) {
  MapReader r = spec::sourced(root);
  r.optional("name");
  r.optional("fit");
  const YamlNode measured = r.required("measured");
  for (std::size_t i = 0; i < measured.size(); ++i) {
    SizeErrors one;
    MapReader m = spec::sourced(measured.item(i));
    m.required("from", &YamlNode::as_size, one.from);
    m.required("gpu", &YamlNode::as_string, one.of);
    m.optional("several_nodes", &YamlNode::as_bool, one.several_nodes);
    m.optional("p2p", &YamlNode::as_bool, one.p2p);
    m.required("configurations", &YamlNode::as_int, one.errors.configurations, 1, 1'000'000);
    BUSBAR_RETURN_IF_ERROR(m.finish());
    measured_.push_back(std::move(one));
  }
  BUSBAR_RETURN_IF_ERROR(read_bands(r.required("bands"), "joined", collectives_));
  MapReader left_out = spec::sourced(r.required("left_out"));
  BUSBAR_RETURN_IF_ERROR(read_bands(left_out.required("bands"), "joined", collectives_left_out_));
  BUSBAR_RETURN_IF_ERROR(left_out.finish());
  return r.finish();
}

const AccuracyTable::SizeErrors* AccuracyTable::at(const std::vector<SizeErrors>& bands, const SizeErrors& of,
                                                   Bytes size) {
  const SizeErrors* best = nullptr;
  const auto rank = [](const SizeErrors& b) { return std::pair(count(b.from), !b.launch.empty()); };
  for (const SizeErrors& b : bands)
    if (b.several_nodes == of.several_nodes && b.p2p == of.p2p && b.of == of.of && count(b.from) <= count(size) &&
        (b.network.empty() || b.network == of.network) && (b.launch.empty() || b.launch == of.launch) &&
        (best == nullptr || rank(b) > rank(*best)))
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
  const YamlNode bands = r.required("bands");
  for (std::size_t i = 0; i < bands.size(); ++i) {
    StepErrors of;
    MapReader b = spec::sourced(bands.item(i));
    b.required("experts", &YamlNode::as_bool, of.experts);
    b.required("known_clocks", &YamlNode::as_bool, of.known_clocks);
    BUSBAR_RETURN_IF_ERROR(read_errors(b, of.errors));
    training_.push_back(of);
  }
  MapReader layouts = spec::sourced(r.required("layouts"));
  layouts.required("percent", &YamlNode::as_number, layouts_percent_, 0, kMostPercent);
  layouts.optional("pairs");
  layouts.optional("jobs");
  BUSBAR_RETURN_IF_ERROR(layouts.finish());
  MapReader ties = spec::sourced(r.required("ties"));
  ties.required("percent", &YamlNode::as_number, tie_percent_, 0, kMostPercent);
  for (const char* key : {"jobs", "sources", "held_percent", "rows"}) ties.optional(key);
  BUSBAR_RETURN_IF_ERROR(ties.finish());
  return r.finish();
}

Result<AccuracyTable> AccuracyTable::load(const spec::Catalog& catalog) {
  AccuracyTable out;
  out.catalog_ = catalog;
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
  const int of_ten = band.held_percent > 0 ? static_cast<int>(std::lround(band.held_percent / 10)) : 9;
  return fmt::format("Accuracy{}: {} of 10 measurements took {} the predicted time: {}.", at, of_ten,
                     factor_words(band.low_percent, band.high_percent), band.basis);
}

Band AccuracyTable::collective(const spec::Cluster& cluster, Bytes size, bool several_nodes,
                               std::string_view launch) const {
  if (cluster.ideal)
    return {0, 0,
            "ideal machine: no software costs; exact for the given rates and latencies, not compared with measurements",
            true};
  const char* nodes = several_nodes ? "on several nodes" : "inside a node";
  const bool p2p = reaches_peers(cluster);
  const std::string gpu = (cluster.gpu_part.empty() ? "such GPU" : cluster.gpu_part) + (p2p ? "" : " with P2P off");
  const auto band_of = [](const SizeErrors& of, const std::string& basis) {
    Band out{of.errors.low_percent, of.errors.high_percent,
             fmt::format("{}{}, see docs/accuracy.md", basis, held_words(of.errors.held_percent))};
    out.held_percent = of.errors.held_percent;
    return out;
  };
  SizeErrors asked{.several_nodes = several_nodes, .of = name_of(joined_by(cluster.topology))};
  const SizeErrors* left_out = at(collectives_left_out_, asked, size);
  if (several_nodes) asked.network = network_kind(cluster.topology);
  asked.launch = launch;
  const SizeErrors* own = at(collectives_, asked, size);
  const SizeErrors* measured =
      at(measured_, {.several_nodes = several_nodes, .p2p = p2p, .of = cluster.gpu_part}, size);
  if (own != nullptr && measured != nullptr && own->from == measured->from)
    return band_of(*own, fmt::format("measured on {} ({} configurations) and other machines by {} sources, {}, from {} "
                                     "on{}{}",
                                     gpu, measured->errors.configurations, own->errors.sources, nodes,
                                     format_binary_size(count(own->from)), own->launch.empty() ? "" : ", launch mode ",
                                     own->launch));
  if (left_out == nullptr) return {};
  SizeErrors widest = *left_out;  // no narrower than where GPUs were measured
  if (own != nullptr) {
    widest.errors.low_percent = std::min(widest.errors.low_percent, own->errors.low_percent);
    widest.errors.high_percent = std::max(widest.errors.high_percent, own->errors.high_percent);
  }
  return band_of(widest,
                 fmt::format("no measurement of {} {}; estimated from sizes of {} and more, on boards left "
                             "out of the fit ({} configurations; boards whose GPUs are joined by {} count most)",
                             gpu, nodes, format_binary_size(count(left_out->from)), left_out->errors.configurations,
                             left_out->of));
}

Band AccuracyTable::training(const spec::Cluster& cluster, bool experts) const {
  const Result<std::string> curve = spec::clock_curve_of(cluster.gpu_part, catalog_);
  const bool known_clocks = curve.ok() && !curve->empty();
  for (const StepErrors& of : training_) {
    if (of.experts != experts || of.known_clocks != known_clocks) continue;
    Band out{of.errors.low_percent, of.errors.high_percent,
             fmt::format(
                 "from {} published runs of {} by {} sources, each left out of the fit{}, on GPUs with {}known clocks, "
                 "see docs/accuracy.md",
                 of.errors.configurations, experts ? "models with experts" : "dense models", of.errors.sources,
                 of.errors.held_percent > 0 ? fmt::format(" ({:.0f} % inside)", of.errors.held_percent) : "",
                 known_clocks ? "" : "un"),
             false, layouts_percent_};
    out.tie_percent = tie_percent_;
    out.held_percent = of.errors.held_percent;
    return out;
  }
  return {};
}

std::vector<Bytes> AccuracyTable::sizes() const {
  std::vector<Bytes> out;
  for (const SizeErrors& b : collectives_left_out_) out.push_back(b.from);
  std::sort(out.begin(), out.end(), [](Bytes a, Bytes b) { return count(a) < count(b); });
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace busbar::predict
