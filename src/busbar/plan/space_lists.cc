#include "busbar/plan/space_lists.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include "busbar/base/text.h"

namespace busbar::plan {
namespace {

Error in_field(const char* field, std::string message) { return invalid(std::move(message), {"", 0, 0, field}); }

std::vector<std::string> list_words(const std::string& list, char between = ',') {
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= list.size() && !list.empty();) {
    const std::size_t end = std::min(list.find(between, at), list.size());
    out.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

bool read_number(const std::string& text, std::uint32_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

Status read_numbers(const char* field, const std::string& list, std::uint32_t low, std::uint32_t high,
                    std::vector<std::uint32_t>& out) {
  if (list.empty()) return {};
  out.clear();
  for (const std::string& word : list_words(list)) {
    const std::size_t dots = word.find("..");
    std::uint32_t first = 0, last = 0;
    const bool range = dots != std::string::npos;
    const bool good = read_number(word.substr(0, dots), first) &&
                      (range ? read_number(word.substr(dots + 2), last) : (last = first, true));
    if (!good || first < low || last > high || first > last)
      return in_field(field,
                      fmt::format("'{}' is no list of numbers from {} to {}, such as 1,2,4 or 1..4", list, low, high));
    for (std::uint32_t v = first; v <= last; ++v) out.push_back(v);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return {};
}

template <typename E>
Status read_words(const char* field, const std::string& list, std::vector<E>& out) {
  if (list.empty()) return {};
  const std::vector<E> all = std::move(out);
  out.clear();
  for (const std::string& word : list_words(list)) {
    const auto known = std::find_if(all.begin(), all.end(), [&](E e) { return word == name_of(e); });
    if (known == all.end()) {
      std::string names;
      for (const E e : all) append_word(names, name_of(e));
      return in_field(field, fmt::format("'{}' is none of {}", word, names));
    }
    if (std::find(out.begin(), out.end(), *known) == out.end()) out.push_back(*known);
  }
  return {};
}

/// "act+layernorm": what selective recomputation recomputes.
std::optional<PlanRecompute> read_modules(const std::string& text) {
  workload::RecomputeModules modules{.core_attn = false};
  for (const std::string& word : list_words(text, '+')) {
    const auto* const known = std::find_if(std::begin(kRecomputeModules), std::end(kRecomputeModules),
                                           [&](const auto& m) { return word == m.first; });
    if (known == std::end(kRecomputeModules)) return {};
    modules.*known->second = true;
  }
  return PlanRecompute(workload::Recompute::kSelective, modules);
}

/// By default what frees memory at little work as well: activations, and with them norms and what latent attention
/// projects up.
Status read_recompute(const std::string& list, const workload::LayoutSpec& base, std::vector<PlanRecompute>& out) {
  if (list.empty() && !base.places.contains("recompute_modules")) {
    out.insert(out.begin() + 2,
               {PlanRecompute(workload::Recompute::kSelective, workload::RecomputeModules{false, true, false, false}),
                PlanRecompute(workload::Recompute::kSelective, workload::RecomputeModules{false, true, true, true})});
  }
  if (list.empty()) return {};
  out.clear();
  for (const std::string& word : list_words(list)) {
    std::optional<PlanRecompute> kind = read_modules(word);
    for (const workload::Recompute r :
         {workload::Recompute::kNone, workload::Recompute::kSelective, workload::Recompute::kFull})
      if (word == workload::name_of(r)) kind = r;
    if (!kind)
      return in_field("recompute", fmt::format("'{}' is none of none, selective and full, nor modules such as act or "
                                               "act+layernorm (core_attn, act, layernorm, mla_up_proj)",
                                               word));
    if (std::find_if(out.begin(), out.end(), [&](const auto& r) { return r.key() == kind->key(); }) == out.end())
      out.push_back(*kind);
  }
  return {};
}

Status read_orders(const std::string& list, std::vector<workload::RankOrder>& out) {
  std::vector<workload::RankOrder> all;
  workload::RankOrder order = workload::kTpCpDpPp;  // the words in ascending order
  do all.push_back(order);
  while (std::next_permutation(order.begin(), order.end()));
  for (const std::string& word : list_words(list)) {
    const auto known = std::find_if(all.begin(), all.end(),
                                    [&](const workload::RankOrder& o) { return word == workload::name_of(o); });
    if (word == "all")
      out = all;
    else if (known != all.end())
      out.push_back(*known);
    else
      return in_field("order", fmt::format("'{}' is no order of tp, cp, dp and pp, such as tp-cp-pp-dp", word));
  }
  return {};
}

}  // namespace

Result<PlanSpace> read_space(const PlanLists& lists, workload::LayoutSpec base) {
  constexpr std::uint32_t kMost = 1u << 24;
  PlanSpace space;
  if (base.split.layers_per_chunk > 0)
    return invalid("a search chooses vpp; leave this out, or write --vpp", base.place("layers_per_chunk"));
  space.base = std::move(base);
  BUSBAR_RETURN_IF_ERROR(read_numbers("tp", lists.tp, 1, kMost, space.tp));
  BUSBAR_RETURN_IF_ERROR(read_numbers("pp", lists.pp, 1, kMost, space.pp));
  BUSBAR_RETURN_IF_ERROR(read_numbers("vpp", lists.vpp, 1, kMost, space.vpp));
  BUSBAR_RETURN_IF_ERROR(read_numbers("dp", lists.dp, 1, kMost, space.dp));
  BUSBAR_RETURN_IF_ERROR(read_numbers("cp", lists.cp, 1, kMost, space.cp));
  BUSBAR_RETURN_IF_ERROR(read_numbers("ep", lists.ep, 1, kMost, space.ep));
  BUSBAR_RETURN_IF_ERROR(read_numbers("micro_batch", lists.micro_batch, 1, kMost, space.micro_batch));
  BUSBAR_RETURN_IF_ERROR(read_numbers("gpus_per_domain", lists.gpus_per_domain, 1, kMost, space.per_domain));
  BUSBAR_RETURN_IF_ERROR(read_numbers("zero", lists.zero, 0, 3, space.zero));
  BUSBAR_RETURN_IF_ERROR(read_recompute(lists.recompute, space.base, space.recompute));
  BUSBAR_RETURN_IF_ERROR(read_words("schedule", lists.schedule, space.schedule));
  BUSBAR_RETURN_IF_ERROR(read_orders(lists.order, space.order));
  space.changes_of_best = usual_changes(space.base);
  if (!lists.order.empty())
    std::erase_if(space.changes_of_best, [](const PlanChange& c) { return c.kind() == PlanChange::Kind::kOrder; });
  return space;
}

}  // namespace busbar::plan
