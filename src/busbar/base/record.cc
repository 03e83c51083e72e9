#include "busbar/base/record.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "busbar/base/text.h"

namespace busbar {
namespace {

bool has_elements(const Type& t) {
  return t.kind == TypeKind::kOptional || t.kind == TypeKind::kList || t.kind == TypeKind::kMap;
}

const char* in_words(TypeKind kind) {
  switch (kind) {
    case TypeKind::kBool:
      return "true or false";
    case TypeKind::kInteger:
      return "a whole number";
    case TypeKind::kNumber:
      return "a number";
    case TypeKind::kText:
      return "a text";
    case TypeKind::kList:
      return "a list";
    case TypeKind::kMap:
    case TypeKind::kRecord:
      return "an object";
    case TypeKind::kOptional:
    case TypeKind::kAny:
      break;
  }
  return "a value";
}

Error wrong_kind(const Json& json, const Type& type, const std::string& path) {
  std::string shown = json.dump();
  if (shown.size() > 40) shown = shown.substr(0, 40) + "...";
  return invalid(fmt::format("{} is not {}", shown, in_words(type.kind)), {"", 0, 0, path});
}

std::string inside(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

Status read_whole_number(const Json& json, const Type& type, void* out, const std::string& path) {
  if (!json.is_number()) return wrong_kind(json, type, path);
  const double n = json.number();
  if (!(std::floor(n) == n)) return wrong_kind(json, type, path);
  if (n < type.least || n > type.most)
    return invalid(fmt::format("{} is not between {} and {}", json.dump(), type.least, type.most), {"", 0, 0, path});
  type.read(json, out);
  return {};
}

Status read_list(const Json& json, const Type& type, void* out, const std::string& path) {
  type.clear(out);
  if (!json.is_array()) return read_json_into(json, *type.inner, type.add(out, ""), path);  // a list of one
  for (std::size_t i = 0; i < json.size(); ++i)
    BUSBAR_RETURN_IF_ERROR(
        read_json_into(json.values()[i], *type.inner, type.add(out, ""), fmt::format("{}[{}]", path, i)));
  return {};
}

Status read_map(const Json& json, const Type& type, void* out, const std::string& path) {
  if (!json.is_object()) return wrong_kind(json, type, path);
  type.clear(out);
  for (const Json::Member& m : json.members())
    BUSBAR_RETURN_IF_ERROR(read_json_into(m.value, *type.inner, type.add(out, m.key), inside(path, m.key)));
  return {};
}

Json schema_of_type(const Type& type) {
  switch (type.kind) {
    case TypeKind::kBool:
      return {{"type", "boolean"}};
    case TypeKind::kInteger:
      return {{"type", "integer"}, {"minimum", type.least}, {"maximum", type.most}};
    case TypeKind::kNumber:
      return {{"type", "number"}};
    case TypeKind::kText:
      return {{"type", "string"}};
    case TypeKind::kOptional:
      return {{"anyOf", Json::array({schema_of_type(*type.inner), {{"type", "null"}}})}};
    case TypeKind::kList:
      return {{"type", "array"}, {"items", schema_of_type(*type.inner)}};
    case TypeKind::kMap:
      return {{"type", "object"}, {"additionalProperties", schema_of_type(*type.inner)}};
    case TypeKind::kRecord:
      return schema_of(type.record(), nullptr);
    case TypeKind::kAny:
      break;
  }
  return Json::object();
}

const Type& without_optional(const Type& type) {
  return type.kind == TypeKind::kOptional ? without_optional(*type.inner) : type;
}

/// The words that a field takes, as its type writes them; null too for an optional one.
Json choices_of(const Field& f) {
  Json out = Json::array();
  const bool numbers = without_optional(*f.type).kind == TypeKind::kInteger;
  for (const std::string& word : f.choices) out.push_back(numbers ? Json(std::stoll(word)) : Json(word));
  if (f.type->kind == TypeKind::kOptional) out.push_back(Json());
  return out;
}

Status check_choice(const Field& f, const Json& value, const std::string& path) {
  if (f.choices.empty() || (!value.is_string() && !value.is_number())) return {};
  const std::string word = value.is_string() ? value.text() : value.dump();
  if (std::find(f.choices.begin(), f.choices.end(), word) != f.choices.end()) return {};
  return invalid(fmt::format("'{}' is not one of {}", word, comma_list(f.choices)), {"", 0, 0, path});
}

bool add_numbers(const Type& type, const void* of, std::string_view path, std::vector<double>& out);

bool add_numbers(const Record& record, const void* of, std::string_view path, std::vector<double>& out) {
  const std::size_t dot = std::min(path.find('.'), path.size());
  const Field* const f = record.find(path.substr(0, dot));
  return f != nullptr && add_numbers(*f->type, f->at(of), path.substr(std::min(dot + 1, path.size())), out);
}

bool add_numbers(const Type& type, const void* of, std::string_view path, std::vector<double>& out) {
  switch (type.kind) {
    case TypeKind::kInteger:
    case TypeKind::kNumber:
      out.push_back(type.write(of).number());
      return path.empty();
    case TypeKind::kRecord:
      return add_numbers(type.record(), of, path, out);
    case TypeKind::kOptional:
      if (type.size(of) > 0) return add_numbers(*type.inner, type.at(of, 0), path, out);
      out.push_back(std::numeric_limits<double>::quiet_NaN());
      return true;
    case TypeKind::kList:
      for (std::size_t i = 0; i < type.size(of); ++i)
        if (!add_numbers(*type.inner, type.at(of, i), path, out)) return false;
      return true;
    default:
      return false;
  }
}

}  // namespace

Field::Field(const char* name_, const char* unit_, std::string_view meaning_, const Type& type_, std::size_t offset_)
    : name(name_), unit(unit_), meaning(meaning_), type(&type_), offset(offset_) {}
Field::Field(const Field&) = default;
Field::Field(Field&&) noexcept = default;
Field& Field::operator=(const Field&) = default;
Field& Field::operator=(Field&&) noexcept = default;
Field::~Field() = default;

Field&& Field::of(const char* c) && { return category = c, std::move(*this); }
Field&& Field::takes(std::string v) && { return value = std::move(v), std::move(*this); }
Field&& Field::spelled(const char* f) && { return flag = f, std::move(*this); }
Field&& Field::formerly(const char* f) && { return old_flag = f, std::move(*this); }
Field&& Field::among(std::vector<std::string> words) && { return choices = std::move(words), std::move(*this); }
Field&& Field::with(const char* other) && { return needs = other, std::move(*this); }
Field&& Field::without(std::vector<std::string> others) && {
  return useless_with = std::move(others), std::move(*this);
}
Field&& Field::as_word(Word w, const char* m) && {
  word = w, required = true, word_meaning = m;
  return std::move(*this);
}
Field&& Field::known_by(bool (*is)(const std::string&)) && { return is_one = is, std::move(*this); }
Field&& Field::optional() && { return required = false, std::move(*this); }
Field&& Field::undecided() && { return decides = false, std::move(*this); }
Field&& Field::by_rows() && { return row_by_row = true, std::move(*this); }
Field&& Field::or_absent() && { return absent_if_empty = true, std::move(*this); }
Field&& Field::listing(const char* field) && { return values_of = field, std::move(*this); }
Field&& Field::filled_in(Told t) && { return told = t, std::move(*this); }

std::string Field::flag_names() const {
  if (!flag.empty()) return flag;
  std::string out = "--" + name;
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

const Field* Record::find(std::string_view name) const {
  for (const Field& f : fields_)
    if (f.name == name) return &f;
  return nullptr;
}

const Field* Record::list_of(std::string_view name) const {
  for (const Field& f : fields_)
    if (f.values_of == name) return &f;
  return nullptr;
}

std::vector<std::string> Record::names() const {
  std::vector<std::string> out;
  for (const Field& f : fields_) out.push_back(f.name);
  return out;
}

std::vector<Field> joined(std::vector<std::vector<Field>> lists) {
  std::vector<Field> out;
  for (std::vector<Field>& list : lists)
    for (Field& f : list) out.push_back(std::move(f));
  return out;
}

Json to_json(const Record& record, const void* of, const Field* left_out) {
  Json out = Json::object();
  for (const Field& f : record.fields()) {
    const void* const value = f.at(of);
    if (f.absent_if_empty && has_elements(*f.type) && f.type->size(value) == 0) continue;
    out[f.name] = &f == left_out ? Json(0) : to_json(*f.type, value);
  }
  return out;
}

Json to_json(const Type& type, const void* of) {
  if (type.write != nullptr) return type.write(of);
  if (type.kind == TypeKind::kRecord) return to_json(type.record(), of);
  if (type.kind == TypeKind::kOptional) return type.size(of) == 0 ? Json() : to_json(*type.inner, type.at(of, 0));
  Json out = type.kind == TypeKind::kList ? Json::array() : Json::object();
  for (std::size_t i = 0; i < type.size(of); ++i) {
    Json value = to_json(*type.inner, type.at(of, i));
    if (type.kind == TypeKind::kList)
      out.push_back(std::move(value));
    else
      out[type.key(of, i)] = std::move(value);
  }
  return out;
}

Status read_json_into(const Json& json, const Type& type, void* out, const std::string& path) {
  switch (type.kind) {
    case TypeKind::kBool:
      if (!json.is_boolean()) return wrong_kind(json, type, path);
      break;
    case TypeKind::kInteger:
      return read_whole_number(json, type, out, path);
    case TypeKind::kNumber:
      if (!json.is_number() || !std::isfinite(json.number())) return wrong_kind(json, type, path);
      break;
    case TypeKind::kText:
      if (!json.is_string()) return wrong_kind(json, type, path);
      break;
    case TypeKind::kOptional:
      type.clear(out);
      return json.is_null() ? Status() : read_json_into(json, *type.inner, type.add(out, ""), path);
    case TypeKind::kList:
      return read_list(json, type, out, path);
    case TypeKind::kMap:
      return read_map(json, type, out, path);
    case TypeKind::kRecord:
      return read_json_into(json, type.record(), out, path);
    case TypeKind::kAny:
      break;
  }
  type.read(json, out);
  return {};
}

Status read_json_into(const Json& json, const Record& record, void* out, const std::string& path) {
  if (!json.is_object())
    return invalid(fmt::format("{} is not an object", json.dump().substr(0, 40)), {"", 0, 0, path});
  for (const Json::Member& m : json.members()) {
    const Field* const f = record.find(m.key);
    if (f == nullptr)
      return invalid(fmt::format("there is no '{}' in a {}; {}", m.key, record.name(),
                                 suggestion(m.key, record.names(), "it has " + comma_list(record.names()))),
                     {"", 0, 0, path});
    BUSBAR_RETURN_IF_ERROR(read_json_into(m.value, *f->type, f->at(out), inside(path, m.key)));
    BUSBAR_RETURN_IF_ERROR(check_choice(*f, m.value, inside(path, m.key)));
  }
  return {};
}

std::optional<std::vector<double>> numbers_at(const Record& record, const void* of, std::string_view path) {
  std::vector<double> out;
  if (!add_numbers(record, of, path, out)) return {};
  return out;
}

Json schema_of(const Record& record, const void* defaults) {
  Json properties = Json::object(), required = Json::array();
  int words = 0;  // a field that may be given as a word says which one it is
  for (const Field& f : record.fields()) {
    Json field = schema_of_type(*f.type);
    if (!f.meaning.empty()) field["description"] = f.meaning;
    if (!f.unit.empty()) field["unit"] = f.unit;
    if (!f.choices.empty()) field["enum"] = choices_of(f);
    if (defaults != nullptr && f.word != Field::Word::kNo) field["position"] = words++;
    if (defaults != nullptr) field["default"] = to_json(*f.type, f.at(defaults));
    const bool must = defaults == nullptr ? !f.absent_if_empty : f.required;
    if (must) required.push_back(f.name);
    properties[f.name] = std::move(field);
  }
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

}  // namespace busbar
