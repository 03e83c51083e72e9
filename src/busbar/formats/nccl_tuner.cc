#include "busbar/formats/nccl_tuner.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "busbar/base/text.h"
#include "busbar/formats/lines.h"

namespace busbar::formats {
namespace {

constexpr std::pair<const char*, collectives::Collective> kCollectives[] = {
    {"allreduce", collectives::Collective::kAllReduce},
    {"allgather", collectives::Collective::kAllGather},
    {"reducescatter", collectives::Collective::kReduceScatter},
    {"broadcast", collectives::Collective::kBroadcast},
    {"reduce", collectives::Collective::kReduce}};
constexpr std::string_view kAlgorithms[] = {"tree", "ring", "collnet_direct", "collnet_chain",
                                            "nvls", "pat",  "nvls_tree"};
constexpr std::string_view kProtocols[] = {"ll", "ll128", "simple"};
constexpr std::string_view kHeader = "collective_type";
constexpr std::size_t kFewestFields = 7, kRanksField = 7, kPipelinedField = 8, kRegisteredField = 9;

std::optional<collectives::Collective> collective_of(std::string_view name) {
  for (const auto& [known, op] : kCollectives)
    if (known == name) return op;
  return std::nullopt;
}

class TunerReader {
 public:
  TunerReader(std::string_view text, const std::string& name) : lines_(LineSource::of_text(text, name)) {
    out_.file = name;
  }

  Result<TunerPicks> read() {
    std::string_view line;
    while (lines_.next(line)) {
      line = trimmed(line.substr(0, line.find('#')));
      if (line.empty() || line.starts_with(kHeader)) continue;
      BUSBAR_ASSIGN(TunerPick pick, pick_of(line));
      out_.picks.push_back(std::move(pick));
    }
    if (out_.picks.empty()) return invalid("is empty: it has no picks", {out_.file, 0, 0, ""});
    return std::move(out_);
  }

 private:
  Result<TunerPick> pick_of(std::string_view line) {
    fields_ = split_at(line, ',');
    if (fields_.size() < kFewestFields)
      return invalid(fmt::format("has {} fields; a pick is collective,min bytes,max bytes,algorithm,protocol,channels,"
                                 "nodes,ranks",
                                 fields_.size()),
                     lines_.where());
    TunerPick p;
    const auto op = collective_of(field(0));
    if (!op) return not_one(0, "allreduce, allgather, reducescatter, broadcast and reduce");
    p.op = *op;
    p.line = lines_.number();
    BUSBAR_ASSIGN(const std::int64_t least, number(1, 0));
    BUSBAR_ASSIGN(const std::int64_t most, number(2, 0));
    p.min_bytes = static_cast<std::uint64_t>(least);
    p.max_bytes = static_cast<std::uint64_t>(most);
    BUSBAR_ASSIGN(p.algorithm, word(3, kAlgorithms));
    BUSBAR_ASSIGN(p.protocol, word(4, kProtocols));
    BUSBAR_ASSIGN(p.channels, number(5, -1));
    BUSBAR_ASSIGN(p.nodes, number(6, -1));
    if (fields_.size() > kRanksField) {
      BUSBAR_ASSIGN(p.ranks, number(kRanksField, -1));
    }
    for (const std::size_t i : {kPipelinedField, kRegisteredField})
      if (i < fields_.size() && field(i) != "-1")
        add_unknown(out_.unknown, p.line, i == kPipelinedField ? "field numPipeOps" : "field regBuff");
    return p;
  }

  std::string_view field(std::size_t i) const { return trimmed(fields_[i]); }
  Error not_one(std::size_t i, std::string_view list) const {
    return invalid(fmt::format("'{}' is not one of {}", field(i), list), lines_.where());
  }
  Result<std::int64_t> number(std::size_t i, std::int64_t least) const {
    std::int64_t n = 0;
    if (!is_number(field(i), n) || n < least)
      return invalid(fmt::format("'{}' is not a whole number of {} or more", field(i), least), lines_.where());
    return n;
  }
  template <std::size_t n>
  Result<std::string> word(std::size_t i, const std::string_view (&known)[n]) const {
    if (field(i) == "-1") return std::string();
    if (std::find(std::begin(known), std::end(known), field(i)) != std::end(known)) return std::string(field(i));
    std::string list = "-1";
    for (const std::string_view k : known) list += fmt::format(", {}", k);
    return not_one(i, list);
  }

  LineSource lines_;
  std::vector<std::string_view> fields_;
  TunerPicks out_;
};

}  // namespace

const char* tuner_name(collectives::Collective op) {
  for (const auto& [name, known] : kCollectives)
    if (known == op) return name;
  return nullptr;
}

bool looks_like_nccl_tuner(std::string_view head) {
  LineSource lines = LineSource::of_text(head, "");
  std::string_view line;
  while (lines.next(line)) {
    line = trimmed(line);
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with(kHeader)) return true;
    const auto fields = split_at(line, ',');
    std::uint64_t bytes = 0;
    return fields.size() >= kFewestFields && collective_of(fields[0]) && is_number(trimmed(fields[1]), bytes);
  }
  return false;
}

Result<TunerPicks> read_nccl_tuner(std::string_view text, const std::string& name) {
  return TunerReader(text, name).read();
}

const TunerPick* pick_for(const TunerPicks& picks, collectives::Collective op, std::uint64_t bytes, std::size_t nodes,
                          std::uint32_t ranks) {
  for (const TunerPick& p : picks.picks)
    if (p.op == op && p.min_bytes <= bytes && bytes <= p.max_bytes &&
        (p.nodes < 0 || static_cast<std::size_t>(p.nodes) == nodes) && (p.ranks < 0 || p.ranks == ranks))
      return &p;
  return nullptr;
}

}  // namespace busbar::formats
