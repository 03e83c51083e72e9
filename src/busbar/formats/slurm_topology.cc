#include "busbar/formats/internal/slurm_topology.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "busbar/base/text.h"
#include "busbar/formats/lines.h"
#include "busbar/topology/part_figures.h"

namespace busbar::formats {
namespace {

constexpr std::size_t kMostNames = 100'000;

Status full(const std::vector<std::string>& names, const Where& where) {
  if (names.size() <= kMostNames) return {};
  return invalid(fmt::format("more than {} names in one list", kMostNames), where);
}

/// "1-3" or "07" after `stem`, each followed by `rest`, which may contain more brackets.
Status expand_range(std::string_view stem, std::string_view range, std::string_view rest, const Where& where,
                    std::vector<std::string>& out) {
  const std::size_t dash = range.find('-');
  const std::string_view first = range.substr(0, dash), last = dash == range.npos ? first : range.substr(dash + 1);
  std::int64_t low = 0, high = 0;
  LineCursor a(first), b(last);
  if (!a.integer(low) || !a.at_end() || !b.integer(high) || !b.at_end() || low < 0 || high < low ||
      high - low >= static_cast<std::int64_t>(kMostNames))
    return invalid(fmt::format("'{}' is not a range; write [1-16]", range), where);
  BUSBAR_ASSIGN(const std::vector<std::string> tails, expand_host_list(rest, where));
  for (std::int64_t n = low; n <= high; ++n) {
    const std::string head = fmt::format("{}{:0{}}", stem, n, first.size());
    if (tails.empty()) out.push_back(head);
    for (const std::string& tail : tails) out.push_back(head + tail);
    BUSBAR_RETURN_IF_ERROR(full(out, where));
  }
  return {};
}

class TopologyReader {
 public:
  Result<SlurmTopology> read(std::string_view text, const std::string& name) {
    LineSource source = LineSource::of_text(text, name);
    std::string_view raw;
    std::string joined;
    while (source.next(raw)) {
      const std::string_view line = trimmed(raw.substr(0, raw.find('#')));
      joined += line;
      if (joined.ends_with('\\')) {  // continues in the next line
        joined.back() = ' ';
        continue;
      }
      if (!joined.empty()) BUSBAR_RETURN_IF_ERROR(read_line(joined, source.where()));
      joined.clear();
    }
    if (out_.switches.empty()) return invalid("no SwitchName and no BlockName in this file", {name, 0, 0, ""});
    BUSBAR_RETURN_IF_ERROR(build(name));
    return std::move(out_);
  }

 private:
  Status read_line(std::string_view line, const Where& where) {
    SlurmSwitch s;
    s.line = where.line;
    LineCursor c(line);
    for (c.blanks(); !c.at_end(); c.blanks()) {
      const std::string_view word = c.word();
      const std::size_t equals = word.find('=');
      if (equals == word.npos) return invalid(fmt::format("'{}' is not a KEY=VALUE", word), where);
      const std::string key = lower(word.substr(0, equals));
      const std::string_view value = word.substr(equals + 1);
      if (key == "switchname" || key == "blockname") {
        s.name = value;
        s.is_block = key == "blockname";
      } else if (key == "nodes") {
        BUSBAR_ASSIGN(s.nodes, expand_host_list(value, where));
      } else if (key == "switches") {
        BUSBAR_ASSIGN(s.switches, expand_host_list(value, where));
      } else if (key == "linkspeed") {
        s.link_speed = value;
      } else if (key == "blocksizes") {
        BUSBAR_RETURN_IF_ERROR(read_sizes(value, where));
      } else {
        add_unknown(out_.unknown, where.line, fmt::format("key {}", word.substr(0, equals)));
      }
    }
    if (s.name.empty()) return {};
    const auto [at, fresh] = place_.try_emplace(s.name, out_.switches.size());
    if (!fresh) return invalid(fmt::format("{} is already in line {}", s.name, out_.switches[at->second].line), where);
    if (out_.switches.size() >= kMostNames) return invalid(fmt::format("more than {} switches", kMostNames), where);
    out_.switches.push_back(std::move(s));
    return {};
  }

  Status read_sizes(std::string_view value, const Where& where) {
    LineCursor c(value);
    do {
      std::int64_t n = 0;
      if (!c.integer(n) || n < 1) return invalid(fmt::format("'{}' is not a list of sizes; write 18,36", value), where);
      out_.block_sizes.push_back(n);
    } while (c.accept(","));
    return {};
  }

  /// 0 for switches of hosts, otherwise one above the highest below. Switches in a circle have no level.
  Status find_levels(const std::string& file) {
    level_.assign(out_.switches.size(), 0);
    for (std::size_t round = 0;; ++round) {
      bool changed = false;
      for (std::size_t i = 0; i < out_.switches.size(); ++i)
        for (const std::string& below : out_.switches[i].switches) {
          const Where where{file, out_.switches[i].line, 0, out_.switches[i].name};
          const auto at = place_.find(below);
          if (at == place_.end()) return invalid(fmt::format("no switch is called '{}'", below), where);
          if (level_[i] > level_[at->second]) continue;
          level_[i] = level_[at->second] + 1;
          changed = true;
          if (round > kMostLevels) return invalid("switches stand above each other in a circle", where);
        }
      if (!changed) return {};
    }
  }

  Status build(const std::string& file) {
    BUSBAR_RETURN_IF_ERROR(find_levels(file));
    topology::TopologyBuilder b;
    topology::NodeTemplate host;
    host.name = "host";
    topology::DeviceClass nic;
    nic.kind = topology::DeviceKind::kNic;
    host.devices.push_back({nic, "nic", -1});
    const std::uint32_t index = b.add_template(std::move(host));
    std::map<std::string, std::pair<topology::BlockId, int>> blocks;  // host -> block, line
    for (const SlurmSwitch& s : out_.switches)
      for (const std::string& n : s.nodes) {
        const auto [at, fresh] = blocks.try_emplace(n, topology::BlockId{}, s.line);
        if (!fresh)
          return invalid(fmt::format("{} is below another switch already, see line {}", n, at->second.second),
                         {file, s.line, 0, s.name});
        at->second.first = b.add_block(index);
        out_.hosts.push_back(n);
      }
    constexpr std::array kinds{topology::DeviceKind::kLeaf, topology::DeviceKind::kSpine, topology::DeviceKind::kCore};
    std::array<std::uint32_t, kinds.size()> count{};
    std::vector<topology::DeviceId> devices;
    for (std::size_t i = 0; i < out_.switches.size(); ++i) {
      const auto k = static_cast<std::size_t>(std::min<int>(level_[i], static_cast<int>(kinds.size()) - 1));
      topology::DeviceClass c;
      c.kind = kinds[k];
      devices.push_back(b.add_switch(std::move(c), fmt::format("{}{}", topology::name_of(kinds[k]), count[k]++)));
    }
    topology::LinkClass cable;
    cable.kind = topology::LinkKind::kIdeal;
    cable.wire_rate = topology::kUnknownLane;
    for (std::size_t i = 0; i < out_.switches.size(); ++i) {
      for (const std::string& n : out_.switches[i].nodes) b.connect(b.device(blocks.at(n).first, 0), devices[i], cable);
      for (const std::string& below : out_.switches[i].switches)
        b.connect(devices[place_.at(below)], devices[i], cable);
    }
    out_.topology = std::move(b).seal();
    out_.notes.push_back("Slurm's file has no rates and no parallel cables: one cable of 1 GB/s each is assumed");
    return {};
  }

  static constexpr std::size_t kMostLevels = 64;
  SlurmTopology out_;
  std::map<std::string, std::size_t> place_;
  std::vector<int> level_;
};

}  // namespace

Result<std::vector<std::string>> expand_host_list(std::string_view list, const Where& where) {
  std::vector<std::string> out;
  while (!list.empty()) {
    int depth = 0;
    std::size_t end = 0;
    for (; end < list.size() && (list[end] != ',' || depth > 0); ++end) {
      depth += list[end] == '[' ? 1 : list[end] == ']' ? -1 : 0;
      if (depth < 0 || depth > 1) return invalid(fmt::format("brackets in '{}' do not match", list), where);
    }
    if (depth != 0) return invalid(fmt::format("brackets in '{}' do not match", list), where);
    std::string_view item = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    const std::size_t open = item.find('[');
    if (open == item.npos) {
      if (!item.empty()) out.emplace_back(item);
    } else {
      const std::size_t close = item.find(']', open);
      const std::string_view ranges = item.substr(open + 1, close - open - 1);
      if (std::count(item.begin(), item.end(), '[') > 4)
        return invalid(fmt::format("more than four brackets in '{}'", item), where);
      for (const std::string_view range : split_at(ranges, ','))
        BUSBAR_RETURN_IF_ERROR(expand_range(item.substr(0, open), range, item.substr(close + 1), where, out));
    }
    BUSBAR_RETURN_IF_ERROR(full(out, where));
  }
  return out;
}

bool looks_like_slurm_topology(std::string_view head) {
  const std::string text = lower(head);
  return text.find("switchname=") != text.npos || text.find("blockname=") != text.npos || looks_like_slurm_yaml(head);
}

Result<SlurmTopology> read_slurm_topology(std::string_view text, const std::string& name) {
  if (!looks_like_slurm_yaml(text)) return TopologyReader().read(text, name);
  BUSBAR_ASSIGN(const std::string conf, slurm_conf_of_yaml(text, name));
  return TopologyReader().read(conf, name);
}

}  // namespace busbar::formats
