#include "busbar/formats/internal/ib_fabric.h"

#include <fmt/core.h>

#include <cmath>

#include "busbar/formats/internal/ib_fabric_lines.h"

namespace busbar::formats {
namespace {

using namespace ib_fabric;

constexpr std::int64_t kHighestPort = 1 << 16;

bool take_port(LineCursor& c, int& out) { return c.integer(out, 0, kHighestPort); }

/// "S-2c5eab0300b87b40" between quotes.
struct NodeName {
  bool is_switch = false;
  std::uint64_t guid = 0;
};
std::optional<NodeName> take_node(LineCursor& c) {
  NodeName n;
  if (!c.accept("\"")) return std::nullopt;
  n.is_switch = c.accept("S-");
  if (!n.is_switch && !c.accept("H-") && !c.accept("R-")) return std::nullopt;
  if (!c.hexadecimal(n.guid) || !c.accept("\"")) return std::nullopt;
  return n;
}

/// The text between the next two `quote`s.
std::string_view quoted(std::string_view text, char quote) {
  const std::size_t first = text.find(quote);
  if (first == text.npos) return {};
  const std::size_t last = text.find(quote, first + 1);
  return last == text.npos ? std::string_view() : text.substr(first + 1, last - first - 1);
}

int lid_in(std::string_view text) {
  const std::size_t at = text.find("lid ");
  int lid = -1;
  if (at != text.npos) LineCursor(text.substr(at + 4)).integer(lid, 0, (1 << 20) - 1);
  return lid;
}

/// Lines that are neither empty nor comments, each with its number in `number`.
template <class F>
void for_each_line(LineSource& source, int& number, F&& f) {
  source.skip_prefixes();
  std::string_view raw;
  while (source.next(raw)) {
    number = source.number();
    const std::string_view line = trimmed(raw);
    if (!line.empty() && line[0] != '#') f(line);
  }
}

class DiscoverReader {
 public:
  Result<ImportedFabric> read(LineSource& source) {
    for_each_line(source, line_, [this](std::string_view line) {
      if (!read_line(line) && !is_header(line)) unknown(line);
    });
    BUSBAR_RETURN_IF_ERROR(build_topology(all_.out, source.name()));
    return std::move(all_.out);
  }

 private:
  static bool is_header(std::string_view line) {
    for (const char* known : {"vendid=", "devid=", "sysimgguid=", "switchguid=", "caguid=", "rtguid=", "Chassis ",
                              "Non-Chassis", "DDR", "QDR"})
      if (line.starts_with(known)) return true;
    return false;
  }

  void unknown(std::string_view line) {
    constexpr std::size_t kShown = 60, kMost = 200;
    if (all_.out.unknown.size() < kMost)
      add_unknown(all_.out.unknown, line_, "line: " + std::string(line.substr(0, kShown)));
    else
      ++all_.out.unknown.back().count;
  }

  bool read_line(std::string_view line) {
    LineCursor c(line);
    if (c.accept("Switch")) return read_node(c, true);
    if (c.accept("Ca") || c.accept("Rt")) return read_node(c, false);
    if (c.accept("[")) return read_port(c);
    if (c.accept("CA ")) return read_listed(c, false);
    if (c.accept("SW ")) return read_listed(c, true);
    return c.accept("RT ") && read_listed(c, false);
  }

  /// Switch 65 "S-<guid>"  # "name" enhanced port 0 lid 73 lmc 0
  bool read_node(LineCursor c, bool is_switch) {
    int ports = 0;
    c.blanks();
    if (!take_port(c, ports)) return false;
    c.blanks();
    const auto node = take_node(c);
    if (!node) return false;
    current_ = all_.device(node->guid, is_switch, quoted(c.rest(), '"'), line_);
    FabricDevice& d = all_.at(*current_);
    d.ports = ports;
    const std::size_t name_end = c.rest().rfind('"');
    if (name_end != std::string_view::npos) d.lid = lid_in(c.rest().substr(name_end));
    return true;
  }

  /// [1] "H-<guid>"[1](<port guid>)  # "name" lid 647 4xNDR
  bool read_port(LineCursor c) {
    FabricCable cable;
    cable.line = line_;
    if (!current_ || !take_port(c, cable.a.port) || !c.accept("]")) return false;
    if (c.accept("(")) {
      c.until(")");
      c.accept(")");
    }
    c.blanks();
    const auto node = take_node(c);
    if (!node || !c.accept("[") || !take_port(c, cable.b.port) || !c.accept("]")) return false;
    cable.a.device = *current_;
    const std::string_view comment = c.rest().substr(std::min(c.rest().find('#'), c.rest().size()));
    cable.b.device = all_.device(node->guid, node->is_switch, quoted(comment, '"'), line_);
    const std::size_t name_end = comment.rfind('"');
    LineCursor rate(name_end == comment.npos ? comment : comment.substr(name_end + 1));
    for (rate.blanks(); !rate.at_end(); rate.blanks()) {
      if (take_rate(rate, cable)) break;
      rate.word();
    }
    all_.cable(std::move(cable));
    return true;
  }

  /// CA 134  1 0x7cfe.. 4x EDR - SW 1719 10 0x7cfe.. ( 'host HCA-1' - 'switch' )
  bool read_listed(LineCursor c, bool is_switch) {
    FabricCable cable;
    cable.line = line_;
    int lid = 0, peer_lid = 0;
    std::uint64_t guid = 0, peer = 0;
    c.blanks();
    if (!take_port(c, lid)) return false;
    c.blanks();
    if (!take_port(c, cable.a.port)) return false;
    c.blanks();
    if (!c.hexadecimal(guid)) return false;
    c.blanks();
    if (!take_rate(c, cable)) return false;
    c.blanks();
    if (!c.accept("- ")) {  // no link at this port
      const std::string_view name = c.rest().starts_with('\'') ? quoted(c.rest(), '\'') : c.rest();
      all_.at(all_.device(guid, is_switch, name, line_)).lid = lid;
      ++all_.out.unconnected;
      return true;
    }
    const bool peer_switch = c.accept("SW ");
    if (!peer_switch && !c.accept("CA ") && !c.accept("RT ")) return false;
    c.blanks();
    if (!take_port(c, peer_lid)) return false;
    c.blanks();
    if (!take_port(c, cable.b.port)) return false;
    c.blanks();
    if (!c.hexadecimal(peer)) return false;
    const std::string_view names = c.rest();
    const std::size_t middle = names.find("' - '");
    const std::size_t first = names.find('\''), last = names.rfind('\'');
    if (middle == names.npos || first >= middle || last < middle + 5) return false;
    cable.a.device = all_.device(guid, is_switch, names.substr(first + 1, middle - first - 1), line_);
    cable.b.device = all_.device(peer, peer_switch, names.substr(middle + 5, last - middle - 5), line_);
    all_.at(cable.a.device).lid = lid;
    all_.at(cable.b.device).lid = peer_lid;
    all_.cable(std::move(cable));
    return true;
  }

  Collector all_;
  std::optional<std::size_t> current_;
  int line_ = 0;
};

/// "4X 25.78125 Gbps": the signalling rate per lane determines the name of the speed.
std::string speed_of(double Gbps) {
  struct Rate {
    double Gbps;
    const char* name;
  };
  constexpr Rate kRates[] = {{2.5, "SDR"},      {5.0, "DDR"},    {10.0, "QDR"},   {10.3125, "FDR10"}, {14.0625, "FDR"},
                             {25.78125, "EDR"}, {53.125, "HDR"}, {106.25, "NDR"}, {212.5, "XDR"}};
  for (const Rate& r : kRates)
    if (std::abs(Gbps - r.Gbps) < 0.01) return r.name;
  return fmt::format("{} Gbps", Gbps);
}

class LinkInfoReader {
 public:
  Result<ImportedFabric> read(LineSource& source) {
    for_each_line(source, line_, [this](std::string_view line) {
      if (!read_header(line) && !read_port(line)) add_unknown(all_.out.unknown, line_, "line that is not a port");
    });
    join_peers();
    BUSBAR_RETURN_IF_ERROR(build_topology(all_.out, source.name()));
    return std::move(all_.out);
  }

 private:
  /// "Switch: 0x7cfe9003009ce5b0 ib-i1l1s01:" and "CA: o0001 HCA-1:"
  bool read_header(std::string_view line) {
    LineCursor c(line);
    const bool is_switch = c.accept("Switch: ");
    if (!is_switch && !c.accept("CA: ")) return false;
    std::string_view name = c.rest();
    current_.reset();
    is_switch_ = is_switch;
    if (is_switch) {
      std::uint64_t guid = 0;
      if (!c.hexadecimal(guid)) return false;
      name = trimmed(c.rest());
      if (name.ends_with(':')) name.remove_suffix(1);
      current_ = all_.device(guid, true, name, line_);
      return true;
    }
    if (name.ends_with(':')) name.remove_suffix(1);
    name_ = trimmed(name);
    return true;
  }

  /// "  1719   10[  ] ==( 4X  25.78125 Gbps Active/  LinkUp)==>  134  1[  ] \"o0001 HCA-1\" ( Could be .. )"; lines of
  /// a CA begin with the port's GUID.
  bool read_port(std::string_view line) {
    const std::size_t arrow = line.find("==("), end = line.find(")==>");
    if (arrow == line.npos || end == line.npos || end < arrow) return false;
    LineCursor left(line);
    FabricCable cable;
    cable.line = line_;
    if (left.rest().starts_with("0x")) {
      std::uint64_t guid = 0;
      left.hexadecimal(guid);
      left.blanks();
      if (!current_) current_ = all_.device(guid, is_switch_, name_, line_);
    }
    if (!current_) return false;
    int lid = 0;
    if (!take_port(left, lid)) return false;
    left.blanks();
    if (!take_port(left, cable.a.port)) return false;
    const std::string_view state = line.substr(arrow + 3, end - arrow - 3);
    const std::string_view right = trimmed(line.substr(end + 4));
    all_.at(*current_).lid = lid;
    if (lid > 0)
      by_lid_.try_emplace(lid, *current_);
    else
      by_name_.try_emplace(all_.at(*current_).description, *current_);
    if (state.find("LinkUp") == state.npos || quoted(right, '"').empty()) {
      ++all_.out.unconnected;
      return true;
    }
    LineCursor rate(trimmed(state));
    double Gbps = 0;
    if (!rate.integer(cable.width, 1, 64) || !rate.accept("X")) return false;
    rate.blanks();
    if (!rate.number(Gbps)) return false;
    cable.speed = speed_of(Gbps);
    return read_peer(right, std::move(cable));
  }

  bool read_peer(std::string_view right, FabricCable cable) {
    LineCursor c(right);
    int lid = 0;
    std::uint64_t guid = 0;
    if (c.rest().starts_with("0x")) {
      c.hexadecimal(guid);
      c.blanks();
    }
    if (!take_port(c, lid)) return false;
    c.blanks();
    if (!take_port(c, cable.b.port)) return false;
    const std::string name(quoted(right, '"'));
    cable.a.device = *current_;
    const std::size_t open = right.rfind('('), close = right.rfind(')');
    if (open != right.npos && close > open) cable.remark = trimmed(right.substr(open + 1, close - open - 1));
    pending_.push_back({std::move(cable), guid, lid, name});
    return true;
  }

  struct Pending {
    FabricCable cable;
    std::uint64_t guid = 0;
    int lid = 0;
    std::string name;
  };

  /// A peer that has a block of its own.
  std::optional<std::size_t> known_peer(const Pending& p) const {
    if (const auto at = by_lid_.find(p.lid); at != by_lid_.end()) return at->second;
    if (const auto at = by_name_.find(p.name); p.lid == 0 && p.guid == 0 && at != by_name_.end()) return at->second;
    return std::nullopt;
  }

  /// Without -l, a line lacks the GUID of its peer. The LID identifies the peer, or its name where no subnet manager
  /// gave it a LID.
  void join_peers() {
    for (Pending& p : pending_) {
      constexpr std::uint64_t kMade = std::uint64_t{1} << 63;  // for devices without a GUID
      const std::uint64_t number = p.lid > 0 ? static_cast<std::uint64_t>(p.lid) : (kMade >> 1) + by_name_.size();
      const auto known = known_peer(p);
      p.cable.b.device =
          known ? *known
                : all_.device(p.guid != 0 ? p.guid : kMade | number, looks_like_switch(p.name), p.name, p.cable.line);
      if (p.lid == 0) by_name_.try_emplace(p.name, p.cable.b.device);
      all_.at(p.cable.b.device).lid = p.lid;
      all_.cable(std::move(p.cable));
    }
  }

  /// Adapters are named "host mlx5_0" or "host HCA-1".
  static bool looks_like_switch(std::string_view name) {
    const std::string_view last = name.substr(name.rfind(' ') + 1);
    return !last.starts_with("mlx") && !last.starts_with("HCA-") && name.find("ConnectX") == name.npos &&
           name.find("Aggregation Node") == name.npos;
  }

  Collector all_;
  std::optional<std::size_t> current_;
  std::vector<Pending> pending_;
  std::map<int, std::size_t> by_lid_;
  std::map<std::string, std::size_t> by_name_;  ///< of devices without a LID
  std::string name_;
  bool is_switch_ = true;
  int line_ = 0;
};

}  // namespace

bool looks_like_ibnetdiscover(std::string_view head) {
  if (head.find("switchguid=") != head.npos || head.find("caguid=") != head.npos) return true;
  for (const char* first : {"CA ", "SW "}) {
    const std::size_t at = head.starts_with(first) ? 0 : head.find("\n" + std::string(first));
    if (at != head.npos && head.substr(at, 80).find(" 0x") != head.npos) return true;
  }
  return false;
}

bool looks_like_iblinkinfo(std::string_view head) {
  return head.find(")==>") != head.npos && head.find("==(") != head.npos;
}

Result<ImportedFabric> read_ibnetdiscover(LineSource& source) { return DiscoverReader().read(source); }
Result<ImportedFabric> read_iblinkinfo(LineSource& source) { return LinkInfoReader().read(source); }

}  // namespace busbar::formats
