// Plain structs whose fields are listed once. Flags, JSON, schemas, manuals and Python all read the list.
//
//   struct Hop {
//     std::string link;
//     double latency_ns = 0;
//     std::optional<double> GBps;  // null in JSON while empty
//   };
//   const Record& record_of(const Hop*) {
//     static const Record record("hop", {{"link", &Hop::link, "", "the link that is crossed"},
//                                        {"latency_ns", &Hop::latency_ns, "ns", "first bit in to first bit out"},
//                                        {"GBps", &Hop::GBps, "GB/s", "payload rate per direction"}});
//     return record;
//   }
//   Json j = to_json(Hop{"nvlink4", 350, 387.0});
//   Result<Hop> back = from_json<Hop>(j);
//
// record_of() is found by its argument, so it stands next to the struct, in the namespace of the room.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/base/result.h"

namespace busbar {

class Record;

enum class TypeKind : std::uint8_t { kBool, kInteger, kNumber, kText, kOptional, kList, kMap, kRecord, kAny };

/// How the values of one C++ type are read and written. Objects of this class live as long as the program.
struct Type {
  TypeKind kind{};
  double least = 0, most = 0;                  ///< of kInteger
  const Type* inner = nullptr;                 ///< of an optional, a list or a map
  const Record& (*record)() = nullptr;         ///< of kRecord
  Json (*write)(const void*) = nullptr;        ///< of scalars and kAny
  void (*read)(const Json&, void*) = nullptr;  ///< of scalars and kAny; precondition: the kind fits
  std::size_t (*size)(const void*) = nullptr;  ///< of an optional (0 or 1), a list or a map
  const void* (*at)(const void*, std::size_t) = nullptr;
  std::string_view (*key)(const void*, std::size_t) = nullptr;  ///< of a map
  void (*clear)(void*) = nullptr;
  void* (*add)(void*, std::string_view key) = nullptr;  ///< appends an empty element, or fills an optional
};

/// A map in JSON whose keys keep their order.
template <typename T>
using Named = std::vector<std::pair<std::string, T>>;

/// A list whose rows are made when they are read: together they need more memory than what they are made of. Only one
/// thread reads at a time.
template <typename T>
struct Rows {
  std::size_t count = 0;
  std::function<T(std::size_t)> make{};
  mutable T last{};  ///< the row that was read last
};

template <typename S>
concept HasRecord = requires(const S* s) {
  { record_of(s) } -> std::same_as<const Record&>;
};

template <typename T>
const Type& type_of();

namespace internal {
/// Of a member in the objects of its class: what the ABI of Linux says a pointer to it is.
template <typename S, typename T>
std::size_t offset_of(T S::*member) {
  return std::bit_cast<std::size_t>(member);
}
}  // namespace internal

/// One field of a record.
struct Field {
  /// `meaning`: one line for people, without its default.
  template <typename S, typename T>
  Field(const char* name_, T S::*member, const char* unit_, std::string_view meaning_)
      : Field(name_, unit_, meaning_, type_of<T>(), internal::offset_of(member)) {}
  // Out of line: a table of fields would else hold the code of hundreds of them.
  Field(const char* name_, const char* unit_, std::string_view meaning_, const Type& type_, std::size_t offset_);
  Field(const Field&);
  Field(Field&&) noexcept;
  Field& operator=(const Field&);
  Field& operator=(Field&&) noexcept;
  ~Field();

  std::string name, unit, meaning;
  const Type* type;
  std::size_t offset = 0;
  bool row_by_row = false;       ///< a list that is written one row per line, never as a whole
  bool absent_if_empty = false;  ///< an empty optional, list or map is left out of JSON instead of null, [] or {}
  // Of requests:
  std::string old_flag{};                   ///< of old, for the message that refuses it
  std::string flag;                         ///< "-b,--minbytes" if it is not "--" and the name with '-' for '_'
  std::string value;                        ///< how help names a value: "SIZE"; empty: a switch
  std::string category;                     ///< of help: "Machine"
  std::vector<std::string> choices{};       ///< allowed words; empty: any
  std::string needs;                        ///< refused without this field ("scale") or value ("engine=packet")
  std::vector<std::string> useless_with{};  ///< refused with these fields, because it then has no effect
  bool decides = true;                      ///< a result depends on it; false: only how, or how fast, it comes
  /// Also, or only, a positional argument, such as CLUSTER.
  enum class Word : std::uint8_t { kNo, kAlso, kOnly } word = Word::kNo;
  std::string values_of;  ///< the field whose flag takes the text of this one too, a list "2,4,8"; empty: none
  /// Filled in by the command, without a flag: whether it makes a page; its line.
  enum class Told : std::uint8_t { kNo, kPage, kLine } told = Told::kNo;
  bool required = false;     ///< as a word, or in JSON
  std::string word_meaning;  ///< of the word, if it differs
  std::string such_as;       ///< how to choose a word, for the message that misses it: "; such as dgx-h100"
  bool (*is_one)(const std::string&) = nullptr;  ///< whether a word is one beyond doubt: then in any place; null: never

  void* at(void* record) const { return static_cast<char*>(record) + offset; }
  const void* at(const void* record) const { return static_cast<const char*>(record) + offset; }
  std::string flag_names() const;  ///< "-b,--minbytes"

  // For tables: Field{"engine", ...}.of("Machine").takes("NAME").among({"flow", "packet"}).
  Field&& of(const char* c) &&;
  Field&& takes(std::string v) &&;
  Field&& spelled(const char* f) &&;
  Field&& formerly(const char* f) &&;
  Field&& among(std::vector<std::string> words) &&;
  Field&& with(const char* other) &&;
  Field&& without(std::vector<std::string> others) &&;
  Field&& as_word(Word w = Word::kOnly, const char* m = "") &&;
  Field&& known_by(bool (*is)(const std::string&)) &&;
  Field&& optional() &&;
  Field&& undecided() &&;
  Field&& by_rows() &&;
  Field&& or_absent() &&;
  Field&& listing(const char* field) &&;
  Field&& filled_in(Told t) &&;
};

/// The list of the fields of a struct, in the order of JSON and help.
class Record {
 public:
  Record(std::string name, std::vector<Field> fields) : name_(std::move(name)), fields_(std::move(fields)) {}

  const std::string& name() const { return name_; }
  const std::vector<Field>& fields() const { return fields_; }
  const Field* find(std::string_view name) const;     ///< null: there is none
  const Field* list_of(std::string_view name) const;  ///< the field that takes lists for this one; null: there is none
  std::vector<std::string> names() const;

 private:
  std::string name_;
  std::vector<Field> fields_;
};

/// The fields of the struct in `member`, as if they were those of the struct around it.
template <typename S, typename T>
std::vector<Field> fields_inside(T S::*member) {
  const Field whole("", member, "", "");
  std::vector<Field> out = record_of(static_cast<const T*>(nullptr)).fields();
  for (Field& f : out) f.offset += whole.offset;
  return out;
}
/// `lists`, one after another.
std::vector<Field> joined(std::vector<std::vector<Field>> lists);

/// The fields of `record` in their order, as an object. `left_out`: a field of `record` that becomes 0; null: none.
Json to_json(const Record& record, const void* of, const Field* left_out = nullptr);
Json to_json(const Type& type, const void* of);
template <HasRecord S>
Json to_json(const S& s) {
  return to_json(record_of(&s), &s);
}

/// Sets the fields that `json` has; the others stay. Errors kInvalid name an unknown key, or the value that does not
/// fit. `path`: of the object, in errors.
Status read_json_into(const Json& json, const Record& record, void* out, const std::string& path = "");
Status read_json_into(const Json& json, const Type& type, void* out, const std::string& path);
template <HasRecord S>
Result<S> from_json(const Json& json) {
  S out;
  BUSBAR_RETURN_IF_ERROR(read_json_into(json, record_of(&out), &out));
  return out;
}

/// JSON Schema (draft 2020-12) of an object with these fields. `defaults`: a record, whose values become defaults;
/// null: every field that cannot be absent is required.
Json schema_of(const Record& record, const void* defaults);

/// The numbers at a path: "hops.latency_ns" is that field of every hop. NaN: null there. Empty: no such path, or no
/// numbers there.
std::optional<std::vector<double>> numbers_at(const Record& record, const void* of, std::string_view path);

// Below: how type_of() knows types.

namespace internal {

template <typename T>
Json write_scalar(const void* v) {
  return Json(*static_cast<const T*>(v));
}
template <typename T>
void read_scalar(const Json& j, void* v) {
  if constexpr (std::is_same_v<T, bool>)
    *static_cast<T*>(v) = j.truth();
  else if constexpr (std::is_same_v<T, std::string>)
    *static_cast<T*>(v) = j.text();
  else if constexpr (std::is_same_v<T, Json>)
    *static_cast<T*>(v) = j;
  else if constexpr (std::is_same_v<T, std::uint64_t>)
    *static_cast<T*>(v) = j.is_natural() ? j.natural() : static_cast<T>(j.number());
  else
    *static_cast<T*>(v) = static_cast<T>(j.number());
}

template <typename T>
Type scalar(TypeKind kind) {
  Type t;
  t.kind = kind;
  t.write = write_scalar<T>;
  t.read = read_scalar<T>;
  if constexpr (std::is_integral_v<T>) {
    t.least = static_cast<double>(std::numeric_limits<T>::min());
    t.most = static_cast<double>(std::numeric_limits<T>::max());
  }
  return t;
}

template <typename T>
struct MakeType;

template <>
struct MakeType<bool> {
  static Type make() { return scalar<bool>(TypeKind::kBool); }
};
template <>
struct MakeType<std::string> {
  static Type make() { return scalar<std::string>(TypeKind::kText); }
};
template <>
struct MakeType<Json> {
  static Type make() { return scalar<Json>(TypeKind::kAny); }
};
template <std::floating_point T>
struct MakeType<T> {
  static Type make() { return scalar<T>(TypeKind::kNumber); }
};
template <std::integral T>
struct MakeType<T> {
  static Type make() { return scalar<T>(TypeKind::kInteger); }
};
template <HasRecord T>
struct MakeType<T> {
  static Type make() {
    Type t;
    t.kind = TypeKind::kRecord;
    t.record = []() -> const Record& { return record_of(static_cast<const T*>(nullptr)); };
    return t;
  }
};
template <typename T>
struct MakeType<std::optional<T>> {
  using Held = std::optional<T>;
  static Type make() {
    Type t;
    t.kind = TypeKind::kOptional;
    t.inner = &type_of<T>();
    t.size = [](const void* v) -> std::size_t { return static_cast<const Held*>(v)->has_value() ? 1 : 0; };
    t.at = [](const void* v, std::size_t) -> const void* { return &**static_cast<const Held*>(v); };
    t.clear = [](void* v) { static_cast<Held*>(v)->reset(); };
    t.add = [](void* v, std::string_view) -> void* { return &static_cast<Held*>(v)->emplace(); };
    return t;
  }
};
template <typename T>
struct MakeType<std::vector<T>> {
  using Held = std::vector<T>;
  static Type make() {
    Type t;
    t.kind = TypeKind::kList;
    t.inner = &type_of<T>();
    t.size = [](const void* v) { return static_cast<const Held*>(v)->size(); };
    t.at = [](const void* v, std::size_t i) -> const void* { return &(*static_cast<const Held*>(v))[i]; };
    t.clear = [](void* v) { static_cast<Held*>(v)->clear(); };
    t.add = [](void* v, std::string_view) -> void* { return &static_cast<Held*>(v)->emplace_back(); };
    return t;
  }
};
template <typename T>
struct MakeType<Rows<T>> {
  using Held = Rows<T>;
  static Type make() {
    Type t;
    t.kind = TypeKind::kList;
    t.inner = &type_of<T>();
    t.size = [](const void* v) { return static_cast<const Held*>(v)->count; };
    t.at = [](const void* v, std::size_t i) -> const void* {
      const auto* const rows = static_cast<const Held*>(v);
      rows->last = rows->make(i);
      return &rows->last;
    };
    return t;
  }
};
template <typename T>
struct MakeType<Named<T>> {
  using Held = Named<T>;
  static Type make() {
    Type t;
    t.kind = TypeKind::kMap;
    t.inner = &type_of<T>();
    t.size = [](const void* v) { return static_cast<const Held*>(v)->size(); };
    t.at = [](const void* v, std::size_t i) -> const void* { return &(*static_cast<const Held*>(v))[i].second; };
    t.key = [](const void* v, std::size_t i) -> std::string_view { return (*static_cast<const Held*>(v))[i].first; };
    t.clear = [](void* v) { static_cast<Held*>(v)->clear(); };
    t.add = [](void* v, std::string_view key) -> void* {
      return &static_cast<Held*>(v)->emplace_back(std::string(key), T()).second;
    };
    return t;
  }
};

}  // namespace internal

template <typename T>
const Type& type_of() {
  static const Type type = internal::MakeType<T>::make();
  return type;
}

}  // namespace busbar
