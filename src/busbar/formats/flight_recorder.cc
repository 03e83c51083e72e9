#include "busbar/formats/flight_recorder.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "busbar/base/text.h"
#include "busbar/formats/internal/pickle.h"
#include "busbar/formats/json_text.h"

namespace busbar::formats {
namespace {

constexpr std::string_view kDigits = "0123456789";

/// "3" of "dumps/nccl_trace_rank_3.json"; "?" without a number.
std::string rank_in(std::string_view name) {
  name = name.substr(name.rfind('/') + 1);
  const std::size_t last = name.find_last_of(kDigits);
  if (last == name.npos) return "?";
  const std::size_t before = name.find_last_not_of(kDigits, last);
  const std::size_t first = before == name.npos ? 0 : before + 1;
  return std::string(name.substr(first, last - first + 1));
}

/// A number, which JSON dumps write as a text.
long long whole(const Json& value, long long otherwise) {
  if (value.is_number()) return static_cast<long long>(value.number());
  long long out = 0;
  return value.is_string() && is_number(std::string_view(value.text()), out) ? out : otherwise;
}

std::string word(const Json& value) {
  std::string out = value.is_string() ? value.text() : value.is_null() ? "" : value.dump();
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }, '_');
  return out.empty() ? "unnamed" : out;
}

/// "0(default_pg)"
std::string group_of(const Json& entry) {
  const Json& group = entry["process_group"];
  if (group.values().size() < 2) return word(entry["pg_id"]);
  return fmt::format("{}({})", word(group.values()[0]), word(group.values()[1]));
}

class DumpLines {
 public:
  DumpLines(const Json& dump, std::string rank) : dump_(dump), rank_(std::move(rank)) {}

  std::string text() {
    const Json& entries = dump_.is_array() ? dump_ : dump_["entries"];  // a bare list before version 2.0
    for (const Json& e : entries.values()) take(e);
    for (const Json::Member& m : dump_.is_array() ? std::vector<Json::Member>() : dump_["pg_status"].members())
      add_status(m.key, m.value);
    for (const auto& [group, e] : first_open_) {
      const std::string seq = std::to_string(sequence(*e));
      add(group, "waits in", fmt::format("{}:{}", seq, word((*e)["profiling_name"])));
      add(group + "#" + seq, "calls",
          fmt::format("{}{}{}", word((*e)["profiling_name"]), word((*e)["input_sizes"]), word((*e)["input_dtypes"])));
      add(group + "#" + seq, "state", word((*e)["state"]));
    }
    return std::move(out_);
  }

 private:
  static long long sequence(const Json& e) {
    return whole(e.contains("collective_seq_id") ? e["collective_seq_id"] : e["seq_id"], -1);
  }

  void add(const std::string& group, const char* what, const std::string& value) {
    out_ += fmt::format("flight recorder rank {} group {} {} {}\n", rank_, group, what, value);
  }

  void take(const Json& e) {
    if (!e.is_object() || (e["is_p2p"].is_boolean() && e["is_p2p"].truth())) return;
    const std::string group = group_of(e);
    names_.try_emplace(word(e["pg_id"]), group);
    if (!e["state"].is_string() || e["state"].text() == "completed" || sequence(e) < 0) return;
    const auto [open, fresh] = first_open_.try_emplace(group, &e);
    if (!fresh && sequence(e) < sequence(*open->second)) open->second = &e;
  }

  void add_status(const std::string& id, const Json& status) {
    if (!status.is_object()) return;
    const auto known = names_.find(id);
    const std::string group = known == names_.end() ? word(Json(id)) : known->second;
    for (const auto& [key, what] :
         {std::pair{"last_enqueued_collective", "enqueued"}, std::pair{"last_started_collective", "started"},
          std::pair{"last_completed_collective", "completed"}})
      if (const long long n = whole(status[key], -1); n >= 0) add(group, what, std::to_string(n));
  }

  const Json& dump_;
  const std::string rank_;
  std::map<std::string, std::string> names_;       ///< id of a group -> "0(default_pg)"
  std::map<std::string, const Json*> first_open_;  ///< per group: the first collective that is not completed
  std::string out_;
};

}  // namespace

bool looks_like_flight_recorder(std::string_view head) {
  const bool pickle = looks_like_pickle(head);
  if (!pickle && !head.starts_with('{')) return false;
  return head.find("pg_status") != head.npos || head.find("collective_seq_id") != head.npos ||
         (pickle && head.find("profiling_name") != head.npos);
}

Result<std::string> flight_recorder_lines(std::string_view dump, const std::string& name) {
  Json whole_dump;
  if (looks_like_pickle(dump)) {
    BUSBAR_ASSIGN(whole_dump, read_pickle(dump, name, "frames"));
  } else {
    BUSBAR_ASSIGN(whole_dump, parse_json(dump, name));
  }
  if (!whole_dump.is_structured()) return invalid("is no dump of the flight recorder", {name, 0, 0, ""});
  return DumpLines(whole_dump, rank_in(name)).text();
}

}  // namespace busbar::formats
