#include "busbar/questions/localize_question.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "busbar/accuracy/localize.h"
#include "busbar/base/input.h"
#include "busbar/formats/odd_cables.h"
#include "busbar/questions/machine_request.h"
#include "busbar/questions/question.h"
#include "busbar/step/machine.h"

namespace busbar::questions {

const Record& record_of(const LocalizeRequest*) {
  static const Record record(
      "localize request",
      joined({{Field("files", &LocalizeRequest::files, "",
                     "results of parts; docs/doctor.md says which files and names. Also the machine")
                   .takes("FILE")
                   .as_word(),
               Field("cluster", &LocalizeRequest::cluster, "",
                     "the machine: preset, NAME:N or file; also as the argument CLUSTER")
                   .takes("CLUSTER")
                   .of("Machine"),
               Field("threshold", &LocalizeRequest::threshold, "%",
                     "how much slower than equal parts counts as slow (default 15)")
                   .takes("PERCENT")
                   .of("Rows")},
              fields_inside(&LocalizeRequest::machine)}));
  return record;
}

const Record& record_of(const PartTime*) {
  static const Record record(
      "measurement", {{"name", &PartTime::name, "", "node 2, rail 5, gpu 0 to gpu 9"},
                      {"kind", &PartTime::kind, "", "measurements of one kind are compared"},
                      {"file", &PartTime::file, "", "where it was read"},
                      {"line", &PartTime::line, "", "from 1; 0: not known"},
                      {"slower_percent", &PartTime::slower_percent, "%", "than the best quarter of those alike"},
                      {"slow", &PartTime::slow, "", "slower than the threshold"}});
  return record;
}

const Record& record_of(const LocalizeResult*) {
  static const Record record(
      "localize",
      {Field("cluster", &LocalizeResult::cluster, "", "the machine as named; absent: the files list cables")
           .or_absent(),
       Field("threshold_percent", &LocalizeResult::threshold_percent, "%", "what counts as slow").or_absent(),
       {"findings", &LocalizeResult::findings, "", "the slow part; for files that list cables, each odd cable"},
       {"unknown", &LocalizeResult::unknown, "", "what was not understood"},
       Field("measurements", &LocalizeResult::measurements, "", "all results that were read").or_absent(),
       Field("inputs_hash", &LocalizeResult::inputs_hash, "", "of everything that the result depends on").or_absent()});
  return record;
}

namespace {

/// What to do about a part, by rule.
const char* fix_for(const std::string& rule) {
  if (rule == "slow-cable" || rule == "slow-uplink")
    return "read the port's speed, width and errors (ibstat, ibdiagnet or ethtool -S); clean, reseat or swap the cable";
  if (rule == "slow-nic" || rule == "slow-nic-slot" || rule == "slow-gpu-slot")
    return "compare LnkSta with LnkCap (lspci -vvv, nvidia-smi -q); reseat the card, then swap it with a neighbour";
  if (rule == "slow-nvlink" || rule == "slow-gpu" || rule == "slow-nvswitch")
    return "read links and errors (nvidia-smi nvlink -s, -e), clocks and throttling (nvidia-smi -q -d PERFORMANCE); "
           "reset or swap the GPU";
  if (rule == "slow-node")
    return "drain the node; run its checks alone (each GPU, each NIC), compare clocks and firmware";
  return "compare its ports with those of a like switch: speed, width, errors, flow control";
}

std::string summary_of(const accuracy::Localization& l) {
  const auto slow = std::count_if(l.times.begin(), l.times.end(), [](const accuracy::SubsetTime& m) { return m.slow; });
  if (slow == 0)
    return fmt::format(
        "Nothing stands out: all {} measurements are alike. A fault of all parts shows in busbar expect.",
        l.times.size());
  if (l.found.empty())
    return fmt::format("{} of {} measurements are slow, but they share no part.", slow, l.times.size());
  const accuracy::LocatedPart& first = l.found.front();
  const std::string like =
      first.parts.size() > 1 ? fmt::format(" or {} that these measurements cannot tell from it", first.parts.size() - 1)
                             : std::string();
  if (l.named) return fmt::format("The fault is {} ({}){}.", first.parts.front(), first.words, like);
  return fmt::format("Cannot tell which part: {} fits best, others fit as well. Measure more pairs, nodes or rails.",
                     first.parts.front());
}

Finding finding_of(const accuracy::Localization& l) {
  const accuracy::LocatedPart& first = l.found.front();
  Finding out{l.named ? first.rule : "cannot-tell",
              l.named ? "fail" : "unknown",
              {},
              {},
              {},
              summary_of(l),
              fix_for(first.rule),
              0.0};
  if (l.named) out.part = first.parts.front();
  constexpr std::size_t kMostCandidates = 20;
  for (const accuracy::LocatedPart& p : l.found) {
    if (out.candidates.size() >= kMostCandidates) break;
    for (const std::string& part : p.parts)
      out.candidates.push_back({part, p.confidence, static_cast<std::uint32_t>(p.wrong)});
  }
  for (const accuracy::SubsetTime& m : l.times) {
    if (!m.slow) continue;
    out.cost_percent = std::max(*out.cost_percent, m.slower_percent);
    out.evidence.push_back({m.file, m.line, fmt::format("{}: {:.0f} % slower", m.name, m.slower_percent)});
  }
  return out;
}

/// Of files that list a network; empty if the first one does not.
Result<std::optional<std::vector<std::pair<std::string, formats::OddCable>>>> cables_of(
    const std::vector<std::string>& files) {
  std::vector<std::pair<std::string, formats::OddCable>> out;
  for (const std::string& file : files) {
    BUSBAR_ASSIGN(formats::ImportSource source, formats::ImportSource::open(file));
    BUSBAR_ASSIGN(const auto odd, formats::find_odd_cables(source));
    if (!odd && &file == &files.front()) return std::optional<decltype(out)>();
    if (!odd) return invalid("lists no network, as the first file does; give both kinds apart", {file, 0, 0, ""});
    for (const formats::OddCable& c : *odd) out.emplace_back(file, c);
  }
  return std::optional(std::move(out));
}

LocalizeResult result_of(const std::vector<std::pair<std::string, formats::OddCable>>& odd) {
  LocalizeResult r;
  for (const auto& [file, c] : odd)
    r.findings.push_back({c.missing ? "missing-cable" : "slow-cable",
                          "fail",
                          c.part,
                          {{c.part, 1, {}}},
                          {{file, c.line, c.explanation}},
                          c.explanation,
                          fix_for("slow-cable"),
                          {}});
  r.exit_status = odd.empty() ? 0 : 1;
  return r;
}

LocalizeResult result_of(const accuracy::Localization& l, const std::string& cluster, double threshold) {
  LocalizeResult r;
  r.cluster = cluster;
  r.threshold_percent = threshold;
  if (!l.found.empty()) r.findings.push_back(finding_of(l));
  r.measurements.emplace();
  for (const accuracy::SubsetTime& m : l.times) {
    r.measurements->push_back({m.name, m.kind, m.file, m.line, m.slower_percent, m.slow});
    if (m.slow) r.exit_status = 1;
  }
  for (const accuracy::LocatedPart& p : l.found)
    r.found.push_back({p.parts, p.confidence, static_cast<std::uint32_t>(p.wrong), p.words});
  r.named = l.named;
  r.summary = summary_of(l);
  return r;
}

/// Takes the machine out of `files`: without a cluster, the first word that is no file.
std::string take_cluster(const std::string& cluster, std::vector<std::string>& files) {
  const auto machine = std::find_if(files.begin(), files.end(), [](const std::string& word) {
    return word.ends_with(".yaml") || (word != "-" && !names_input(word));
  });
  if (files.size() == 1 || !cluster.empty() || machine == files.end()) return cluster;
  std::string out = *machine;
  files.erase(machine);
  return out;
}

Result<std::vector<accuracy::SubsetTime>> read_times(const std::vector<std::string>& files,
                                                     const topology::Topology& topology) {
  std::vector<accuracy::SubsetTime> times;
  for (const std::string& file : files) {
    BUSBAR_ASSIGN(std::vector<accuracy::SubsetTime> more, accuracy::read_subset_times(file, topology));
    times.insert(times.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  if (times.size() < 2)
    return invalid("one measurement has nothing to be compared with; give those of other nodes, rails or pairs", {});
  return times;
}

}  // namespace

Result<LocalizeResult> answer(const LocalizeRequest& q, const Context&) {
  std::vector<std::string> files = q.files;
  const std::string machine = take_cluster(q.cluster, files);
  BUSBAR_ASSIGN(const auto odd, cables_of(files));
  if (odd) return result_of(*odd);
  if (machine.empty()) return invalid("no machine given; add --cluster dgx-h100:4, or a file", field_of("cluster"));
  BUSBAR_ASSIGN(const spec::Cluster cluster, step::load_machine(machine, q.machine));
  BUSBAR_ASSIGN(std::vector<accuracy::SubsetTime> times, read_times(files, cluster.topology));
  constexpr double kMostPercent = 1000;
  if (q.threshold <= 0 || q.threshold > kMostPercent)
    return invalid(fmt::format("{:g} is not above 0 and at most {}", q.threshold, kMostPercent), field_of("threshold"));
  BUSBAR_ASSIGN(const accuracy::Localization l, accuracy::localize(std::move(times), cluster, q.threshold));
  LocalizeResult r = result_of(l, machine, q.threshold);
  r.inputs_hash = inputs_hash("localize", q, cluster.text);
  return r;
}

Question localize_question() {
  return make_question<LocalizeRequest, LocalizeResult>(
      "localize", "find the slow part from results of single nodes, rails and pairs",
      "  busbar localize node-*.txt rail-*.txt pair-*.txt --cluster dgx-h100:4\n"
      "  busbar localize pairs.csv --cluster dgx-a100:16 --threshold 10 --json\n"
      "  busbar localize dgx-h100 p2pBandwidthLatencyTest.txt\n"
      "  busbar localize ibnetdiscover.txt\n",
      50);
}

}  // namespace busbar::questions
