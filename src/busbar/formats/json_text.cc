#include "busbar/formats/json_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace busbar::formats {
namespace {

constexpr int kMostJsonDepth = 256;

/// Forwards the parser's events to our listener, and keeps the first error.
class ParserEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit ParserEvents(JsonListener& out) : out_(out) {}
  std::string error;         ///< empty: none
  std::size_t error_at = 0;  ///< bytes read so far; 0 if the place is meaningless

  bool null() override { return scalar(nullptr); }
  bool boolean(bool v) override { return scalar(v); }
  bool number_integer(number_integer_t v) override { return scalar(v); }
  bool number_unsigned(number_unsigned_t v) override { return scalar(v); }
  bool number_float(number_float_t v, const string_t&) override { return scalar(v); }
  bool string(string_t& v) override { return scalar(std::move(v)); }
  bool binary(binary_t&) override { return false; }  // JSON has no binary values
  bool start_object(std::size_t) override { return begin(false); }
  bool start_array(std::size_t) override { return begin(true); }
  bool end_object() override { return end(false); }
  bool end_array() override { return end(true); }
  bool key(string_t& key) override {
    out_.key(std::move(key));
    return true;
  }
  /// "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while ...": only the cause.
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& e) override {
    const std::string what = e.what();
    const std::size_t cause = what.find("syntax error"), prefix = what.find("] ");
    error = "not JSON: " + what.substr(cause != what.npos ? cause : prefix == what.npos ? 0 : prefix + 2);
    error_at = position;
    return false;
  }

 private:
  bool scalar(Json value) {
    out_.scalar(std::move(value));
    return true;
  }
  bool begin(bool array) {
    if (++depth_ > kMostJsonDepth) {
      error = fmt::format("nested deeper than {} levels", kMostJsonDepth);
      return false;
    }
    out_.begin(array);
    return true;
  }
  bool end(bool array) {
    --depth_;
    out_.end(array);
    return true;
  }

  JsonListener& out_;
  int depth_ = 0;
};

Where place_of(std::string_view text, std::size_t byte, const std::string& name) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n');
  const std::size_t start = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
  return {name, static_cast<int>(line) + 1, static_cast<int>(before.size() - start) + 1, ""};
}

}  // namespace

void JsonBuilder::begin(bool array) { open_.push_back({array, std::exchange(key_, {}), {}, {}}); }

void JsonBuilder::end(bool array) {
  Open& last = open_.back();
  Json value = array ? Json::array() : Json::object(std::move(last.members));
  for (Json& v : last.values) value.push_back(std::move(v));
  const std::string top = open_.size() > 1 ? open_[1].key : std::string();
  key_ = std::move(last.key);
  open_.pop_back();
  if (keep(value, open_.size(), top)) add(std::move(value));
}

void JsonBuilder::add(Json value) {
  if (open_.empty())
    whole_ = std::move(value);
  else if (open_.back().array)
    open_.back().values.push_back(std::move(value));
  else
    open_.back().members.push_back({std::move(key_), std::move(value)});
}

Status read_json(std::istream& in, const std::string& name, JsonListener& listener) {
  ParserEvents events(listener);
  if (nlohmann::json::sax_parse(in, &events)) return {};
  const std::string place = events.error_at > 0 ? fmt::format("byte {}: ", events.error_at) : "";
  return invalid(place + events.error, {name, 0, 0, ""});
}

Result<Json> parse_json(std::string_view text, const std::string& name) {
  JsonBuilder builder;
  ParserEvents events(builder);
  if (nlohmann::json::sax_parse(text.begin(), text.end(), &events)) return builder.take();
  if (events.error_at == 0) return invalid(events.error, {name, 0, 0, ""});
  return invalid(events.error, place_of(text, events.error_at - 1, name));
}

}  // namespace busbar::formats
