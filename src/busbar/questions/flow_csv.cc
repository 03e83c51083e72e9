#include "busbar/questions/flow_csv.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "busbar/base/csv.h"
#include "busbar/base/input.h"
#include "busbar/base/text.h"
#include "busbar/formats/lines.h"
#include "busbar/routing/placement.h"

namespace busbar::questions {
namespace {

enum FlowField : std::size_t {
  kId,
  kSrc,
  kDst,
  kBytes,
  kStart,
  kAfter,
  kTrigger,
  kLane,
  kDelay,
  kSrcNic,
  kDstNic,
  kFields
};
constexpr std::array<const char*, kFields> kFieldNames{"id",      "src",  "dst",      "bytes",   "start_ns", "after",
                                                       "trigger", "lane", "delay_ns", "src_nic", "dst_nic"};

/// In the order of program::FlowTrigger.
constexpr std::array<std::string_view, 3> kTriggerNames{"received", "acked", "sent"};

/// A comment before the header: lists made from collectives have the shares of link rates that its kernels reach.
constexpr std::string_view kSharesLine = "# shares:";

class Reader {
 public:
  Reader(const std::string& file, const routing::Router& router, std::uint32_t first)
      : file_(file), first_(first), t_(router.topology()), placement_(router, t_.gpus()) {
    for (std::uint32_t r = 0; r < placement_.ranks(); ++r) rank_of_.emplace(index(t_.gpus()[r]), r);
  }

  Result<NamedFlows> read() {
    BUSBAR_ASSIGN(const std::string text, read_text(file_, kMostCsv));
    BUSBAR_RETURN_IF_ERROR(take_shares(text));
    CsvReader rows(text, file_);
    std::vector<std::string> cells;
    for (bool headed = false;; headed = true) {
      BUSBAR_ASSIGN(const bool more, rows.next(cells));
      line_ = rows.line();
      if (!more && !headed)
        return at(0, "the file is empty; the first line names the columns: id,src,dst,bytes,start_ns,after");
      if (!more) break;
      BUSBAR_RETURN_IF_ERROR(headed ? take_flow(cells) : take_header(cells));
    }
    if (out_.ids.empty()) return at(0, "there is no flow below the header");
    BUSBAR_RETURN_IF_ERROR(link_after());
    BUSBAR_RETURN_IF_ERROR(refuse_cycles());
    return std::move(out_);
  }

 private:
  struct Wait {
    std::uint32_t flow;
    int line;
    std::string text;
  };
  Error at(int line, std::string message, FlowField field = kFields, ErrorCode code = ErrorCode::kInvalid) const {
    return Error{code, std::move(message), {file_, line, 0, field == kFields ? "" : kFieldNames[field]}};
  }

  Status take_shares(std::string_view text) {
    if (!text.starts_with(kSharesLine)) return {};
    const std::string_view line = text.substr(0, text.find_first_of("\r\n")).substr(kSharesLine.size());
    for (const std::string_view word : split_at(formats::trimmed(line), ' ')) {
      const std::size_t equals = word.find('=');
      const std::string_view key = word.substr(0, equals);
      double* share = key == "scale_up"  ? &out_.list.shares.scale_up
                      : key == "server"  ? &out_.list.shares.server
                      : key == "network" ? &out_.list.shares.network
                                         : nullptr;
      if (share == nullptr || equals == std::string_view::npos || !is_number(word.substr(equals + 1), *share) ||
          !(*share > 0 && *share <= 1))
        return at(1, fmt::format("'{}' is not a share; write scale_up, server or network, '=' and a number above 0, at "
                                 "most 1, or remove the line",
                                 word));
    }
    return {};
  }

  Status take_header(const std::vector<std::string>& names) {
    columns_ = names.size();
    column_.fill(kAbsent);
    for (std::size_t c = 0; c < columns_; ++c) {
      std::size_t f = 0;
      while (f < kFields && names[c] != kFieldNames[f]) ++f;
      if (f == kFields) {
        return at(line_, fmt::format("unknown column '{}'; the columns are id,src,dst,bytes,start_ns,after and "
                                     "optionally trigger, lane, delay_ns, src_nic and dst_nic",
                                     names[c]));
      }
      if (column_[f] != kAbsent) return at(line_, fmt::format("the column '{}' occurs twice", names[c]));
      column_[f] = c;
    }
    for (const FlowField f : {kId, kSrc, kDst, kBytes})
      if (column_[f] == kAbsent) return at(line_, fmt::format("the column '{}' is missing", kFieldNames[f]));
    return {};
  }

  Status take_flow(const std::vector<std::string>& cells) {
    if (cells.size() != columns_) {
      return at(line_, fmt::format("{} columns, but the header has {}; separate several flows in 'after' by ';'",
                                   cells.size(), columns_));
    }
    const auto cell = [&](FlowField f) {
      return column_[f] == kAbsent ? std::string_view() : std::string_view(cells[column_[f]]);
    };
    if (cell(kId).empty()) return at(line_, "is empty; give every flow a name or a number", kId);
    const auto number = static_cast<std::uint32_t>(out_.ids.size());
    if (!known_.emplace(std::string(cell(kId)), number).second)
      return at(line_, fmt::format("the id '{}' is already used in an earlier line", cell(kId)), kId);
    program::ListedFlow flow;
    BUSBAR_RETURN_IF_ERROR(host(cell(kSrc), kSrc, flow.from, flow.nic_from));
    BUSBAR_RETURN_IF_ERROR(host(cell(kDst), kDst, flow.to, flow.nic_to));
    BUSBAR_RETURN_IF_ERROR(other_nic(cell(kSrcNic), kSrcNic, flow.from, flow.nic_from));
    BUSBAR_RETURN_IF_ERROR(other_nic(cell(kDstNic), kDstNic, flow.to, flow.nic_to));
    BUSBAR_RETURN_IF_ERROR(bytes(cell(kBytes), flow.bytes));
    if (flow.is_work() && (count(flow.bytes) > 0 || cell(kDelay).empty()))
      return at(line_,
                fmt::format("'{}' is also the source; a flow needs two different hosts, and work of a host 0 bytes and "
                            "a delay_ns",
                            cell(kDst)),
                kDst);
    SimTime delay;
    BUSBAR_RETURN_IF_ERROR(time(cell(kStart), kStart, flow.start));
    BUSBAR_RETURN_IF_ERROR(time(cell(kDelay), kDelay, delay));
    flow.overhead = delay.since_start();
    if (!cell(kTrigger).empty()) {
      const auto named = std::find(kTriggerNames.begin(), kTriggerNames.end(), cell(kTrigger));
      if (named == kTriggerNames.end())
        return at(line_,
                  fmt::format("'{}' is not a trigger; write received (the default), acked or sent", cell(kTrigger)),
                  kTrigger);
      flow.trigger = static_cast<program::FlowTrigger>(named - kTriggerNames.begin());
    }
    if (const auto word = cell(kLane);
        !word.empty() && (!is_number(word, flow.lane) || flow.lane >= program::kMostFlowLanes))
      return at(line_, fmt::format("'{}' is not a lane; lanes are 0 to {}", word, program::kMostFlowLanes - 1), kLane);
    if (!cell(kAfter).empty()) waits_.push_back({number, line_, std::string(cell(kAfter))});
    out_.ids.emplace_back(cell(kId));
    out_.list.flows.push_back(flow);
    lines_.push_back(line_);
    return {};
  }

  Status host(std::string_view word, FlowField field, topology::DeviceId& device, topology::DeviceId& nic) {
    std::int64_t n = 0;
    if (is_number(word, n)) {
      n += first_;
      if (n < 0 || n >= placement_.ranks()) {
        return at(line_, fmt::format("there is no GPU {}; GPUs are 0 to {}", n, placement_.ranks() - 1), field,
                  ErrorCode::kNotFound);
      }
      device = placement_.gpu(static_cast<std::uint32_t>(n));
      nic = placement_.nic(static_cast<std::uint32_t>(n), 0);
      return {};
    }
    const Result<topology::DeviceId> found = t_.find(word);
    if (!found.ok()) {
      Error e = found.error();
      e.where = {file_, line_, 0, kFieldNames[field]};
      e.message += "; a host is a GPU's number, or a name such as node5.gpu3 or node5.nic3";
      return e;
    }
    device = nic = *found;
    if (t_.kind(device) == topology::DeviceKind::kNic) return {};
    // Drives and host memory have no NIC, so they stay inside their server.
    if (t_.kind(device) == topology::DeviceKind::kNvme || t_.kind(device) == topology::DeviceKind::kNuma) {
      nic = kNone<topology::DeviceId>;
      return {};
    }
    if (t_.device_class(device).reduces) {  // of lists made from collectives that reduce in the network
      nic = kNone<topology::DeviceId>;
      return {};
    }
    if (t_.kind(device) != topology::DeviceKind::kGpu)
      return at(
          line_,
          fmt::format("'{}' is a {}; flows run between GPUs, NICs, drives, host memory (numa) and switches that reduce",
                      word, topology::name_of(t_.kind(device))),
          field);
    nic = placement_.nic(rank_of_.at(index(device)), 0);
    return {};
  }

  /// Sets `nic` to the NIC `word` in the server of `device`; leaves it as it is where there is no word.
  Status other_nic(std::string_view word, FlowField field, topology::DeviceId device, topology::DeviceId& nic) const {
    if (word.empty()) return {};
    const Result<topology::DeviceId> found = t_.find(word);
    if (!found.ok() || t_.kind(*found) != topology::DeviceKind::kNic || t_.block_of(*found) != t_.block_of(device))
      return at(line_, fmt::format("'{}' is no NIC in the server of {}", word, t_.name(device)), field);
    nic = *found;
    return {};
  }

  Status bytes(std::string_view word, Bytes& out) {
    constexpr std::int64_t kMost = std::int64_t{1} << 50;  // 1 PiB
    std::int64_t n = 0;
    if (!is_number(word, n))
      return at(line_, fmt::format("'{}' is not a number of bytes; write a whole number without unit", word), kBytes);
    if (n < 0) return at(line_, fmt::format("'{}' is negative; write 0 bytes or more", word), kBytes);
    if (n > kMost) return at(line_, fmt::format("'{}' is more than 2^50 bytes; split the flow", word), kBytes);
    out = static_cast<Bytes>(n);
    return {};
  }

  Status time(std::string_view word, FlowField field, SimTime& out) {
    constexpr double kLatest = 1e15;  // 11 days; simulated time ends after 106
    if (word.empty()) return {};
    double ns = 0;
    if (!is_number(word, ns) || !(ns >= 0) || ns > kLatest)
      return at(line_,
                fmt::format("'{}' is not a {}; write nanoseconds from 0 to 1e15", word,
                            field == kStart ? "start time" : "time"),
                field);
    out = SimTime::at(Duration::ps(std::llround(ns * 1000)));
    return {};
  }

  /// Turns the ids under `after` into numbers; an id may occur later in the file.
  Status link_after() {
    std::size_t next = 0;
    for (std::uint32_t f = 0; f < out_.ids.size(); ++f) {
      if (next < waits_.size() && waits_[next].flow == f) BUSBAR_RETURN_IF_ERROR(link_one(waits_[next++]));
      out_.list.after.close_row();
    }
    return {};
  }
  Status link_one(const Wait& wait) {
    for (std::string_view rest = wait.text; !rest.empty();) {
      const std::size_t end = std::min(rest.find(';'), rest.size());
      const std::string id(formats::trimmed(rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      const auto it = known_.find(id);
      if (it == known_.end())
        return at(wait.line, fmt::format("there is no flow '{}'; separate several ids by ';'", id), kAfter,
                  ErrorCode::kNotFound);
      out_.list.after.values.push_back(it->second);
    }
    return {};
  }

  /// Follows `after` backwards, depth first. A flow that is met again during its own walk waits for itself.
  Status refuse_cycles() const {
    enum : std::uint8_t { kNew, kBehind, kDone };
    const Csr<std::uint32_t>& after = out_.list.after;
    std::vector<std::uint8_t> mark(out_.ids.size(), kNew);
    std::vector<std::uint32_t> walk, cursor(after.begin.begin(), after.begin.end() - 1);
    for (std::uint32_t f = 0; f < mark.size(); ++f) {
      if (mark[f] != kNew) continue;
      walk.assign(1, f);
      mark[f] = kBehind;
      while (!walk.empty()) {
        const std::uint32_t at_flow = walk.back();
        if (cursor[at_flow] == after.begin[at_flow + 1]) {
          mark[at_flow] = kDone;
          walk.pop_back();
          continue;
        }
        const std::uint32_t before = after.values[cursor[at_flow]++];
        if (mark[before] == kBehind)
          return at(lines_[before],
                    fmt::format("'{}' waits for itself, directly or through others; break the cycle", out_.ids[before]),
                    kAfter);
        if (mark[before] == kNew) {
          mark[before] = kBehind;
          walk.push_back(before);
        }
      }
    }
    return {};
  }

  static constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);
  const std::string& file_;
  const std::int64_t first_;
  const topology::Topology& t_;
  const routing::Placement placement_;
  std::unordered_map<std::uint32_t, std::uint32_t> rank_of_;  // for look-up only
  std::unordered_map<std::string, std::uint32_t> known_;      // for look-up only
  std::array<std::size_t, kFields> column_{};
  std::size_t columns_ = 0;
  std::vector<Wait> waits_;
  std::vector<int> lines_;
  int line_ = 0;
  NamedFlows out_;
};

}  // namespace

Result<NamedFlows> read_flow_csv(const std::string& file, const routing::Router& router, std::uint32_t first) {
  return Reader(file, router, first).read();
}

std::string write_flow_csv(const program::FlowList& list, const routing::Router& router, const std::string& remark) {
  const topology::Topology& t = router.topology();
  const routing::Placement placement(router, t.gpus());
  std::unordered_map<std::uint32_t, topology::DeviceId> nearest;
  for (std::uint32_t r = 0; r < placement.ranks(); ++r) nearest.emplace(index(placement.gpu(r)), placement.nic(r, 0));
  // The name of the NIC, where it is not the one nearest to the device.
  const auto other = [&](topology::DeviceId device, topology::DeviceId nic) {
    const auto usual = nearest.find(index(device));
    const bool named = nic != kNone<topology::DeviceId> && usual != nearest.end() && usual->second != nic;
    return named ? t.name(nic) : std::string();
  };
  const auto apart = [&](const program::ListedFlow& x) { return t.block_of(x.from) != t.block_of(x.to); };
  const bool nics = std::any_of(list.flows.begin(), list.flows.end(), [&](const program::ListedFlow& x) {
    return apart(x) && !(other(x.from, x.nic_from).empty() && other(x.to, x.nic_to).empty());
  });
  std::string out;
  if (const program::RateShares& s = list.shares; s.scale_up < 1 || s.server < 1 || s.network < 1)
    out = fmt::format("{} scale_up={} server={} network={}\n", kSharesLine, s.scale_up, s.server, s.network);
  if (!remark.empty()) out += fmt::format("# {}\n", remark);
  out += fmt::format("id,src,dst,bytes,start_ns,after,trigger,lane,delay_ns{}\n", nics ? ",src_nic,dst_nic" : "");
  for (std::uint32_t f = 0; f < list.flows.size(); ++f) {
    const program::ListedFlow& x = list.flows[f];
    std::string after;
    for (const std::uint32_t before : list.after.row(f)) after += (after.empty() ? "" : ";") + std::to_string(before);
    out += fmt::format("{},{},{},{},{:.3f},{},{},{},{:.3f}", f, t.name(x.from), t.name(x.to), count(x.bytes),
                       static_cast<double>(x.start.since_start().in_ps()) * 1e-3, after,
                       kTriggerNames[static_cast<std::size_t>(x.trigger)], x.lane,
                       static_cast<double>(x.overhead.in_ps()) * 1e-3);
    if (nics && apart(x)) out += fmt::format(",{},{}", other(x.from, x.nic_from), other(x.to, x.nic_to));
    out += nics && !apart(x) ? ",,\n" : "\n";
  }
  return out;
}

}  // namespace busbar::questions
