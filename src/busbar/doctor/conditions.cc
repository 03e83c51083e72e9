#include "busbar/doctor/internal/conditions.h"

#include <algorithm>
#include <map>
#include <set>

#include "busbar/base/text.h"

namespace busbar::doctor {
namespace {

using Facts = std::vector<const Fact*>;

bool any_matches(const std::vector<std::string>& patterns, std::string_view text) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& p) { return glob_matches(p, text); });
}

/// Orders values: whole numbers by size, before all other texts.
struct ValueBefore {
  bool operator()(std::string_view a, std::string_view b) const {
    const bool a_number = is_number(a), b_number = is_number(b);
    if (a_number != b_number) return a_number;
    if (a_number && a.size() != b.size()) return a.size() < b.size();
    return a < b;
  }
  static bool is_number(std::string_view text) {
    return text.find_first_not_of("0123456789") == text.npos && !text.empty() && (text.front() != '0' || text == "0");
  }
};

bool in_scope(Scope scope, const Fact& a, const Fact& b) {
  switch (scope) {
    case Scope::kAnywhere:
      return true;
    case Scope::kHost:
      return a.host == b.host && (!a.host.empty() || a.file == b.file);
    case Scope::kSubject:
      return a.subject == b.subject && a.host == b.host && a.file == b.file;
    case Scope::kName:
      return a.subject == b.subject;
    case Scope::kValue:
      return a.value == b.value;
    case Scope::kFile:
      return a.file == b.file;
  }
  return false;
}

class Conditions {
 public:
  explicit Conditions(const Evidence& evidence) : evidence_(evidence) {}

  /// The facts that pass the clause's filters, within the scope of `lead` unless that is null.
  Facts passing(const Clause& c, const Fact* lead) const {
    Facts out;
    for (const std::uint32_t i : evidence_.named(c.fact)) {
      const Fact& f = evidence_.facts()[i];
      if (lead != nullptr && !in_scope(c.same, *lead, f)) continue;
      if (!c.subject.empty() && !any_matches(c.subject, f.subject)) continue;
      if (any_matches(c.subject_not, f.subject)) continue;
      if (!c.is.empty() && !any_matches(c.is, f.value)) continue;
      if (any_matches(c.is_not, f.value)) continue;
      if (c.below && !compares(c, f, *c.below, true)) continue;
      if (c.above && !compares(c, f, *c.above, false)) continue;
      out.push_back(&f);
    }
    if (c.below_median) keep_low(*c.below_median, out);
    return out;
  }

  /// The groups of facts that fulfil the first clause, one subject each.
  std::vector<Facts> heads(const Clause& c) const {
    const Facts all = passing(c, nullptr);
    std::vector<Facts> out;
    if (!c.count_below && !c.count_above && !c.differs) {
      for (const Fact* f : all) out.push_back({f});
      return out;
    }
    std::vector<bool> done(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (done[i]) continue;
      Facts group;
      for (std::size_t k = i; k < all.size(); ++k)
        if (!done[k] && in_scope(c.same, *all[i], *all[k])) group.push_back(all[k]), done[k] = true;
      if (holds(c, group)) out.push_back(c.differs ? odd_first(group) : group);
    }
    return out;
  }

  /// The facts that fulfil a further clause for `lead`; `ok` says whether it is fulfilled.
  Facts further(const Clause& c, const Fact& lead, bool& ok) const {
    Facts found = passing(c, &lead);
    ok = c.none ? found.empty() : holds(c, found);
    if (!ok || c.none) return {};
    if (!c.count_below && !c.count_above && !c.differs && found.size() > 1) found.resize(1);
    return found;
  }

 private:
  /// Another fact counts if it is about the same part of the same file, or of any file with `same: name`.
  bool compares(const Clause& c, const Fact& f, const RuleBound& bound, bool below) const {
    const Scope scope = c.same == Scope::kName ? Scope::kName : Scope::kSubject;
    const auto own = number_in(f.value);
    if (!own) return false;
    if (bound.fact.empty()) return below ? *own < bound.number : *own > bound.number;
    for (const std::uint32_t i : evidence_.named(bound.fact)) {
      const Fact& other = evidence_.facts()[i];
      const auto value = number_in(other.value);
      const double limit = c.share * value.value_or(0);
      if (value && in_scope(scope, f, other) && (below ? *own < limit : *own > limit)) return true;
    }
    return false;
  }

  /// Keeps the facts whose number is below `share` of the median; none without three numbers.
  static void keep_low(double share, Facts& facts) {
    std::vector<double> numbers;
    for (const Fact* f : facts)
      if (const auto number = number_in(f->value)) numbers.push_back(*number);
    if (numbers.size() < 3) return facts.clear();
    const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
    std::nth_element(numbers.begin(), middle, numbers.end());
    std::erase_if(facts, [&](const Fact* f) { return number_in(f->value).value_or(*middle) >= share * *middle; });
  }

  static std::size_t values(const Facts& facts) {
    std::set<std::string_view> seen;
    for (const Fact* f : facts) seen.insert(f->value);
    return seen.size();
  }

  bool counts(const Facts& facts, const RuleBound& bound, Scope scope, bool below) const {
    auto other = bound.number;
    if (!bound.fact.empty()) {
      Facts beside;
      for (const std::uint32_t i : evidence_.named(bound.fact))
        if (in_scope(scope, *facts.front(), evidence_.facts()[i])) beside.push_back(&evidence_.facts()[i]);
      other = static_cast<double>(values(beside));
    }
    const auto own = static_cast<double>(values(facts));
    return below ? own < other : own > other;
  }

  bool holds(const Clause& c, const Facts& facts) const {
    if (facts.empty()) return false;
    if (c.differs && values(facts) < 2) return false;
    if (c.count_below && !counts(facts, *c.count_below, c.same, true)) return false;
    return !c.count_above || counts(facts, *c.count_above, c.same, false);
  }

  /// The facts whose value is rarer than the most frequent one, then one fact of that value.
  static Facts odd_first(const Facts& facts) {
    std::map<std::string_view, std::size_t, ValueBefore> times;
    for (const Fact* f : facts) ++times[f->value];
    // Of equally frequent ones the last: of two ranks, the one with the smaller number is behind.
    auto usual = times.begin();
    for (auto it = times.begin(); it != times.end(); ++it)
      if (it->second >= usual->second) usual = it;
    Facts out;
    for (const Fact* f : facts)
      if (f->value != usual->first) out.push_back(f);
    for (const Fact* f : facts)
      if (f->value == usual->first) {
        out.push_back(f);
        break;
      }
    return out;
  }

  const Evidence& evidence_;
};

char lowered(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool fits(char pattern, char c) {
  if (pattern == '#') return c >= '0' && c <= '9';
  return pattern == '?' || lowered(pattern) == lowered(c);
}

}  // namespace

bool glob_matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = pattern.npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && fits(pattern[p], text[t])) {
      ++p, ++t;
    } else if (star != pattern.npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::vector<Fulfilment> fulfilments(const Rule& rule, const Evidence& evidence) {
  const Conditions conditions(evidence);
  std::vector<Fulfilment> out;
  for (Facts& head : conditions.heads(rule.when.front())) {
    Fulfilment f{std::move(head), {}};
    if (rule.when.front().differs) {  // the last one is a fact with the usual value
      f.rest.push_back(f.lead.back());
      f.lead.pop_back();
    }
    bool ok = true;
    for (std::size_t i = 1; ok && i < rule.when.size(); ++i) {
      const Facts more = conditions.further(rule.when[i], *f.lead.front(), ok);
      f.rest.insert(f.rest.end(), more.begin(), more.end());
    }
    for (const Clause& c : rule.unless) {
      bool holds = false;
      if (ok) conditions.further(c, *f.lead.front(), holds);
      ok = ok && !holds;
    }
    if (ok) out.push_back(std::move(f));
  }
  return out;
}

}  // namespace busbar::doctor
