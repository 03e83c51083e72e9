#include "busbar/formats/nccl_log.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "busbar/formats/internal/nccl_log_messages.h"

namespace busbar::formats {
namespace {

using namespace nccl_log;

constexpr std::size_t kMostTexts = 1000, kMostUnknown = 200, kMostSends = 4096, kMostPaths = 1 << 16;
constexpr int kUnknown = -1;

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
template <typename T>
using ByText = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;  // for look-up only, never iterated

/// Texts with counts, in the order of first occurrence.
class Tally {
 public:
  void add(std::vector<LoggedText>& list, std::string_view text, int line) {
    const auto at = place_.find(text);
    if (at != place_.end()) {
      ++list[at->second].count;
    } else if (list.size() < kMostTexts) {
      place_.emplace(std::string(text), list.size());
      list.push_back({std::string(text), line, 1});
    }
  }

 private:
  ByText<std::size_t> place_;
};

/// The messages of one rank about one communicator.
struct RankRecord {
  CommMessage::Stage stage = CommMessage::Stage::kStart;
  bool started = false;  ///< "Init START" was seen: this release announces every new communicator
  bool complete = false;
  int rank = -1, line = 0;
  LoggedCommunicator said;  ///< data about the whole communicator; members unused
  LoggedRank self;
};

struct Thread {
  int record = kUnknown, graph = kUnknown;
  bool in_system = false;
};

/// Messages without information for the reader; counted by their beginning.
constexpr std::string_view kCounted[] = {
    "Bootstrap",      "Plugin Path",   "NET/Plugin",      "TUNER/Plugin", "PROFILER/Plugin", "Connected ",
    "threadThresh",   "P2P Chunksize", "P2P plugin",      "Using non-de", "Using devic",     "Using internal",
    "[Proxy ",        "Comm config",   "DMA-BUF",         "MNNVL ",       "RAS client",      "NVLS comm",
    "NVLS multicast", "NVLS tuning",   "Check P2P",       "Successfully", "Initialized ",    "Launch mode",
    "Setting aff",    "Affinity for",  "Init timings",    "NET/Socket",   "GPU Direct RDMA", "NET/IB",
    "Could not",      "ncclCommSplit", "NCCL_",           "Allocated",    "CollNet",         "Assigned ",
    "Using ",         "Loading ",      "TOPO/NET",        "Ring ",        "Tree ",           "bootstrap",
    "Max NThr",       "Algorithm",     "Failed to ",      "init.cc",      "comm 0x",         "ncclCommInit",
    "Trees",          "Channel ",      "Call to",         "misc/",        "NVLS Head",       "include/",
    "PXN Disabled",   "Sharp rank",    "Communicator has"};

class LogReader : public NcclLogs {
 public:
  void add(LineSource& source) override {
    source.skip_prefixes();
    std::string_view line;
    while (source.next(line)) {
      ++log_.lines;
      line_ = source.number();
      read_line(line);
    }
  }
  Result<NcclLog> take(const std::string& name) override {
    if (log_.messages == 0)
      return invalid("no line of NCCL in this file; was it made with NCCL_DEBUG=INFO?", {name, 0, 0, ""});
    merge_records();
    return std::move(log_);
  }

 private:
  void read_line(std::string_view line) {
    std::size_t at = line.find(" NCCL ");
    if (at == line.npos || line.substr(at + 6).starts_with("version ")) {
      read_version(line);
      return;
    }
    const std::string_view rest = line.substr(at + 6);
    if (rest.starts_with("WARN ")) {
      ++log_.messages;
      warnings_.add(log_.warnings, trimmed(rest.substr(5)), line_);
    }
    for (at = line.find(" NCCL INFO "); at != line.npos;) {
      ++log_.messages;
      const std::string_view text = line.substr(at + 11);
      const std::size_t second = text.find(" NCCL INFO ");
      if (second == text.npos && enter(line.substr(0, at)))
        read_message(text);
      else  // no valid prefix, or two ranks in one line: the first message is truncated
        ++log_.broken;
      line = text;
      at = second;
    }
  }

  void read_version(std::string_view line) {
    const std::size_t at = line.find("CCL version ");
    if (at == line.npos) return;
    LineCursor c(line.substr(at + 12));
    c.accept(": ");
    const std::string_view version = c.word();
    if (version.empty() || version[0] < '0' || version[0] > '9') return;
    ++log_.messages;
    versions_.add(log_.versions, version, line_);
  }

  /// "0: host:pid:tid [3]": the rank of the following messages. False if the prefix is truncated.
  bool enter(std::string_view prefix) {
    if (thread_ != nullptr && prefix == last_prefix_) return true;
    std::string_view who = prefix.substr(0, prefix.rfind(" ["));
    who = who.substr(who.rfind(' ') + 1);
    if (const std::size_t mark = who.rfind('>'); mark != who.npos) who = who.substr(mark + 1);
    if (who.starts_with(':')) who.remove_prefix(1);
    const std::string_view process = without_number(who), host = without_number(process);
    if (host.empty()) return false;
    last_prefix_ = prefix;
    process_ = process;
    host_ = host;
    hosts_.add(log_.hosts, host_, line_);
    auto at = threads_.find(who);
    if (at == threads_.end()) at = threads_.emplace(std::string(who), Thread()).first;
    thread_ = &at->second;
    return true;
  }

  /// "host:12" -> "host"; empty if no number follows a colon.
  static std::string_view without_number(std::string_view text) {
    const std::size_t colon = text.rfind(':');
    if (colon == text.npos || colon + 1 == text.size()) return {};
    const bool digits = text.find_first_not_of("0123456789", colon + 1) == text.npos;
    return digits ? text.substr(0, colon) : std::string_view();
  }

  /// The record of this thread; a new one if none is open.
  RankRecord& record(bool opens) {
    if (thread_->record == kUnknown && !opens) {
      const auto at = latest_.find(process_);
      if (at != latest_.end()) thread_->record = at->second;
    }
    if (thread_->record == kUnknown || (opens && records_[thread_->record].complete)) open_record();
    return records_[thread_->record];
  }
  void open_record() {
    thread_->record = static_cast<int>(records_.size());
    records_.emplace_back();
    records_.back().line = line_;
    records_.back().self.host = host_;
    latest_[std::string(process_)] = thread_->record;
  }

  void read_message(std::string_view text) {
    if (text.empty()) return;
    bool known = true;
    switch (text[0]) {
      case 'C':
        known = text.starts_with("Channel ") ? read_channel(text) : other(text);
        break;
      case 'T':
        known = text.starts_with("Trees") ? read_trees(text) : other(text);
        break;
      case 'N':
        known = read_n(text);
        break;
      case 'c':
      case 'n':
        known = text.find("comm 0x") != text.npos ? read_comm(text) : other(text);
        break;
      case 'U':
        known = read_using(text);
        break;
      case 'P':
        known = text.starts_with("Pattern ") ? read_pattern(text) : other(text);
        break;
      default:
        known = other(text);
    }
    if (!known) ++log_.broken;
  }

  bool read_channel(std::string_view text) {
    if (const auto ring = parse_ring(text)) {
      RankRecord& r = record(true);
      r.said.rings[ring->channel] = ring->order;
      r.said.ranks = std::max<int>(r.said.ranks, static_cast<int>(ring->order.size()));
      return true;
    }
    const auto link = parse_connect(text);
    if (!link) return false;
    transports_.add(log_.transports, link->transport, line_);
    if (!link->send || link->nic < 0) return true;
    const int proxy = link->proxy >= 0 ? link->proxy : link->from;
    const LoggedNic nic{link->channel, link->nic, proxy, link->gpudirect};
    std::vector<LoggedNic>& sends = record(false).self.sends;
    const auto at = std::lower_bound(sends.begin(), sends.end(), nic);
    if ((at == sends.end() || *at != nic) && sends.size() < kMostSends) sends.insert(at, nic);
    return true;
  }

  bool read_trees(std::string_view text) {
    auto trees = parse_trees(text);
    if (!trees) return false;
    RankRecord& r = record(true);
    r.rank = trees->rank;
    r.self.trees = std::move(trees->trees);
    return true;
  }

  bool read_comm(std::string_view text) {
    const auto m = parse_comm(text);
    if (!m) return text.find("- Init") == text.npos && text.find("nRanks") == text.npos && other(text);
    if (m->stage == CommMessage::Stage::kStart) open_record();
    RankRecord& r = record(m->stage != CommMessage::Stage::kComplete);
    r.started = r.started || m->stage == CommMessage::Stage::kStart;
    r.rank = m->rank;
    r.said.ranks = m->ranks;
    if (m->nodes > 0) r.said.nodes = m->nodes;
    if (m->cuda_device >= 0) r.self.cuda_device = m->cuda_device;
    if (m->nvml_device >= 0) r.self.nvml_device = m->nvml_device;
    if (!m->bus_id.empty()) r.self.bus_id = m->bus_id;
    if (!m->id.empty()) r.said.id = m->id;
    r.complete = r.complete || m->stage == CommMessage::Stage::kComplete;
    return true;
  }

  bool read_n(std::string_view text) {
    if (text.starts_with("NCCL version ")) {
      read_version(text);
      return true;
    }
    if (text.starts_with("NCCL_")) return read_setting(text);
    if (text.starts_with("NET/IB")) {
      if (text.find(": No device found") != text.npos) {
        if (log_.no_ib_line == 0) log_.no_ib_line = line_;
        return true;
      }
      if (text.find(": Using [") == text.npos) return other(text);
      auto devices = parse_ib_devices(text);
      if (!devices) return false;
      for (LoggedIbDevice& d : *devices)
        if (std::find(log_.ib_devices.begin(), log_.ib_devices.end(), d) == log_.ib_devices.end())
          log_.ib_devices.push_back(std::move(d));
      return true;
    }
    if (text.starts_with("NVLS Head")) {
      const auto head = parse_nvls_head(text);
      if (head) record(true).said.nvls_heads[head->first] = head->second;
      return head.has_value();
    }
    if (text.starts_with("NVLS multicast support is available")) record(true).said.nvls = true;
    return other(text);
  }

  bool read_setting(std::string_view text) {
    LineCursor c(text);
    const std::string_view name = c.word();
    if (!c.accept(" set by environment to ") && !c.accept(" set to ")) return other(text);
    std::string_view value = trimmed(c.rest());
    if (value.ends_with('.')) value.remove_suffix(1);
    for (const LoggedSetting& s : log_.settings)
      if (s.name == name && s.value == value) return true;
    if (log_.settings.size() < kMostTexts) log_.settings.push_back({std::string(name), std::string(value), line_});
    return true;
  }

  bool read_using(std::string_view text) {
    if (!text.starts_with("Using network ")) return other(text);
    networks_.add(log_.networks, trimmed(text.substr(14)), line_);
    return true;
  }

  bool read_pattern(std::string_view text) {
    auto graph = parse_pattern(text);
    if (!graph) return false;
    for (LoggedGraph& g : log_.graphs) {
      const bool same = g.pattern == graph->pattern && g.cross_nic == graph->cross_nic &&
                        g.channels == graph->channels && g.bw_intra == graph->bw_intra &&
                        g.bw_inter == graph->bw_inter && g.type_intra == graph->type_intra &&
                        g.type_inter == graph->type_inter && g.same_channels == graph->same_channels;
      if (!same) continue;
      ++g.count;
      thread_->graph = kUnknown;
      return true;
    }
    if (log_.graphs.size() >= kMostTexts) return true;
    graph->line = line_;
    graph->count = 1;
    thread_->graph = static_cast<int>(log_.graphs.size());
    log_.graphs.push_back(std::move(*graph));
    return true;
  }

  /// Messages that do not begin with a keyword.
  bool other(std::string_view text) {
    if (text.find(" Bytes -> Algo ") != text.npos) return read_choice(text);
    if (text.ends_with("p2p channels per peer")) return parse_totals(text, record(true).said);
    if (text.starts_with("=== System")) {
      thread_->in_system = log_.system.empty();
      if (thread_->in_system) log_.system.push_back({std::string(text), line_, 1});
      return true;
    }
    if (text.starts_with("====")) {
      thread_->in_system = false;
      return true;
    }
    if (thread_->in_system) {
      if (log_.system.size() < kMostTexts) log_.system.push_back({std::string(text), line_, 1});
      return true;
    }
    LineCursor c(text);
    if (c.accept("cudaDriverVersion ")) return c.integer(log_.cuda_driver);
    if (text[0] == ' ') return read_indented(text);
    if (text.starts_with("GPU/") || text.starts_with("NET/") || text.starts_with("CPU/")) {
      const auto paths = parse_paths(text);
      if (paths && paths_of_.empty()) paths_of_ = last_prefix_;
      if (paths && paths_of_ == last_prefix_ && log_.paths.size() < kMostPaths)
        log_.paths.insert(log_.paths.end(), paths->begin(), paths->end());
      if (paths) return true;
    }
    for (const std::string_view beginning : kCounted)
      if (text.starts_with(beginning)) {
        other_.add(log_.other, trimmed(beginning), line_);
        return true;
      }
    const std::string shape = shape_of(text);
    if (log_.unknown.size() < kMostUnknown)
      add_unknown(log_.unknown, line_, shape);
    else
      add_unknown(log_.unknown, line_, log_.unknown.back().what);
    return true;
  }

  /// Channels of a graph, the tree of the system, the tuning table.
  bool read_indented(std::string_view text) {
    if (text.find(" |") != text.npos || text.find("| ") != text.npos) {
      tuning_.add(log_.tuning, text, line_);
      return true;
    }
    LineCursor c(trimmed(text));
    std::int64_t channel = 0;
    if (!c.integer(channel) || !c.accept(" : ")) return true;
    if (thread_->graph != kUnknown && log_.graphs[thread_->graph].orders.size() < kMostTexts)
      log_.graphs[thread_->graph].orders.emplace_back(c.rest());
    return true;
  }

  bool read_choice(std::string_view text) {
    auto choice = parse_choice(text);
    if (!choice) return false;
    for (LoggedChoice& c : log_.choices) {
      if (c.bytes != choice->bytes || c.collective != choice->collective || c.algorithm != choice->algorithm ||
          c.protocol != choice->protocol || c.first_channel != choice->first_channel ||
          c.last_channel != choice->last_channel)
        continue;
      ++c.count;
      return true;
    }
    choice->count = 1;
    choice->line = line_;
    if (log_.choices.size() < kMostTexts) log_.choices.push_back(std::move(*choice));
    return true;
  }

  /// Merges the records of one communicator: by its id, or by size, each rank's records in order.
  void merge_records() {
    ByText<std::size_t> by_id;
    std::map<int, std::vector<std::size_t>> by_size;
    std::map<std::pair<int, int>, std::size_t> joined;  // (size, rank) -> communicators without id with this rank
    for (RankRecord& r : records_) {
      if (r.rank < 0 || r.said.ranks <= 0) continue;
      std::size_t at = log_.communicators.size();
      if (!r.said.id.empty()) {
        at = by_id.try_emplace(r.said.id, at).first->second;
      } else {
        std::vector<std::size_t>& alike = by_size[r.said.ranks];
        const std::size_t turn = joined[{r.said.ranks, r.rank}]++;
        if (turn == alike.size()) alike.push_back(at);
        at = alike[turn];
      }
      if (at == log_.communicators.size()) log_.communicators.emplace_back().line = r.line;
      join(log_.communicators[at], r);
    }
  }

  static void join(LoggedCommunicator& c, RankRecord& r) {
    c.id = r.said.id;
    c.ranks = r.said.ranks;
    c.nodes = std::max(c.nodes, r.said.nodes);
    c.nvls = c.nvls || r.said.nvls;
    c.complete = c.complete || r.complete;
    for (auto& [channel, order] : r.said.rings) c.rings.try_emplace(channel, std::move(order));
    for (auto& [head, ranks] : r.said.nvls_heads) c.nvls_heads.try_emplace(head, std::move(ranks));
    if (c.coll_channels < 0 && r.said.coll_channels >= 0) {
      c.coll_channels = r.said.coll_channels;
      c.collnet_channels = r.said.collnet_channels;
      c.nvls_channels = r.said.nvls_channels;
      c.p2p_channels = r.said.p2p_channels;
      c.p2p_channels_per_peer = r.said.p2p_channels_per_peer;
    }
    c.members.try_emplace(r.rank, std::move(r.self));
    r = RankRecord();
  }

  NcclLog log_;
  int line_ = 0;
  std::string last_prefix_, paths_of_, process_, host_;
  ByText<Thread> threads_;
  ByText<int> latest_;  ///< per process: its latest record
  Thread* thread_ = nullptr;
  std::vector<RankRecord> records_;
  Tally versions_, networks_, transports_, hosts_, warnings_, other_, tuning_;
};

}  // namespace

bool looks_like_nccl_log(std::string_view head) {
  return head.find(" NCCL INFO ") != head.npos || head.find(" NCCL WARN ") != head.npos;
}

Result<NcclLog> read_nccl_log(LineSource& source) {
  LogReader reader;
  reader.add(source);
  return reader.take(source.name());
}

std::unique_ptr<NcclLogs> NcclLogs::make() { return std::make_unique<LogReader>(); }

}  // namespace busbar::formats
