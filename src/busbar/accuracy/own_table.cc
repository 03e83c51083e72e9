#include "busbar/accuracy/own_table.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "busbar/accuracy/summary.h"
#include "busbar/base/text.h"

namespace busbar::accuracy {
namespace {

constexpr double kBandFrom[] = {0, 1 << 20, 64 << 20};
constexpr const char* kBandNames[] = {"below 1 MiB", "1-64 MiB", "64 MiB and more"};
constexpr const char* kLeftOut[] = {"sizes", "operations", "nodes", "GPUs of a node"};
enum Part : std::uint8_t { kOwnSizes, kOtherOperations, kMoreNodes, kMoreGpus };
constexpr std::size_t kBands = std::size(kBandFrom), kParts = std::size(kLeftOut);

std::size_t size_band(double bytes) {
  return static_cast<std::size_t>(std::upper_bound(std::begin(kBandFrom), std::end(kBandFrom), bytes) -
                                  std::begin(kBandFrom) - 1);
}

struct Measured {
  program::MeasuredCall call;
  predict::Band band;
};

/// One operation on one number of nodes, by size.
struct OwnTable {
  collectives::Collective op{};
  std::uint32_t nodes = 1, ranks = 2;
  std::vector<Measured> sizes;
};

struct OwnMachine {
  std::string source;
  std::vector<OwnTable> tables;
};

/// Tests of one part: tables that are known, and what is predicted from them.
struct OwnTrial {
  Part part{};
  const OwnMachine* machine = nullptr;
  const OwnTable* left_out = nullptr;
  std::vector<std::pair<std::vector<program::MeasuredCall>, std::vector<Measured>>> folds;
};

std::string words_but(const std::string& variant, const char* token) {
  std::string out;
  for (const std::string_view word : split_at(variant, ';'))
    if (!word.empty() && !word.starts_with(token)) out += std::string(word) + ";";
  return out;
}

/// What makes two rows of the table one machine.
std::string machine_key(const CsvTable& t, std::size_t row) {
  const std::string& source = t.cell(row, "source");
  std::string out = source.substr(0, source.find(' '));
  for (const char* column : {"system", "gpu", "node", "library_version", "env"}) out += "|" + t.cell(row, column);
  return out + "|" + words_but(t.cell(row, "node_variant"), "gpus-visible");
}

std::string table_key(const CsvTable& t, std::size_t row) {
  std::string out;
  for (const char* column :
       {"collective", "nodes", "gpus_total", "fabric", "algo", "proto", "nvls", "channels", "launch"})
    out += "|" + t.cell(row, column);
  return out;
}

OwnTable table_of(const std::map<double, std::vector<const ScoredRow*>>& by_size) {
  OwnTable out;
  for (const auto& [bytes, rows] : by_size) {
    std::vector<double> us;
    for (const ScoredRow* r : rows) us.push_back(r->measured);
    out.sizes.push_back(
        {{rows.front()->traits, median_of(std::move(us)), rows.front()->predicted}, rows.front()->band});
  }
  out.op = out.sizes.front().call.call.op;
  out.ranks = out.sizes.front().call.call.ranks;
  return out;
}

struct FoundTable {
  double nodes = 1;
  std::map<double, std::vector<const ScoredRow*>> by_size;
};
/// By machine_key() and table_key().
using FoundTables = std::map<std::string, std::map<std::string, FoundTable>>;

void find_tables(const ScoredTable& scored, FoundTables& out) {
  for (const ScoredRow& r : scored.rows) {
    if (!r.counts || !r.unsupported.empty() || !r.asked || r.traits.bytes <= 0) continue;
    FoundTable& t = out[machine_key(scored.table, r.row)][table_key(scored.table, r.row)];
    const auto nodes = scored.table.number(r.row, "nodes");
    if (nodes.ok()) t.nodes = std::max(1.0, nodes->value_or(1));
    t.by_size[r.traits.bytes].push_back(&r);
  }
}

std::vector<OwnMachine> machines_of(const std::vector<ScoredTable>& scored) {
  FoundTables found;
  for (const ScoredTable& t : scored) find_tables(t, found);
  std::vector<OwnMachine> out;
  for (const auto& [name, tables] : found) {
    out.push_back({name.substr(0, name.find('|')), {}});
    for (const auto& [key, table] : tables) {
      out.back().tables.push_back(table_of(table.by_size));
      out.back().tables.back().nodes = static_cast<std::uint32_t>(table.nodes);
    }
  }
  return out;
}

void add_calls(const OwnTable& t, std::vector<program::MeasuredCall>& out) {
  for (const Measured& m : t.sizes) out.push_back(m.call);
}

/// Every fourth size is left out in turn.
void add_own(const OwnMachine& m, const OwnTable& t, std::vector<OwnTrial>& out) {
  constexpr std::size_t kFolds = 4;
  if (t.sizes.size() < kFolds) return;
  OwnTrial trial{kOwnSizes, &m, &t, {}};
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    auto& [known, asked] = trial.folds.emplace_back();
    for (std::size_t i = 0; i < t.sizes.size(); ++i)
      if (i % kFolds == fold)
        asked.push_back(t.sizes[i]);
      else
        known.push_back(t.sizes[i].call);
  }
  out.push_back(std::move(trial));
}

template <typename Knows>
void add_trial(Part part, const OwnMachine& m, const OwnTable& t, Knows knows, std::vector<OwnTrial>& out) {
  std::vector<program::MeasuredCall> known;
  for (const OwnTable& other : m.tables)
    if (knows(other)) add_calls(other, known);
  if (!known.empty()) out.push_back({part, &m, &t, {{std::move(known), t.sizes}}});
}

std::vector<OwnTrial> trials_of(const std::vector<OwnMachine>& machines) {
  std::vector<OwnTrial> out;
  for (const OwnMachine& m : machines)
    for (const OwnTable& t : m.tables) {
      const auto same_op_on_fewer = [&](const OwnTable& o) { return o.op == t.op && o.nodes < t.nodes; };
      const bool grows = std::any_of(m.tables.begin(), m.tables.end(), same_op_on_fewer);
      add_own(m, t, out);
      add_trial(
          kOtherOperations, m, t, [&](const OwnTable& o) { return o.op != t.op && o.ranks <= t.ranks; }, out);
      if (grows)
        add_trial(
            kMoreNodes, m, t, [&](const OwnTable& o) { return o.nodes < t.nodes; }, out);
      add_trial(
          kMoreGpus, m, t, [&](const OwnTable& o) { return o.op == t.op && o.nodes == t.nodes && o.ranks < t.ranks; },
          out);
    }
  return out;
}

/// Of one pair in one band of sizes.
struct PairError {
  double before = 0, after = 0;
  std::size_t in_band = 0, sizes = 0;
};
using PairErrors = std::vector<std::optional<PairError>>;  ///< by band

double percent_off(const Measured& m, double ln_factor) {
  return 100 * std::abs(m.call.modelled_us * std::exp(ln_factor) / m.call.us - 1);
}

PairErrors errors_of(const OwnTrial& trial, const program::CarryOver& carry, bool with_bands) {
  std::vector<std::vector<double>> before(kBands), after(kBands);
  std::vector<std::size_t> inside(kBands, 0);
  for (const auto& [known, asked] : trial.folds) {
    const program::MeasuredCalls calls(known, carry);
    for (const Measured& m : asked) {
      const std::size_t b = size_band(m.call.call.bytes);
      const double ln_factor = calls.ln_factor(m.call.call);
      before[b].push_back(percent_off(m, 0));
      after[b].push_back(percent_off(m, ln_factor));
      if (!with_bands) continue;
      const predict::Band band = predict::narrowed(m.band, calls, m.call.call);
      const double took = 100 * (m.call.us / (m.call.modelled_us * std::exp(ln_factor)) - 1);
      inside[b] += took >= band.low_percent && took <= band.high_percent;
    }
  }
  PairErrors out(kBands);
  for (std::size_t b = 0; b < kBands; ++b)
    if (const std::size_t n = before[b].size(); n > 0)
      out[b] = {median_of(std::move(before[b])), median_of(std::move(after[b])), inside[b], n};
  return out;
}

/// Gain and harm of one pair; below 0: a gain. A point counts less where errors are large; harm beyond 2 points counts
/// three times.
double loss(const PairError& e) {
  constexpr double kSmall = 5, kHarmless = 2, kHarm = 2;  // percent, points
  const auto scaled = [](double percent) { return std::log1p(percent / kSmall); };
  return scaled(e.after) - scaled(e.before) + kHarm * std::max(0.0, scaled(e.after) - scaled(e.before + kHarmless));
}

/// Every source, part and band counts alike. By source, part and band: the mean over pairs.
using Losses = std::map<std::string, std::map<std::pair<Part, std::size_t>, double>>;

Losses losses_of(const std::vector<OwnTrial>& trials, const program::CarryOver& carry) {
  std::map<std::string, std::map<std::pair<Part, std::size_t>, std::vector<double>>> all;
  for (const OwnTrial& t : trials) {
    const PairErrors errors = errors_of(t, carry, false);
    for (std::size_t b = 0; b < kBands; ++b)
      if (errors[b]) all[t.machine->source][{t.part, b}].push_back(loss(*errors[b]));
  }
  Losses out;
  for (const auto& [source, parts] : all)
    for (const auto& [part, list] : parts) {
      double sum = 0;
      for (const double x : list) sum += x;
      out[source][part] = sum / static_cast<double>(list.size());
    }
  return out;
}

double loss_without(const Losses& losses, const std::string& source) {
  std::map<std::pair<Part, std::size_t>, std::pair<double, int>> sums;
  for (const auto& [of, parts] : losses)
    for (const auto& [part, x] : parts)
      if (of != source) sums[part].first += x, ++sums[part].second;
  double out = 0;
  for (const auto& [part, sum] : sums) out += sum.first / sum.second;
  return out;
}

std::size_t best_without(const std::vector<Losses>& by_choice, const std::string& source) {
  std::size_t best = 0;
  for (std::size_t c = 1; c < by_choice.size(); ++c)
    if (loss_without(by_choice[c], source) < loss_without(by_choice[best], source)) best = c;
  return best;
}

struct LinePairs {
  std::vector<double> before, after, own;
  std::size_t moved = 0, worse = 0, in_band = 0, sizes = 0;
  std::set<const OwnMachine*> machines;

  void add(const OwnTrial& t, const PairError& e, const std::optional<PairError>& own_error) {
    constexpr double kMoved = 0.1, kWorse = 2;  // points
    before.push_back(e.before);
    after.push_back(e.after);
    if (own_error) own.push_back(own_error->after);
    moved += std::abs(e.after - e.before) > kMoved;
    worse += e.after > e.before + kWorse;
    in_band += e.in_band;
    sizes += e.sizes;
    machines.insert(t.machine);
  }
  OwnTableLine line(Part part, std::size_t band) const {
    const auto share = [](std::size_t of, std::size_t all) {
      return 100 * static_cast<double>(of) / static_cast<double>(all);
    };
    return {kLeftOut[part],
            kBandNames[band],
            median_of(before),
            median_of(after),
            own.empty() ? 0 : median_of(own),
            share(moved, before.size()),
            share(worse, before.size()),
            share(in_band, sizes),
            before.size(),
            machines.size()};
  }
};

std::vector<OwnTableLine> lines_of(const std::vector<OwnTrial>& trials,
                                   const std::map<std::string, program::CarryOver>& carry) {
  std::map<const OwnTable*, PairErrors> own;
  std::map<std::pair<Part, std::size_t>, LinePairs> pairs;
  for (const OwnTrial& t : trials) {
    const PairErrors errors = errors_of(t, carry.at(t.machine->source), true);
    if (t.part == kOwnSizes) own[t.left_out] = errors;
    for (std::size_t b = 0; b < kBands; ++b) {
      const auto known = own.find(t.left_out);
      if (errors[b]) pairs[{t.part, b}].add(t, *errors[b], known == own.end() ? std::nullopt : known->second[b]);
    }
  }
  std::vector<OwnTableLine> out;
  for (const auto& [of, found] : pairs) out.push_back(found.line(of.first, of.second));
  return out;
}

}  // namespace

std::vector<program::CarryOver> carry_over_choices() {
  std::vector<program::CarryOver> out{program::carry_over_in_use()};
  for (const double operation : {0.0, 0.1})
    for (const double curve : {0.15, 0.25})
      for (const double octaves : {1.5, 2.5})
        for (const double latency : {0.15, 0.3})
          for (const double rate : {0.3, 0.5})
            for (const double noise : {0.02, 0.04}) {
              program::CarryOver c = program::carry_over_in_use();
              c.operation = operation, c.curve = curve, c.octaves = octaves;
              c.latency = latency, c.rate = rate, c.noise = noise;
              out.push_back(c);
            }
  return out;
}

OwnTableJudgement judge_own_tables(const std::vector<ScoredTable>& tables) {
  const std::vector<OwnMachine> machines = machines_of(tables);
  const std::vector<OwnTrial> trials = trials_of(machines);
  const std::vector<program::CarryOver> choices = carry_over_choices();
  std::vector<Losses> losses;
  for (const program::CarryOver& c : choices) losses.push_back(losses_of(trials, c));
  std::map<std::string, program::CarryOver> carry;
  for (const OwnMachine& m : machines)
    if (!carry.contains(m.source)) carry.emplace(m.source, choices[best_without(losses, m.source)]);
  const std::size_t best = best_without(losses, "");
  return {lines_of(trials, carry), choices[best], choices[best] == program::carry_over_in_use()};
}

}  // namespace busbar::accuracy
