#include "busbar/study/study_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "busbar/base/random.h"

namespace busbar::study {
namespace {

constexpr double kMostCells = 1e9, kMostValues = 1e6;
constexpr double kLargest = 1e15;  // whole numbers below are exact

/// Words separated by spaces; quotes keep spaces.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> out;
  char quote = 0;
  bool in_word = false;
  for (const char c : line) {
    const bool mark = quote != 0 ? c == quote : c == '\'' || c == '"';
    if (mark) quote = quote != 0 ? '\0' : c;
    if (c == ' ' && quote == 0) {
      in_word = false;
      continue;
    }
    if (!in_word) out.emplace_back();
    in_word = true;
    if (!mark) out.back() += c;
  }
  return out;
}

std::string number_text(double v) { return fmt::format("{}", v); }

Result<std::vector<std::string>> read_values(const YamlNode& node) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < node.size(); ++i) {
    BUSBAR_ASSIGN(std::string value, node.item(i).as_string());
    out.push_back(std::move(value));
  }
  if (out.empty()) return node.error("expected values: [512, 1024], or {from: 1, to: 8, times: 2}");
  return out;
}

/// {from, to, step} or {from, to, times}.
Result<std::vector<std::string>> read_steps(const YamlNode& node) {
  double from = 0, to = 0, step = 0, times = 0;
  std::string unit;
  MapReader r(node);
  r.required("from", &YamlNode::as_number, from, -kLargest, kLargest);
  r.required("to", &YamlNode::as_number, to, -kLargest, kLargest);
  r.optional("step", &YamlNode::as_number, step, 0, kLargest);
  r.optional("times", &YamlNode::as_number, times, 0, kLargest);
  r.optional("unit", &YamlNode::as_string, unit);
  BUSBAR_RETURN_IF_ERROR(r.finish());
  if ((step > 0) == (times > 0) || (times > 0 && (times <= 1 || from <= 0)))
    return node.error("give either step above 0, or times above 1 and from above 0: {from: 1, to: 8, times: 2}");
  const double n = times > 0 ? std::log(to / from) / std::log(times) : (to - from) / step;
  if (to < from || n > kMostValues) return node.error("to must be at least from, with at most a million values");
  std::vector<std::string> out;
  for (double k = 0; k <= n + 1e-9; ++k)  // relative to the step: the last value counts in spite of rounding
    out.push_back(number_text(times > 0 ? from * std::pow(times, k) : from + k * step) + unit);
  return out;
}

}  // namespace

Result<Study> Study::load(const std::string& path) {
  BUSBAR_ASSIGN(const YamlDocument document, YamlDocument::load(path));
  Study out;
  out.text_ = document.text();
  BUSBAR_RETURN_IF_ERROR(out.read(document.root()));
  return out;
}

Result<Study> Study::parse(std::string text, const std::string& name) {
  BUSBAR_ASSIGN(const YamlDocument document, YamlDocument::parse(std::move(text), name));
  Study out;
  out.text_ = document.text();
  BUSBAR_RETURN_IF_ERROR(out.read(document.root()));
  return out;
}

Result<Study::Axis> Study::read_axis(const std::string& key, const YamlNode& node) {
  Axis out{key, {}};
  if (node.kind() == YamlNode::Kind::kMap) {
    BUSBAR_ASSIGN(out.values, read_steps(node));
  } else {
    BUSBAR_ASSIGN(out.values, read_values(node));
  }
  std::vector<std::string> sorted = out.values;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) return node.error(fmt::format("'{}' stands twice; leave one out", *twice));
  return out;
}

Result<Study::Draw> Study::read_draw(const std::string& key, const YamlNode& node) {
  Draw out{.key = key, .values = {}, .unit = ""};
  if (node.kind() != YamlNode::Kind::kMap) {
    BUSBAR_ASSIGN(out.values, read_values(node));
    return out;
  }
  MapReader r(node);
  r.required("from", &YamlNode::as_number, out.from, -kLargest, kLargest);
  r.required("to", &YamlNode::as_number, out.to, -kLargest, kLargest);
  r.optional("multiple_of", &YamlNode::as_number, out.multiple_of, 0, kLargest);
  r.optional("unit", &YamlNode::as_string, out.unit);
  BUSBAR_RETURN_IF_ERROR(r.finish());
  if (out.to < out.from) return node.error("to must be at least from");
  if (out.multiple_of > 0 && std::floor(out.to / out.multiple_of) < std::ceil(out.from / out.multiple_of))
    return node.error(fmt::format("no multiple of {} lies between from and to", out.multiple_of));
  return out;
}

Status Study::read(const YamlNode& root) {
  MapReader r(root);
  std::string command;
  r.required("command", &YamlNode::as_string, command);
  const auto grid = r.optional("grid"), list = r.optional("list"), random = r.optional("random");
  BUSBAR_RETURN_IF_ERROR(r.finish());
  command_ = words_of(command);
  const std::string name = command_.empty() ? "" : command_[0];
  if (name.empty() || name == "sweep" || name == "explore" || name.starts_with('-'))
    return root.find("command")->error(
        "expected a command of busbar with its words, neither sweep nor explore, such as train dgx-h100:8 llama3-8b");
  command_named_at_ = root.find("command")->where();
  double cells = 1;
  for (std::size_t i = 0; grid && i < grid->size(); ++i) {
    BUSBAR_ASSIGN(Axis axis, read_axis(grid->key(i), grid->item(i)));
    cells *= static_cast<double>(axis.values.size());
    grid_.push_back(std::move(axis));
  }
  for (std::size_t i = 0; list && i < list->size(); ++i) {
    CellSettings row;
    const YamlNode item = list->item(i);
    if (item.kind() != YamlNode::Kind::kMap) return item.error("expected settings: {--tp: 8, --pp: 1}");
    for (std::size_t k = 0; k < item.size(); ++k) {
      BUSBAR_ASSIGN(std::string value, item.item(k).as_string());
      row.emplace_back(item.key(k), std::move(value));
    }
    list_.push_back(std::move(row));
  }
  cells *= static_cast<double>(std::max<std::size_t>(1, list_.size()));
  for (std::size_t i = 0; random && i < random->size(); ++i) {
    const std::string key = random->key(i);
    const YamlNode node = random->item(i);
    if (key == "samples" || key == "seed") {
      BUSBAR_ASSIGN(const std::int64_t n, node.as_int(key == "seed" ? 0 : 1, static_cast<std::int64_t>(kMostCells)));
      (key == "seed" ? seed_ : samples_) = static_cast<std::uint64_t>(n);
      continue;
    }
    BUSBAR_ASSIGN(Draw draw, read_draw(key, node));
    random_.push_back(std::move(draw));
  }
  cells *= static_cast<double>(samples_);
  if (cells > kMostCells) return root.error(fmt::format("{:.3g} cells are too many; a study has at most 1e9", cells));
  cells_ = static_cast<std::uint64_t>(cells);
  return {};
}

std::string Study::drawn(const Draw& d, std::uint64_t sample) const {
  RandomStream random(mix64(seed_) ^ sample, d.key);
  if (!d.values.empty()) return d.values[random.below(d.values.size())];
  if (d.multiple_of <= 0) return fmt::format("{:.6g}", d.from + random.uniform() * (d.to - d.from)) + d.unit;
  const double first = std::ceil(d.from / d.multiple_of), last = std::floor(d.to / d.multiple_of);
  const auto n = static_cast<std::uint64_t>(last - first) + 1;
  return number_text((first + static_cast<double>(random.below(n))) * d.multiple_of) + d.unit;
}

CellSettings Study::settings(std::uint64_t cell) const {
  CellSettings out;
  const std::uint64_t sample = cell % samples_;
  cell /= samples_;
  const std::uint64_t rows = std::max<std::size_t>(1, list_.size()), row = cell % rows;
  cell /= rows;
  for (auto axis = grid_.rbegin(); axis != grid_.rend(); ++axis) {
    out.emplace_back(axis->key, axis->values[cell % axis->values.size()]);
    cell /= axis->values.size();
  }
  std::reverse(out.begin(), out.end());
  if (!list_.empty()) out.insert(out.end(), list_[row].begin(), list_[row].end());
  for (const Draw& d : random_) out.emplace_back(d.key, drawn(d, sample));
  return out;
}

std::vector<std::string> Study::words(std::uint64_t cell) const {
  std::vector<std::string> out = command_;
  for (const auto& [key, value] : settings(cell)) {
    if (!key.starts_with('-')) {
      out.insert(out.end(), {"--set", key + '=' + value});
    } else if (value != "false") {
      out.push_back(key);
      if (value != "true") out.push_back(value);
    }
  }
  return out;
}

}  // namespace busbar::study
