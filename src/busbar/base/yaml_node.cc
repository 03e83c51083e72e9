#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "busbar/base/internal/yaml_impl.h"
#include "busbar/base/quantity.h"
#include "busbar/base/yaml.h"

namespace busbar {
namespace {

const char* describe(const YamlNode& node) {
  constexpr const char* kNames[] = {"nothing", "a single value", "a list", "a map"};
  return kNames[static_cast<std::size_t>(node.kind())];
}

/// The text of a scalar, or an error if there is none.
Result<std::string> text_of(const YamlNode& node, const char* wanted) {
  if (node.kind() == YamlNode::Kind::kScalar) return node.scalar();
  return node.error(fmt::format("expected {}, found {}", wanted, describe(node)));
}

template <typename T>
Result<T> placed(const YamlNode& node, const char* wanted, Result<T> (*parse)(std::string_view)) {
  BUSBAR_ASSIGN(const std::string text, text_of(node, wanted));
  Result<T> value = parse(text);
  if (!value.ok()) return node.error(value.error().message);
  return value;
}

}  // namespace

YamlNode::YamlNode() {
  static const auto kNothing = std::make_shared<const Impl>();  // immutable
  impl_ = kNothing;
}

YamlNode::Kind YamlNode::kind() const { return impl_->kind; }

Where YamlNode::where() const {
  return Where{impl_->file ? *impl_->file : std::string(), impl_->line, impl_->column, impl_->path};
}

Error YamlNode::error(std::string message) const { return invalid(std::move(message), where()); }

const std::string& YamlNode::scalar() const { return impl_->scalar; }

std::size_t YamlNode::size() const { return impl_->items.size(); }

YamlNode YamlNode::item(std::size_t i) const {
  BUSBAR_CHECK(i < impl_->items.size()) << "item " << i << " of " << impl_->items.size();
  YamlNode out;
  out.impl_ = impl_->items[i];
  return out;
}

std::string YamlNode::key(std::size_t i) const {
  BUSBAR_CHECK(i < impl_->keys.size()) << "key " << i << " of " << impl_->keys.size();
  return impl_->keys[i].name;
}

Where YamlNode::key_where(std::size_t i) const {
  if (impl_->keys[i].line == 0) return item(i).where();  // set from the command line
  Where out = where();
  out.line = impl_->keys[i].line;
  out.column = impl_->keys[i].column;
  return out;
}

std::optional<YamlNode> YamlNode::find(std::string_view key) const {
  if (kind() != Kind::kMap) return std::nullopt;
  const auto i = impl_->index_of(key);
  if (!i) return std::nullopt;
  return item(*i);
}

Result<std::string> YamlNode::as_string() const { return text_of(*this, "a word"); }

Result<bool> YamlNode::as_bool() const {
  BUSBAR_ASSIGN(const std::string text, text_of(*this, "true or false"));
  if (text == "true") return true;
  if (text == "false") return false;
  return error(fmt::format("'{}' is neither true nor false", text));
}

Result<std::int64_t> YamlNode::as_int(std::int64_t low, std::int64_t high) const {
  BUSBAR_ASSIGN(const std::string text, text_of(*this, "a whole number"));
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc::invalid_argument || end != text.data() + text.size()) {
    return error(fmt::format("'{}' is not a whole number; write digits only, between {} and {}", text, low, high));
  }
  if (code != std::errc() || value < low || value > high) {
    return error(fmt::format("{} is out of range; it must be between {} and {}", text, low, high));
  }
  return value;
}

Result<double> YamlNode::as_number(double low, double high) const {
  BUSBAR_ASSIGN(const std::string text, text_of(*this, "a number"));
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc::invalid_argument || end != text.data() + text.size() || !std::isfinite(value)) {
    return error(fmt::format("'{}' is not a number without a unit", text));
  }
  if (code != std::errc() || value < low || value > high) {
    return error(fmt::format("{} is out of range; it must be between {} and {}", text, low, high));
  }
  return value;
}

Result<Bytes> YamlNode::as_size() const { return placed(*this, "a size such as 80GB", &parse_size); }
Result<BytesPerSecond> YamlNode::as_rate() const { return placed(*this, "a rate such as 400Gb/s", &parse_rate); }
Result<Duration> YamlNode::as_duration() const { return placed(*this, "a time such as 2us", &parse_duration); }

MapReader::MapReader(YamlNode node) : node_(std::move(node)) {
  if (node_.kind() != YamlNode::Kind::kMap) {
    fail(node_.error(fmt::format("expected keys and values, found {}", describe(node_))));
  }
}

YamlNode MapReader::required(std::string_view key) {
  if (const auto child = optional(key)) return *child;
  if (status_.ok()) missing_.emplace_back(key);
  return YamlNode();
}

std::optional<YamlNode> MapReader::optional(std::string_view key) {
  known_.emplace_back(key);
  return node_.find(key);
}

void MapReader::fail(Error error) {
  if (ok()) status_ = Status(std::move(error));
}

bool MapReader::is_known(std::string_view key) const {
  return std::find(known_.begin(), known_.end(), key) != known_.end();
}

Error MapReader::missing_keys() const {
  std::string text = missing_.size() == 1 ? "the key " : "the keys ";
  for (std::size_t i = 0; i < missing_.size(); ++i)
    text += fmt::format("{}'{}'", i == 0 ? "" : i + 1 == missing_.size() ? " and " : ", ", missing_[i]);
  text += missing_.size() == 1 ? " is missing" : " are missing";
  for (std::size_t i = 0; i < node_.size(); ++i) {
    const std::string key = node_.key(i), near = nearest(key, missing_);
    if (!is_known(key) && !near.empty()) return node_.error(fmt::format("{}; is '{}' meant as '{}'?", text, key, near));
  }
  return node_.error(text);
}

Status MapReader::unknown_key() const {
  for (std::size_t i = 0; i < node_.size(); ++i) {
    const std::string key = node_.key(i);
    if (is_known(key)) continue;
    const std::string near = nearest(key, known_);
    std::string hint = near.empty() ? "; known here:" : fmt::format("; did you mean '{}'?", near);
    if (near.empty()) {
      for (auto k = known_.begin(); k != known_.end(); ++k)
        if (std::find(known_.begin(), k, *k) == k) hint += (k == known_.begin() ? " " : ", ") + *k;
    }
    return invalid(fmt::format("unknown key '{}'{}", key, hint), node_.key_where(i));
  }
  return {};
}

Status MapReader::finish() {
  if (!status_.ok() || node_.kind() != YamlNode::Kind::kMap) return status_;
  return missing_.empty() ? unknown_key() : Status(missing_keys());
}

}  // namespace busbar
