#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>

#include "busbar/accuracy/localize.h"
#include "busbar/base/input.h"
#include "busbar/base/json.h"
#include "busbar/base/quantity.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/session.h"
#include "busbar/formats/odd_cables.h"
#include "busbar/step/machine.h"

namespace busbar {
namespace {

struct LocalizeFlags {
  CommonOptions common;
  std::string first, cluster;
  std::vector<std::string> more;
  double threshold = 15;
};

constexpr std::size_t kShownParts = 5;

/// What to do about a part, by rule.
const char* fix_of(const std::string& rule) {
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

std::string parts_of(const LocatedPart& p) {
  std::string out;
  for (std::size_t i = 0; i < std::min(p.parts.size(), kShownParts); ++i) out += (i ? ", " : "") + p.parts[i];
  return p.parts.size() > kShownParts ? fmt::format("{} and {} more", out, p.parts.size() - kShownParts) : out;
}

std::string summary_of(const Localization& l) {
  const auto slow = std::count_if(l.times.begin(), l.times.end(), [](const SubsetTime& m) { return m.slow; });
  if (slow == 0)
    return fmt::format(
        "Nothing stands out: all {} measurements are alike. A fault of all parts shows in busbar expect.",
        l.times.size());
  if (l.found.empty())
    return fmt::format("{} of {} measurements are slow, but they share no part.", slow, l.times.size());
  const LocatedPart& first = l.found.front();
  const std::string like =
      first.parts.size() > 1 ? fmt::format(" or {} that these measurements cannot tell from it", first.parts.size() - 1)
                             : std::string();
  if (l.named) return fmt::format("The fault is {} ({}){}.", first.parts.front(), first.words, like);
  return fmt::format("Cannot tell which part: {} fits best, others fit as well. Measure more pairs, nodes or rails.",
                     first.parts.front());
}

Json finding_of(const Localization& l) {
  const LocatedPart& first = l.found.front();
  Json candidates = Json::array(), evidence = Json::array();
  for (const LocatedPart& p : l.found) {
    if (candidates.size() >= 20) break;
    for (const std::string& part : p.parts)
      candidates.push_back({{"part", part}, {"confidence", p.confidence}, {"against", p.wrong}});
  }
  double cost = 0;
  for (const SubsetTime& m : l.times) {
    if (!m.slow) continue;
    cost = std::max(cost, m.slower_percent);
    evidence.push_back(
        {{"file", m.file}, {"line", m.line}, {"text", fmt::format("{}: {:.0f} % slower", m.name, m.slower_percent)}});
  }
  return {{"rule", l.named ? first.rule : std::string("cannot-tell")},
          {"severity", l.named ? "fail" : "unknown"},
          {"part", l.named ? Json(first.parts.front()) : Json(nullptr)},
          {"candidates", candidates},
          {"evidence", evidence},
          {"explanation", summary_of(l)},
          {"fix", fix_of(first.rule)},
          {"cost_percent", cost}};
}

Document to_document(const LocalizeFlags& o, const Localization& l) {
  Document d{"Which part of " + o.cluster + " is slow", o.common.typed, {}};
  d.add(Highlight{summary_of(l)});
  Table parts{"Parts that explain the slow measurements",
              {to_left("part"), "confidence (%)", "measurements against it", to_left("what")}};
  for (const LocatedPart& p : l.found)
    if (parts.rows.size() < kShownParts)
      parts.rows.push_back({parts_of(p), fmt::format("{:.0f}", 100 * p.confidence), std::to_string(p.wrong), p.words});
  if (!parts.rows.empty()) d.add(parts);
  if (l.named) d.add(Paragraph{fmt::format("To do: {}.", fix_of(l.found.front().rule))});
  Table slow{"Slow measurements", {to_left("measurement"), "slower than its like (%)", to_left("file")}};
  for (const SubsetTime& m : l.times)
    if (m.slow) slow.rows.push_back({m.name, fmt::format("{:.0f}", m.slower_percent), m.file});
  constexpr std::size_t kRows = 20;
  if (slow.rows.size() > kRows) {
    slow.note = fmt::format("{} more in --json.", slow.rows.size() - kRows);
    slow.rows.resize(kRows);
  }
  if (!slow.rows.empty()) d.add(slow);
  return d;
}

/// Of files that list a network; empty if the first one does not.
Result<std::optional<std::vector<std::pair<std::string, OddCable>>>> cables_of(const std::vector<std::string>& files) {
  std::vector<std::pair<std::string, OddCable>> out;
  for (const std::string& file : files) {
    BUSBAR_ASSIGN(ImportSource source, ImportSource::open(file));
    BUSBAR_ASSIGN(const auto odd, find_odd_cables(source));
    if (!odd && &file == &files.front()) return std::optional<decltype(out)>();
    if (!odd) return invalid("lists no network, as the first file does; give both kinds apart", {file, 0, 0, ""});
    for (const OddCable& c : *odd) out.emplace_back(file, c);
  }
  return std::optional(std::move(out));
}

constexpr std::size_t kMostCables = 8;  // on the terminal

Result<int> report_cables(const LocalizeFlags& o, const std::vector<std::pair<std::string, OddCable>>& odd) {
  Json j{{"schema", "busbar.localize/1"}, {"findings", Json::array()}, {"unknown", Json::array()}};
  Document d{"Cables that differ from their like", o.common.typed, {}};
  Table t{d.title, {to_left("part"), to_left("is"), to_left("evidence"), "line"}};
  for (const auto& [file, c] : odd) {
    const char* rule = c.missing ? "missing-cable" : "slow-cable";
    j["findings"].push_back({{"rule", rule},
                             {"severity", "fail"},
                             {"part", c.part},
                             {"candidates", Json::array({{{"part", c.part}, {"confidence", 1}}})},
                             {"evidence", Json::array({{{"file", file}, {"line", c.line}, {"text", c.explanation}}})},
                             {"explanation", c.explanation},
                             {"fix", fix_of("slow-cable")}});
    if (t.rows.size() < kMostCables)
      t.rows.push_back(
          {c.part, c.missing ? "missing" : "slow", c.explanation, c.line > 0 ? std::to_string(c.line) : ""});
  }
  if (odd.size() > kMostCables) t.note = fmt::format("and {} more; --json lists all", odd.size() - kMostCables);
  d.add(Highlight{odd.empty() ? std::string("All cables are like their like: none is slow or missing.")
                              : fmt::format("{} cables are slow or missing.", odd.size())});
  if (!odd.empty()) {
    d.add(t);
    d.add(Paragraph{fmt::format("To do: {}.", fix_of("slow-cable"))});
  }
  return deliver(o.common, j, d, odd.empty() ? 0 : 1);
}

/// The words that are files. Without --cluster the first word that is none names the machine.
std::vector<std::string> take_cluster(LocalizeFlags& o) {
  std::vector<std::string> files{o.first};
  files.insert(files.end(), o.more.begin(), o.more.end());
  const auto machine = std::find_if(files.begin(), files.end(), [](const std::string& word) {
    return word.ends_with(".yaml") || (word != "-" && !names_input(word));
  });
  if (files.size() == 1 || !o.cluster.empty() || machine == files.end()) return files;
  o.cluster = *machine;
  files.erase(machine);
  return files;
}

Result<int> run_localize(LocalizeFlags& o) {
  const std::vector<std::string> files = take_cluster(o);
  BUSBAR_ASSIGN(const auto odd, cables_of(files));
  if (odd) return report_cables(o, *odd);
  if (o.cluster.empty()) return flag_error("--cluster", "no machine given; add --cluster dgx-h100:4, or a file");
  BUSBAR_ASSIGN(const Cluster cluster, load_machine(o.cluster, o.common.overrides));
  std::vector<SubsetTime> times;
  for (const std::string& file : files) {
    BUSBAR_ASSIGN(std::vector<SubsetTime> more, read_subset_times(file, cluster.topology));
    times.insert(times.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  if (times.size() < 2)
    return invalid("one measurement has nothing to be compared with; give those of other nodes, rails or pairs", {});
  constexpr double kMostPercent = 1000;
  if (o.threshold <= 0 || o.threshold > kMostPercent)
    return flag_error("--threshold", fmt::format("{:g} is not above 0 and at most {}", o.threshold, kMostPercent));
  BUSBAR_ASSIGN(const Localization l, localize(std::move(times), cluster, o.threshold));
  Json j{{"schema", "busbar.localize/1"}, {"cluster", o.cluster},     {"threshold_percent", o.threshold},
         {"findings", Json::array()},     {"unknown", Json::array()}, {"measurements", Json::array()}};
  if (!l.found.empty()) j["findings"].push_back(finding_of(l));
  for (const SubsetTime& m : l.times)
    j["measurements"].push_back({{"name", m.name},
                                 {"kind", m.kind},
                                 {"file", m.file},
                                 {"line", m.line},
                                 {"slower_percent", m.slower_percent},
                                 {"slow", m.slow}});
  j["inputs_hash"] = inputs_hash(o.common, cluster.text);
  const bool any = std::any_of(l.times.begin(), l.times.end(), [](const SubsetTime& m) { return m.slow; });
  return deliver(o.common, j, to_document(o, l), any ? 1 : 0);
}

}  // namespace

Command localize_command(const std::string& typed) {
  const auto o = std::make_shared<LocalizeFlags>();
  Command c =
      new_command(o->common, typed, "localize", "find the slow part from results of single nodes, rails and pairs");
  c.examples =
      "  busbar localize node-*.txt rail-*.txt pair-*.txt --cluster dgx-h100:4\n"
      "  busbar localize pairs.csv --cluster dgx-a100:16 --threshold 10 --json\n"
      "  busbar localize dgx-h100 p2pBandwidthLatencyTest.txt\n"
      "  busbar localize ibnetdiscover.txt\n";
  c.positionals = {{"FILE", "results of parts; docs/doctor.md says which files and names. Also the machine", &o->first,
                    true, &o->more}};
  c.flags = {cluster_flag(o->cluster),
             {"--threshold", "PERCENT", "how much slower than equal parts counts as slow (default 15)", "Rows",
              &o->threshold}};
  add_common_flags(c, o->common, Engines::kNone, false);
  c.run = [o] { return run_localize(*o); };
  return c;
}

}  // namespace busbar
