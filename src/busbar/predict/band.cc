#include "busbar/predict/band.h"

#include <fmt/core.h>

#include <algorithm>

#include "busbar/base/quantity.h"
#include "busbar/spec/reading.h"

namespace busbar {
namespace {

constexpr double kMostPercent = 10'000;

template <typename E>
Status read_errors(MapReader& r, E& out) {
  const auto number = [&r](const char* key, double least, double most, double& value) {
    const Result<double> read = r.required(key).as_number(least, most);
    if (read.ok())
      value = *read;
    else
      r.fail(read.error());
  };
  number("low_percent", -100, kMostPercent, out.low_percent);
  number("high_percent", -100, kMostPercent, out.high_percent);
  BUSBAR_ASSIGN(out.configurations, r.required("configurations").as_int(1, 1'000'000));
  accept_provenance(r);
  return r.finish();
}

}  // namespace

Status AccuracyTable::read_bands(const YamlNode& list, std::vector<SizeErrors>& out) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    SizeErrors band;
    MapReader b(list.item(i));
    b.required("from", &YamlNode::as_size, band.from);
    b.optional("several_nodes", &YamlNode::as_bool, band.several_nodes);
    BUSBAR_RETURN_IF_ERROR(read_errors(b, band.errors));
    out.push_back(band);
  }
  return {};
}

Status AccuracyTable::read_collectives(const YamlNode& root) {
  MapReader r(root);
  accept_provenance(r);
  r.optional("name");
  r.optional("fit");
  const YamlNode gpus = r.required("gpus");
  for (std::size_t i = 0; i < gpus.size(); ++i) gpus_.push_back(gpus.item(i).scalar());
  BUSBAR_RETURN_IF_ERROR(read_bands(r.required("bands"), collectives_));
  MapReader left_out(r.required("left_out"));
  accept_provenance(left_out);
  BUSBAR_RETURN_IF_ERROR(read_bands(left_out.required("bands"), collectives_left_out_));
  BUSBAR_RETURN_IF_ERROR(left_out.finish());
  return r.finish();
}

/// The band with the largest beginning that `size` reaches; null: none.
const AccuracyTable::SizeErrors* AccuracyTable::at(const std::vector<SizeErrors>& bands, Bytes size,
                                                   bool several_nodes) {
  const SizeErrors* best = nullptr;
  for (const SizeErrors& b : bands)
    if (b.several_nodes == several_nodes && count(b.from) <= count(size) &&
        (best == nullptr || count(b.from) > count(best->from)))
      best = &b;
  return best;
}

Status AccuracyTable::read_training(const YamlNode& root) {
  MapReader r(root);
  accept_provenance(r);
  r.optional("name");
  r.optional("fit");
  const YamlNode gpus = r.required("gpus");
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    GpuErrors of;
    MapReader g(gpus.item(i));
    of.gpu = g.required("name").scalar();
    BUSBAR_RETURN_IF_ERROR(read_errors(g, of.errors));
    training_.push_back(std::move(of));
  }
  MapReader left_out(r.required("left_out"));
  BUSBAR_RETURN_IF_ERROR(read_errors(left_out, training_left_out_));
  return r.finish();
}

Result<AccuracyTable> AccuracyTable::load(const Catalog& catalog) {
  AccuracyTable out;
  BUSBAR_ASSIGN(const YamlDocument collectives, catalog.load("accuracy", "collectives"));
  BUSBAR_RETURN_IF_ERROR(out.read_collectives(collectives.root()));
  BUSBAR_ASSIGN(const YamlDocument training, catalog.load("accuracy", "training"));
  BUSBAR_RETURN_IF_ERROR(out.read_training(training.root()));
  return out;
}

std::string words_of(const Band& band) {
  if (band.ideal) return fmt::format("I{}.", band.basis.substr(1));
  return fmt::format("Trust: the truth lies {:+.0f} % to {:+.0f} % from these times: {}.", band.low_percent,
                     band.high_percent, band.basis);
}

Band AccuracyTable::collective(const Cluster& cluster, Bytes size, bool several_nodes) const {
  if (cluster.ideal)
    return {0, 0,
            "ideal machine: no software costs; exact for the stated rates and latencies, no measurement is behind it",
            true};
  const SizeErrors* left_out = at(collectives_left_out_, size, false);
  const SizeErrors* own = at(collectives_, size, several_nodes);
  if (left_out == nullptr || own == nullptr) return {};
  if (std::find(gpus_.begin(), gpus_.end(), cluster.gpu_part) == gpus_.end())
    return {
        left_out->errors.low_percent, left_out->errors.high_percent,
        fmt::format("no {} among the measured machines; nine tenths of {} configurations from {} on, of boards that "
                    "were left out of the fit, docs/accuracy.md",
                    cluster.gpu_part.empty() ? "such GPU" : cluster.gpu_part, left_out->errors.configurations,
                    format_binary_size(count(left_out->from)))};
  return {std::min(own->errors.low_percent, left_out->errors.low_percent),
          std::max(own->errors.high_percent, left_out->errors.high_percent),
          fmt::format("nine tenths of {} measured configurations {} from {} on, and of boards left out of the fit, "
                      "docs/accuracy.md",
                      own->errors.configurations, several_nodes ? "over several nodes" : "inside a node",
                      format_binary_size(count(own->from)))};
}

Band AccuracyTable::training(const Cluster& cluster) const {
  for (const GpuErrors& of : training_)
    if (of.gpu == cluster.gpu_part)
      return {
          of.errors.low_percent, of.errors.high_percent,
          fmt::format("nine tenths of {} published runs on {}, docs/accuracy.md", of.errors.configurations, of.gpu)};
  return {training_left_out_.low_percent, training_left_out_.high_percent,
          fmt::format("no {} among the published runs; nine tenths of {} of series that were left out of the fit, "
                      "docs/accuracy.md",
                      cluster.gpu_part.empty() ? "such machine" : cluster.gpu_part, training_left_out_.configurations)};
}

std::vector<Bytes> AccuracyTable::sizes() const {
  std::vector<Bytes> out;
  for (const SizeErrors& b : collectives_)
    if (!b.several_nodes) out.push_back(b.from);
  std::sort(out.begin(), out.end(), [](Bytes a, Bytes b) { return count(a) < count(b); });
  return out;
}

}  // namespace busbar
