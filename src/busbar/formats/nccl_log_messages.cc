#include "busbar/formats/internal/nccl_log_messages.h"

#include <cctype>

namespace busbar::formats::nccl_log {
namespace {

constexpr std::int64_t kHighestRank = 1 << 24;  ///< a larger number is a broken message

bool small(LineCursor& c, int& out) { return c.integer(out, -1, kHighestRank); }

bool is_bus_id(std::string_view text) {
  return !text.empty() && text.size() <= 16 && text.find_first_not_of("0123456789abcdefABCDEF:.") == text.npos;
}

/// Numbers up to the end of the text.
bool numbers(LineCursor& c, std::vector<int>& out) {
  for (c.blanks(); !c.at_end(); c.blanks()) {
    int n = 0;
    if (!small(c, n)) return false;
    if (!c.at_end() && c.rest()[0] != ' ') return false;
    out.push_back(n);
  }
  return !out.empty();
}

/// "NET/IBext/4(1)/GDRDMA/Shared".
bool take_net(std::string_view text, ConnectMessage& m) {
  LineCursor c(text);
  if (!c.accept("NET/")) return false;
  m.transport = "NET/" + std::string(c.until("/"));
  if (!c.accept("/") || !small(c, m.nic)) return false;
  if (c.accept("(") && (!small(c, m.proxy) || !c.accept(")"))) return false;
  while (c.accept("/")) {
    const std::string_view word = c.until("/");
    if (word != "GDRDMA" && word != "GDRDMA(PCI)" && word != "Shared") return false;
    m.gpudirect = m.gpudirect || word != "Shared";
    m.transport += "/" + std::string(word);
  }
  return c.at_end();
}

/// NCCL's names of transports between GPUs of one host. Any other word means a truncated message.
bool is_local_transport(std::string_view text) {
  for (const char* known : {"P2P/IPC", "P2P/CUMEM", "P2P/direct pointer", "P2P/MNNVL", "SHM/direct/direct", "SHM/CE/CE",
                            "SHM/direct/CE", "SHM/CE/direct", "SHM", "direct shared memory", "COLLNET"}) {
    const std::string_view k(known);
    if (text == k) return true;
    if (!text.starts_with(k)) continue;
    const std::string_view rest = text.substr(k.size());
    for (const char* suffix : {"/read", "/CE", "/CE/read", "/read/CE"})
      if (rest == suffix) return true;
    if (rest.starts_with(" comm 0x") || rest.starts_with(" (") || (k == "COLLNET" && rest.starts_with("/")))
      return true;
  }
  return text.starts_with("P2P/indirect/");
}

}  // namespace

std::optional<CommMessage> parse_comm(std::string_view text) {
  CommMessage m;
  const std::size_t at = text.find("comm 0x");
  if (at == text.npos) return std::nullopt;
  LineCursor c(text.substr(at));
  std::uint64_t pointer = 0;
  if (!c.accept("comm ") || !c.hexadecimal(pointer)) return std::nullopt;
  bool named = false;
  for (c.blanks(); !c.at_end(); c.blanks()) {
    const std::string_view key = c.word();
    c.blanks();
    if (key == "-") {
      if (c.rest() == "Init START")
        m.stage = CommMessage::Stage::kStart;
      else if (c.rest().starts_with("Init COMPLETE"))
        m.stage = CommMessage::Stage::kComplete;
      else
        return std::nullopt;
      return m.rank >= 0 && m.ranks > m.rank && !m.bus_id.empty() ? std::optional(m) : std::nullopt;
    }
    if (key == "rank" && !small(c, m.rank)) return std::nullopt;
    if (key == "nranks" && !small(c, m.ranks)) return std::nullopt;
    if (key == "cudaDev" && !small(c, m.cuda_device)) return std::nullopt;
    if (key == "nvmlDev" && !small(c, m.nvml_device)) return std::nullopt;
    if (key == "nNodes" && !small(c, m.nodes)) return std::nullopt;
    if (key == "nRanks") {
      if (!small(c, m.ranks)) return std::nullopt;
      named = true;
      continue;
    }
    if (key == "busId") {
      m.bus_id = c.word();
      if (!is_bus_id(m.bus_id)) return std::nullopt;
    } else if (key == "commId") {
      m.id = c.word();
      if (!m.id.starts_with("0x")) return std::nullopt;
    }
  }
  return named && m.rank >= 0 && m.ranks > m.rank && m.nodes > 0 ? std::optional(m) : std::nullopt;
}

std::optional<RingMessage> parse_ring(std::string_view text) {
  RingMessage m;
  LineCursor c(text);
  int total = 0;
  if (!c.accept("Channel ") || !small(c, m.channel) || !c.accept("/") || !small(c, total) || !c.accept(" :"))
    return std::nullopt;
  if (!numbers(c, m.order)) return std::nullopt;
  return m;
}

std::optional<ConnectMessage> parse_connect(std::string_view text) {
  ConnectMessage m;
  LineCursor c(text);
  int connection = 0;
  if (!c.accept("Channel ") || !small(c, m.channel)) return std::nullopt;
  if (c.accept("/") && !small(c, connection)) return std::nullopt;
  if (!c.accept(" : ") || !small(c, m.from) || !c.accept("[")) return std::nullopt;
  c.until("]");
  if (!c.accept("] -> ") || !small(c, m.to) || !c.accept("[")) return std::nullopt;
  c.until("]");
  if (!c.accept("] ")) return std::nullopt;
  m.send = c.accept("[send] ");
  m.receive = !m.send && c.accept("[receive] ");
  if (!c.accept("via ")) return std::nullopt;
  const std::string_view way = trimmed(c.rest());
  if (way.starts_with("NET/")) {
    if (!take_net(way, m)) return std::nullopt;
  } else {
    if (!is_local_transport(way)) return std::nullopt;
    m.transport = way.substr(0, way.find(' ') == way.npos || way.starts_with("direct") || way.starts_with("P2P/direct")
                                    ? way.npos
                                    : way.find(' '));
    if (m.transport.starts_with("P2P/indirect/")) m.transport = "P2P/indirect";
  }
  return m;
}

std::optional<TreesMessage> parse_trees(std::string_view text) {
  TreesMessage m;
  LineCursor c(text);
  if (!c.accept("Trees")) return std::nullopt;
  for (c.blanks(); !c.at_end(); c.blanks()) {
    int channel = 0, rank = -1;
    LoggedTree t;
    if (!c.accept("[") || !small(c, channel) || !c.accept("] ")) return std::nullopt;
    for (std::size_t i = 0; i < t.down.size(); ++i)
      if ((i > 0 && !c.accept("/")) || !small(c, t.down[i])) return std::nullopt;
    if (!c.accept("->") || !small(c, rank) || !c.accept("->") || !small(c, t.up)) return std::nullopt;
    if (!c.at_end() && c.rest()[0] != ' ') return std::nullopt;
    if (rank < 0 || (m.rank >= 0 && rank != m.rank)) return std::nullopt;
    m.rank = rank;
    if (channel != static_cast<int>(m.trees.size())) return std::nullopt;  // counted from 0
    m.trees.push_back(t);
  }
  return m.rank >= 0 ? std::optional(m) : std::nullopt;
}

bool parse_totals(std::string_view text, LoggedCommunicator& out) {
  LineCursor c(text);
  LoggedCommunicator found;
  while (true) {
    int n = 0;
    if (!small(c, n)) return false;
    if (c.accept(" coll channels"))
      found.coll_channels = n;
    else if (c.accept(" collnet channels"))
      found.collnet_channels = n;
    else if (c.accept(" nvls channels"))
      found.nvls_channels = n;
    else if (c.accept(" p2p channels per peer"))
      found.p2p_channels_per_peer = n;
    else if (c.accept(" p2p channels"))
      found.p2p_channels = n;
    else
      return false;
    if (!c.accept(", ")) break;
  }
  if (!trimmed(c.rest()).empty() || found.p2p_channels_per_peer < 0) return false;
  out.coll_channels = found.coll_channels;
  out.collnet_channels = found.collnet_channels;
  out.nvls_channels = found.nvls_channels;
  out.p2p_channels = found.p2p_channels;
  out.p2p_channels_per_peer = found.p2p_channels_per_peer;
  return true;
}

std::optional<std::pair<int, std::vector<int>>> parse_nvls_head(std::string_view text) {
  std::pair<int, std::vector<int>> m;
  LineCursor c(text);
  if (!c.accept("NVLS Head")) return std::nullopt;
  c.blanks();
  if (!small(c, m.first) || !c.accept(":") || !numbers(c, m.second)) return std::nullopt;
  return m;
}

std::optional<std::vector<LoggedIbDevice>> parse_ib_devices(std::string_view text) {
  std::vector<LoggedIbDevice> out;
  LineCursor c(text);
  if (!c.accept("NET/IB : Using ") && !c.accept("NET/IB: Using ")) return std::nullopt;
  for (c.blanks(); c.accept("["); c.blanks()) {
    if (c.accept("RO]")) continue;
    LoggedIbDevice d;
    if (!small(c, d.index) || !c.accept("]")) return std::nullopt;
    d.name = c.until(":");
    if (d.name.empty() || !c.accept(":") || !small(c, d.port) || !c.accept("/")) return std::nullopt;
    d.link_layer = c.until("/ ;");
    d.sharp = c.accept("/SHARP");
    if (!c.at_end() && c.rest()[0] != ' ' && c.rest()[0] != ';') return std::nullopt;
    out.push_back(std::move(d));
  }
  return c.at_end() || c.accept(";") ? std::optional(out) : std::nullopt;
}

std::optional<LoggedGraph> parse_pattern(std::string_view text) {
  LoggedGraph g;
  LineCursor c(text);
  if (!c.accept("Pattern ") || !small(c, g.pattern) || !c.accept(", crossNic ") || !small(c, g.cross_nic) ||
      !c.accept(", nChannels ") || !small(c, g.channels))
    return std::nullopt;
  if (!c.accept(", bw ") && !c.accept(", speed ")) return std::nullopt;
  if (!c.number(g.bw_intra) || !c.accept("/") || !c.number(g.bw_inter) || !c.accept(", type ")) return std::nullopt;
  g.type_intra = c.until("/");
  if (!c.accept("/")) return std::nullopt;
  g.type_inter = c.until(",");
  if (!c.accept(", sameChannels ") || !small(c, g.same_channels) || !trimmed(c.rest()).empty()) return std::nullopt;
  return g;
}

std::optional<LoggedChoice> parse_choice(std::string_view text) {
  LoggedChoice m;
  LineCursor c(text);
  if (text.empty() || !std::isdigit(static_cast<unsigned char>(text[0]))) {
    m.collective = c.until(":");
    if (!c.accept(": ")) return std::nullopt;
  }
  if (!c.integer(m.bytes) || !c.accept(" Bytes -> Algo ")) return std::nullopt;
  m.algorithm = c.word();
  if (!c.accept(" proto ")) return std::nullopt;
  m.protocol = c.word();
  c.blanks();
  if (c.accept("channel{Lo..Hi}={") &&
      (!small(c, m.first_channel) || !c.accept("..") || !small(c, m.last_channel) || !c.accept("}")))
    return std::nullopt;
  return m;
}

std::optional<std::vector<LoggedPath>> parse_paths(std::string_view text) {
  std::vector<LoggedPath> out;
  LineCursor c(text);
  const std::string from(c.word());
  if (!c.accept(" :")) return std::nullopt;
  for (c.blanks(); !c.at_end(); c.blanks()) {
    LoggedPath p;
    p.from = from;
    p.to = c.until("( ");
    c.blanks();
    if (!c.accept("(") || !small(c, p.hops) || !c.accept("/") || !c.number(p.GBps) || !c.accept("/"))
      return std::nullopt;
    p.type = c.until(")");
    if (!c.accept(")")) return std::nullopt;
    out.push_back(std::move(p));
  }
  return out.empty() ? std::nullopt : std::optional(out);
}

std::string shape_of(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::string out;
  for (std::size_t i = 0; i < text.size() && out.size() < kLongest; ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '0' && i + 1 < text.size() && text[i + 1] == 'x') {
      out += "0x#";
      for (i += 2; i < text.size() && std::isxdigit(static_cast<unsigned char>(text[i]));) ++i;
      --i;
    } else if (std::isdigit(c)) {
      if (!out.ends_with('#')) out += '#';
    } else {
      out += c >= 0x20 && c < 0x7f ? static_cast<char>(c) : '?';
    }
  }
  return out;
}

}  // namespace busbar::formats::nccl_log
