#include "busbar/base/json.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>

#include "busbar/base/check.h"
#include "busbar/base/utf8.h"

namespace busbar {
namespace {

/// Uses an exponent for more than 15 digits before the point, or more than three zeros after it.
void print_real(double value, std::string& out) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  const double size = std::abs(value);
  const bool written_out = size == 0 || (size >= 1e-4 && size < 1e15);
  char buffer[32];
  const char* end = std::to_chars(buffer, buffer + sizeof buffer, value,
                                  written_out ? std::chars_format::fixed : std::chars_format::scientific)
                        .ptr;
  const std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  out += text;
  if (written_out && text.find('.') == text.npos) out += ".0";
}

/// A character below 0x20, a quote or a backslash. Source: RFC 8259, section 7.
void print_escaped(char c, std::string& out) {
  constexpr std::string_view kNamed = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt";
  const std::size_t at = kNamed.find(c);
  if (at != kNamed.npos)
    (out += '\\') += kLetters[at];
  else
    out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
}

/// Length of the prefix that needs no escape: visible ASCII without quotes and backslashes.
std::size_t plain_bytes(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && text[n] >= ' ' && text[n] <= '~' && text[n] != '"' && text[n] != '\\') ++n;
  return n;
}

void print_text(std::string_view text, std::string& out) {
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t run = plain_bytes(text.substr(i));
    out += text.substr(i, run);
    i += run;
    if (i == text.size()) break;
    const Utf8Character c = character_at(text, i);
    const char first = text[i];
    if (!c.whole)
      out += "\xef\xbf\xbd";  // U+FFFD
    else if (c.length == 1 && (static_cast<unsigned char>(first) < 0x20 || first == '"' || first == '\\'))
      print_escaped(first, out);
    else if (commands_terminal(c.code_point))
      out += fmt::format("\\u{:04x}", c.code_point);  // the same text, but harmless on a terminal
    else
      out += text.substr(i, c.length);
    i += c.length;
  }
  out += '"';
}

void print_line_end(int indent, int depth, std::string& out) {
  if (indent < 0) return;
  out += '\n';
  out.append(static_cast<std::size_t>(indent) * static_cast<std::size_t>(depth), ' ');
}

}  // namespace

Json::Json(bool value) : kind_(Kind::kTruth), held_{.truth = value} {}
Json::Json(long long value) : kind_(Kind::kInteger), held_{.integer = value} {}
Json::Json(unsigned long long value) : kind_(Kind::kNatural), held_{.natural = value} {}
Json::Json(double value) : kind_(Kind::kReal), held_{.real = value} {}
Json::Json(const char* text) : Json(std::string(text)) {}
Json::Json(std::string_view text) : Json(std::string(text)) {}
Json::Json(std::string text) : kind_(Kind::kText), held_{.text = new std::string(std::move(text))} {}

Json::Json(std::initializer_list<Pair> members) : Json(object()) {
  held_.object->reserve(members.size());
  for (const Pair& m : members) held_.object->push_back({std::string(m.key), std::move(m.value)});
}

Json Json::array(std::initializer_list<Json> values) {
  Json out;
  out.held_.array = new std::vector<Json>(values);
  out.kind_ = Kind::kArray;
  return out;
}

Json Json::object() {
  Json out;
  out.held_.object = new std::vector<Member>;
  out.kind_ = Kind::kObject;
  return out;
}

Json Json::object(std::vector<Member> members) {
  std::vector<std::size_t> by_key(members.size());
  std::iota(by_key.begin(), by_key.end(), std::size_t{0});
  std::stable_sort(by_key.begin(), by_key.end(),
                   [&](std::size_t a, std::size_t b) { return members[a].key < members[b].key; });
  std::vector<bool> again(members.size());
  for (std::size_t i = 1, first = 0; i < by_key.size(); ++i) {
    if (members[by_key[i]].key != members[by_key[first]].key) {
      first = i;
      continue;
    }
    members[by_key[first]].value = std::move(members[by_key[i]].value);
    again[by_key[i]] = true;
  }
  Json out = object();
  for (std::size_t i = 0; i < members.size(); ++i)
    if (!again[i]) out.held_.object->push_back(std::move(members[i]));
  return out;
}

Json::Json(const Json& other) : kind_(other.kind_), held_(other.held_) {
  if (kind_ == Kind::kText) held_.text = new std::string(*other.held_.text);
  if (kind_ == Kind::kArray) held_.array = new std::vector<Json>(*other.held_.array);
  if (kind_ == Kind::kObject) held_.object = new std::vector<Member>(*other.held_.object);
}

Json::Json(Json&& other) noexcept : kind_(std::exchange(other.kind_, Kind::kNull)), held_(other.held_) {}

Json& Json::operator=(Json other) noexcept {
  std::swap(kind_, other.kind_);
  std::swap(held_, other.held_);
  return *this;
}

Json::~Json() {
  if (kind_ == Kind::kText) delete held_.text;
  if (kind_ == Kind::kArray) delete held_.array;
  if (kind_ == Kind::kObject) delete held_.object;
}

bool Json::truth() const {
  BUSBAR_CHECK(is_boolean());
  return held_.truth;
}

double Json::number() const {
  BUSBAR_CHECK(is_number());
  if (kind_ == Kind::kInteger) return static_cast<double>(held_.integer);
  return kind_ == Kind::kNatural ? static_cast<double>(held_.natural) : held_.real;
}

std::uint64_t Json::natural() const {
  BUSBAR_CHECK(is_natural());
  return held_.natural;
}

const std::string& Json::text() const {
  BUSBAR_CHECK(is_string());
  return *held_.text;
}

std::size_t Json::size() const { return is_object() ? held_.object->size() : values().size(); }

const std::vector<Json>& Json::values() const {
  static const std::vector<Json> kNone;
  return is_array() ? *held_.array : kNone;
}

Json& Json::back() {
  BUSBAR_CHECK(is_array() && !held_.array->empty());
  return held_.array->back();
}

void Json::push_back(Json value) {
  if (is_null()) *this = array();
  BUSBAR_CHECK(is_array());
  held_.array->push_back(std::move(value));
}

const std::vector<Json::Member>& Json::members() const {
  static const std::vector<Member> kNone;
  return is_object() ? *held_.object : kNone;
}

const Json* Json::find(std::string_view key) const {
  const auto at = std::find_if(members().begin(), members().end(), [&](const Member& m) { return m.key == key; });
  return at == members().end() ? nullptr : &at->value;
}

const Json& Json::operator[](std::string_view key) const {
  static const Json kAbsent;
  const Json* found = find(key);
  return found ? *found : kAbsent;
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) *this = object();
  BUSBAR_CHECK(is_object());
  if (const Json* found = find(key)) return const_cast<Json&>(*found);
  return held_.object->emplace_back(Member{std::string(key), {}}).value;
}

void Json::update(Json other) {
  BUSBAR_CHECK(other.is_object());
  for (Member& m : *other.held_.object) (*this)[m.key] = std::move(m.value);
}

void Json::erase(std::string_view key) {
  BUSBAR_CHECK(is_object());
  std::erase_if(*held_.object, [&](const Member& m) { return m.key == key; });
}

std::string Json::dump(int indent) const {
  std::string out;
  print(indent, 0, out);
  return out;
}

void Json::print(int indent, int depth, std::string& out) const {
  switch (kind_) {
    case Kind::kNull:
      out += "null";
      return;
    case Kind::kTruth:
      out += held_.truth ? "true" : "false";
      return;
    case Kind::kInteger:
      out += std::to_string(held_.integer);
      return;
    case Kind::kNatural:
      out += std::to_string(held_.natural);
      return;
    case Kind::kReal:
      return print_real(held_.real, out);
    case Kind::kText:
      return print_text(*held_.text, out);
    case Kind::kArray:
    case Kind::kObject:
      return print_inside(indent, depth, out);
  }
}

void Json::print_inside(int indent, int depth, std::string& out) const {
  out += is_array() ? '[' : '{';
  for (std::size_t i = 0; i < size(); ++i) {
    if (i > 0) out += ',';
    print_line_end(indent, depth + 1, out);
    if (is_object()) {
      print_text((*held_.object)[i].key, out);
      out += indent < 0 ? ":" : ": ";
    }
    (is_object() ? (*held_.object)[i].value : (*held_.array)[i]).print(indent, depth + 1, out);
  }
  if (!empty()) print_line_end(indent, depth, out);
  out += is_array() ? ']' : '}';
}

}  // namespace busbar
