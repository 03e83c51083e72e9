#include "busbar/formats/internal/kineto_events.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "busbar/formats/json_text.h"

namespace busbar::formats {
namespace {

/// Bytes of an element, by PyTorch's type names.
std::uint64_t element_bytes(std::string_view type) {
  struct Size {
    std::string_view name;
    std::uint64_t bytes;
  };
  static constexpr Size kSizes[] = {{"Float8", 1}, {"Byte", 1},     {"Char", 1},  {"char", 1},  {"Bool", 1},
                                    {"bool", 1},   {"BFloat16", 2}, {"Half", 2},  {"Short", 2}, {"Int", 4},
                                    {"int", 4},    {"Float", 4},    {"float", 4}, {"Long", 8},  {"long", 8},
                                    {"Double", 8}, {"double", 8}};
  for (const std::string_view prefix : {"c10::", "signed ", "unsigned "})
    if (type.starts_with(prefix)) type.remove_prefix(prefix.size());
  for (const Size& s : kSizes)
    if (type.starts_with(s.name)) return s.bytes;
  return 0;
}

/// Reads events one by one and skips everything else.
class KinetoListener : public JsonListener {
 public:
  KinetoListener(KinetoHead& out, const std::function<void(const KinetoEvent&)>& each) : each_(each), out_(out) {}

  void scalar(Json value) override {
    if (value.is_string()) text(value.text());
    if (value.is_number()) number(value.number());
    count();
  }
  void begin(bool) override {
    count();
    if (depth() == 1 && keys_[0] == "traceEvents") saw_events = true;
    if (depth() == 2 && keys_[0] == "traceEvents") event_ = KinetoEvent();
    keys_.emplace_back();
    items_.push_back(0);
  }
  void key(std::string k) override { keys_.back() = k.substr(0, 200); }
  void end(bool array) override {
    if (!array && depth() == 3 && keys_[0] == "traceEvents") each_(event_);
    keys_.pop_back();
    items_.pop_back();
  }
  bool saw_events = false;

 private:
  std::size_t depth() const { return keys_.size(); }
  void count() {
    if (!items_.empty()) ++items_.back();
  }
  /// Depth 3 is the map of an event, depth 4 the map of its args.
  bool in_event(std::size_t at) const { return depth() == at && keys_[0] == "traceEvents"; }
  bool in_args() const { return in_event(4) && keys_[2] == "args"; }

  void text(const std::string& v) {
    if (in_event(3)) {
      if (keys_[2] == "cat") event_.category = v.substr(0, 80);
      if (keys_[2] == "name") event_.name = v.substr(0, 200);
    } else if (in_args()) {
      const std::string& k = keys_[3];
      if (k == "Collective name") event_.collective = v.substr(0, 80);
      if (k == "dtype") event_.type = v.substr(0, 40);
      if (k == "Process Group Name") event_.group = v.substr(0, 80);
      if (k == "Process Group Ranks") event_.members = v.substr(0, 1 << 20);
    } else if (in_event(5) && keys_[3] == "Input type" && items_.back() == 0) {
      event_.input_type = v.substr(0, 40);
    }
  }

  void number(double v) {
    const auto count = v >= 0 && v < 9e15 ? static_cast<std::uint64_t>(v) : 0;
    if (depth() == 2 && keys_[0] == "distributedInfo") {
      if (keys_[1] == "rank") out_.rank = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, UINT32_MAX));
      if (keys_[1] == "world_size")
        out_.world_size = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, UINT32_MAX));
    } else if (depth() == 1 && keys_[0] == "schemaVersion") {
      out_.version = std::to_string(count);
    } else if (in_event(3)) {
      if (keys_[2] == "ts") event_.start_us = v;
      if (keys_[2] == "dur") event_.duration_us = v;
    } else if (in_args()) {
      const std::string& k = keys_[3];
      if (k == "In msg nelems") event_.in_elements = count;
      if (k == "Out msg nelems") event_.out_elements = count;
      if (k == "Group size") event_.group_size = count;
    } else if (in_event(5) && keys_[3] == "grid" && items_.back() == 0) {
      event_.channels = count;
    } else if (in_event(6) && keys_[3] == "Input Dims" && items_[4] == 1) {
      const std::uint64_t so_far = items_.back() == 0 ? 1 : event_.input_elements;
      event_.input_elements = so_far > 0 && count < UINT64_MAX / so_far ? so_far * count : 0;
    }
  }

  const std::function<void(const KinetoEvent&)>& each_;
  KinetoHead& out_;
  KinetoEvent event_;
  std::vector<std::string> keys_;   ///< per open map its current key; for lists empty
  std::vector<std::size_t> items_;  ///< number of items begun in each
};

/// "[0, 1, 2, 3]"; a truncated list ("...") is ignored.
void members_in(std::string_view text, TracedCollective& c) {
  if (text.find("...") != text.npos) return;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] < '0' || text[at] > '9') {
      ++at;
      continue;
    }
    std::uint32_t rank = 0;
    const auto [end, code] = std::from_chars(text.data() + at, text.data() + text.size(), rank);
    at = static_cast<std::size_t>(end - text.data());
    if (code == std::errc()) c.members.push_back(rank);
  }
  if (c.ranks == 0) c.ranks = static_cast<std::uint32_t>(c.members.size());
  if (c.ranks != c.members.size()) c.members.clear();
}

}  // namespace

Result<KinetoHead> read_kineto_events(std::istream& in, const std::string& name,
                                      const std::function<void(const KinetoEvent&)>& each) {
  KinetoHead out;
  KinetoListener listener(out, each);
  BUSBAR_RETURN_IF_ERROR(read_json(in, name, listener));
  if (!listener.saw_events) return invalid("no 'traceEvents' in this file", {name, 0, 0, ""});
  return out;
}

bool is_nccl_kernel(const KinetoEvent& e) {
  return e.is_kernel() && (e.name.starts_with("nccl") || e.name.starts_with("rccl"));
}

TracedCollective collective_of(const KinetoEvent& e, std::vector<UnknownPart>& unknown) {
  const bool kernel = e.is_kernel();
  TracedCollective c;
  c.name = e.name.substr(0, e.name.find('('));
  c.op = collective_in(e.collective.empty() ? e.name : e.collective);
  c.on_gpu = kernel;
  c.start_us = e.start_us;
  c.duration_us = kernel ? e.duration_us : 0;
  c.channels = static_cast<std::uint32_t>(std::min<std::uint64_t>(kernel ? e.channels : 0, 1024));
  c.group = e.group;
  c.ranks = static_cast<std::uint32_t>(std::min<std::uint64_t>(e.group_size, UINT32_MAX));
  members_in(e.members, c);
  const std::uint64_t elements = std::max(e.in_elements, e.out_elements);
  const std::uint64_t each = element_bytes(e.type), input_each = element_bytes(e.input_type);
  if (elements > 0 && each > 0)
    c.bytes = elements * each;
  else if (!kernel && input_each > 0 && e.input_elements < UINT64_MAX / 8)
    c.bytes = e.input_elements * input_each;
  if (elements > 0 && each == 0) add_unknown(unknown, 0, fmt::format("dtype '{}'", e.type));
  return c;
}

}  // namespace busbar::formats
