// A JSON document to build, print and read. Parsing of JSON text: formats/json_text.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace busbar {

/// A value of JSON: null, boolean, number, text, array or object. The members of an object keep their order of
/// insertion. A null becomes an array by push_back() and an object by [].
///
///   Json j{{"size_bytes", 8}, {"band_percent", Json::array({-8.5, 10.0})}, {"bound_by", nullptr}};
///   j["rows"] = Json::array();
///   j["rows"].push_back({{"time_us", 1.5}});
///
/// Pre: each function is called only on its kind of value. Functions are not inline, because a hundred calls compile
/// faster than a hundred copies of their bodies.
class Json {
 public:
  struct Member;  ///< of an object
  struct Pair;    ///< a member to construct an object from

  Json() {}
  Json(std::nullptr_t) {}
  Json(bool value);
  Json(int value) : Json(static_cast<long long>(value)) {}
  Json(long value) : Json(static_cast<long long>(value)) {}
  Json(long long value);
  Json(unsigned value) : Json(static_cast<unsigned long long>(value)) {}
  Json(unsigned long value) : Json(static_cast<unsigned long long>(value)) {}
  Json(unsigned long long value);
  Json(double value);  ///< not finite: printed as null
  Json(const char* text);
  Json(std::string_view text);
  Json(std::string text);
  /// An object of these members. Pre: all keys differ.
  Json(std::initializer_list<Pair> members);
  template <typename T>
  Json(const std::vector<T>& list) : Json(array()) {
    for (const T& value : list) push_back(value);
  }
  /// An object from a map with text keys.
  template <typename Map>
    requires requires { typename Map::mapped_type; }
  Json(const Map& map) : Json(object()) {
    for (const auto& [key, value] : map) (*this)[key] = value;
  }
  static Json array(std::initializer_list<Json> values = {});
  static Json object();
  /// If members have equal keys, the last value counts, at the place of the first. Cost: n log n.
  static Json object(std::vector<Member> members);

  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(Json other) noexcept;
  ~Json();

  bool is_null() const { return kind_ == Kind::kNull; }
  bool is_boolean() const { return kind_ == Kind::kTruth; }
  bool is_number() const { return kind_ == Kind::kInteger || kind_ == Kind::kNatural || is_number_float(); }
  bool is_number_float() const { return kind_ == Kind::kReal; }
  bool is_natural() const { return kind_ == Kind::kNatural; }  ///< constructed from an unsigned integer
  bool is_string() const { return kind_ == Kind::kText; }
  bool is_array() const { return kind_ == Kind::kArray; }
  bool is_object() const { return kind_ == Kind::kObject; }
  bool is_structured() const { return is_array() || is_object(); }

  bool truth() const;
  double number() const;  ///< for any kind of number
  std::uint64_t natural() const;
  const std::string& text() const;

  /// Number of values of an array or members of an object; 0 for null.
  std::size_t size() const;
  bool empty() const { return size() == 0; }

  const std::vector<Json>& values() const;  ///< of an array; empty for other kinds
  Json& back();
  void push_back(Json value);

  const std::vector<Member>& members() const;  ///< of an object; empty for other kinds
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  /// The value of this key; null if the object lacks it.
  const Json& operator[](std::string_view key) const;
  /// The value of this key; appends a null member if the object lacks it.
  Json& operator[](std::string_view key);
  /// Sets each member of `other`.
  void update(Json other);
  void erase(std::string_view key);

  /// As text. `indent`: spaces per level, one value per line; -1: all on one line without spaces. Numbers are the
  /// shortest decimals that read back as the same double, integral ones with ".0". Bytes that are not UTF-8 become
  /// U+FFFD.
  std::string dump(int indent = -1) const;

 private:
  enum class Kind : std::uint8_t { kNull, kTruth, kInteger, kNatural, kReal, kText, kArray, kObject };
  union Held {
    bool truth;
    std::int64_t integer = 0;
    std::uint64_t natural;
    double real;
    std::string* text;  ///< texts, arrays and objects are owned by this value
    std::vector<Json>* array;
    std::vector<Member>* object;
  };
  Kind kind_ = Kind::kNull;
  Held held_;

  const Json* find(std::string_view key) const;
  void print(int indent, int depth, std::string& out) const;
  void print_inside(int indent, int depth, std::string& out) const;  ///< of an array or an object
};

struct Json::Member {
  std::string key;
  Json value;
};

struct Json::Pair {
  std::string_view key;
  mutable Json value;  ///< moved into the object
};

}  // namespace busbar
