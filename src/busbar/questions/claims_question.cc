#include "busbar/questions/claims_question.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "busbar/base/result.h"
#include "busbar/base/stop_flag.h"
#include "busbar/base/text.h"
#include "busbar/popular/claim.h"
#include "busbar/questions/command_words.h"
#include "busbar/questions/machine_request.h"
#include "busbar/questions/question.h"
#include "busbar/spec/catalog.h"

namespace busbar::questions {

const Record& record_of(const ClaimsRequest*) {
  static const Record record(
      "claims request",
      {Field("claim", &ClaimsRequest::claim, "", "a claim (S0-67) or a text of catalog/popular (levels); absent: all")
           .takes("CLAIM")
           .as_word()
           .optional(),
       catalog_field(&ClaimsRequest::catalog)});
  return record;
}

const Record& record_of(const ComputedClaim*) {
  static const Record record(
      "claim", {{"id", &ComputedClaim::id, "", "S0-67"},
                {"text", &ComputedClaim::text, "", "the text that says it"},
                {"said", &ComputedClaim::said, "", "what it says, in our words"},
                {"said_value", &ComputedClaim::said_value, "", "the figure said, in unit"},
                {"unit", &ComputedClaim::unit, "", "of the figures"},
                {"computed", &ComputedClaim::computed, "", "the figure computed, in unit, of one direction"},
                {"computed_up_to", &ComputedClaim::computed_up_to, "", "the other end of a range"},
                {"both_directions", &ComputedClaim::both_directions, "", "the text adds the two directions of a link"},
                {"verdict", &ComputedClaim::verdict, "", "right, near, wrong, depends, ..."},
                {"said_over_computed", &ComputedClaim::said_over_computed, "", "of a wrong figure"},
                {"depends_on", &ComputedClaim::depends_on, "", "what the answer depends on"},
                {"decided_by", &ComputedClaim::decided_by, "", "who decides, if no computation can"},
                {"why", &ComputedClaim::why, "", "one sentence for the reader"},
                {"command", &ComputedClaim::command, "", "the first command that computes it"},
                {"commands", &ComputedClaim::commands, "", "all commands that compute it"},
                {"problem", &ComputedClaim::problem, "", "why it was not computed"}});
  return record;
}

const Record& record_of(const ClaimsResult*) {
  static const Record record(
      "claims", {{"claims", &ClaimsResult::claims, "", "in the order of their files"},
                 {"summary", &ClaimsResult::summary, "", "number of claims by verdict"},
                 {"complete", &ClaimsResult::complete, "", "false: interrupted"},
                 {"inputs_hash", &ClaimsResult::inputs_hash, "", "of everything that the result depends on"}});
  return record;
}

namespace {

/// The texts with the wanted claims: all, those of a text ("nvlink") or one ("S0-03").
Result<std::vector<popular::PopularText>> wanted_texts(const spec::Catalog& catalog, const std::string& wanted) {
  std::vector<popular::PopularText> out;
  for (const std::string& name : catalog.names("popular")) {
    BUSBAR_ASSIGN(const YamlDocument file, catalog.load("popular", name));
    BUSBAR_ASSIGN(popular::PopularText text, popular::read_popular_text(file));
    if (!wanted.empty() && wanted != name)
      std::erase_if(text.claims, [&](const popular::PopularClaim& c) { return c.id != wanted; });
    if (!text.claims.empty()) out.push_back(std::move(text));
  }
  if (out.empty())
    return Error{ErrorCode::kNotFound,
                 fmt::format("no claim '{}'; the texts are {}, and 'busbar claims' lists every claim with its name",
                             wanted, comma_list(catalog.names("popular"))),
                 {}};
  return out;
}

/// The results of all commands, each run once.
class ClaimCommands {
 public:
  ClaimCommands(const std::vector<popular::PopularText>& texts, const std::string& catalog) {
    for (const popular::PopularText& text : texts)
      for (const popular::PopularClaim& c : text.claims)
        for (const popular::PopularClaim::Term& t : c.terms) wanted_.insert(t.command);
    if (!catalog.empty()) more_ = fmt::format(" --catalog '{}'", catalog);
  }
  /// Ends early when interrupted.
  void run(const Context& context) {
    for (const std::string& command : wanted_) {
      if (!context.go_on("commands", results_.size(), wanted_.size())) return;
      results_.emplace(command, result_of(command + more_, context));
    }
  }
  Result<Json> operator()(const std::string& command) const {
    const auto it = results_.find(command);
    return it == results_.end() ? Result<Json>(interrupted()) : it->second;
  }

 private:
  /// A clean "no" (status 1) is a result.
  static Result<Json> result_of(const std::string& command, const Context& context) {
    LineAnswer answer = context.answer_line(command_words(command));
    if (answer.status <= 1 && answer.json.is_object()) return std::move(answer.json);
    return invalid(fmt::format("'busbar {}' failed: {}", command, answer.message.substr(0, answer.message.find('\n'))));
  }

  std::set<std::string> wanted_;
  std::map<std::string, Result<Json>> results_;
  std::string more_;
};

std::vector<std::string> commands_of(const popular::PopularClaim& claim) {
  std::vector<std::string> out;
  for (const popular::PopularClaim::Term& t : claim.terms)
    if (std::find(out.begin(), out.end(), "busbar " + t.command) == out.end()) out.push_back("busbar " + t.command);
  return out;
}

std::optional<std::string> unless_empty(const std::string& word) {
  return word.empty() ? std::optional<std::string>() : word;
}

ComputedClaim computed(const popular::PopularText& text, const popular::JudgedClaim& j) {
  const popular::PopularClaim& c = *j.claim;
  ComputedClaim out;
  out.id = c.id;
  out.text = text.name;
  out.title = text.title;
  out.said = c.said;
  out.said_value = c.value;
  out.unit = unless_empty(c.unit);
  out.computed = j.computed;
  out.computed_up_to = j.up_to;
  out.both_directions = c.both_directions;
  out.verdict = popular::name_of(j.verdict);
  if (j.verdict == popular::ClaimVerdict::kWrong && j.off_by != 1) out.said_over_computed = j.off_by;
  out.depends_on = unless_empty(c.depends);
  out.decided_by = unless_empty(c.external);
  out.why = unless_empty(c.why);
  out.commands = commands_of(c);
  if (!out.commands.empty()) out.command = out.commands.front();
  out.problem = unless_empty(j.problem);
  out.formula = c.up_to.empty() ? c.computed : c.computed + " to " + c.up_to;
  out.holds = c.holds;
  for (const popular::PopularClaim::Term& t : c.terms)
    out.terms.emplace_back(t.name, fmt::format("{} of: busbar {}", t.path, t.command));
  return out;
}

}  // namespace

Result<ClaimsResult> answer(const ClaimsRequest& q, const Context& context) {
  if (!context.answer_line)
    return unsupported("claims are command lines, and this caller reads none; run busbar claims");
  BUSBAR_ASSIGN(const auto texts, wanted_texts(spec::Catalog(q.catalog), q.claim));
  ClaimCommands commands(texts, q.catalog);
  commands.run(context);
  ClaimsResult r;
  std::map<popular::ClaimVerdict, std::uint64_t> counts;
  std::string read;
  for (const popular::PopularText& text : texts) {
    read += text.text;
    for (const popular::PopularClaim& c : text.claims) {
      const popular::JudgedClaim judged = popular::judge_claim(c, std::cref(commands));
      ++counts[judged.verdict];
      r.claims.push_back(computed(text, judged));
    }
  }
  for (const auto& [verdict, n] : counts) r.summary.emplace_back(popular::name_of(verdict), n);
  r.complete = !context.stopped();
  r.inputs_hash = inputs_hash("claims", q, read);
  const std::uint64_t open = counts[popular::ClaimVerdict::kNotComputed];
  r.exit_status = open > 0 ? 1 : 0;
  if (open > 0 && r.complete && context.notice)
    context.notice(fmt::format("{} of the claims could not be computed", open));
  return r;
}

Question claims_question() {
  return make_question<ClaimsRequest, ClaimsResult>(
      "claims", "what popular texts say about GPU networks, computed now: right, wrong by what, or what it depends on",
      "  busbar claims\n  busbar claims levels\n  busbar claims S0-67\n  busbar claims --json\n", 140);
}

}  // namespace busbar::questions
