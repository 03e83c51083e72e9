// YAML with our restrictions: every value knows its file, line, column and key path; keys are checked.
//
// Refused, each with place and remedy: duplicate keys, anchors and aliases, nesting deeper than 64, bytes that are not
// UTF-8, unknown keys (with the nearest known one), numbers without a required unit.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/base/units.h"

namespace busbar {

/// One value of a document. Cheap to copy; keeps the document alive.
class YamlNode {
 public:
  enum class Kind : std::uint8_t { kNull, kScalar, kSequence, kMap };
  YamlNode();  ///< null, without a place
  Kind kind() const;
  Where where() const;                     ///< file:line:column and key path
  Error error(std::string message) const;  ///< kInvalid at this place

  const std::string& scalar() const;     ///< empty unless kScalar
  std::size_t size() const;              ///< entries of a map or sequence
  YamlNode item(std::size_t i) const;    ///< i-th value (map: in file order)
  std::string key(std::size_t i) const;  ///< i-th key of a map
  Where key_where(std::size_t i) const;  ///< the place of the key itself; the path is the map's
  std::optional<YamlNode> find(std::string_view key) const;

  Result<std::string> as_string() const;
  Result<bool> as_bool() const;
  Result<std::int64_t> as_int(std::int64_t low, std::int64_t high) const;
  Result<double> as_number(double low, double high) const;  ///< finite
  Result<Bytes> as_size() const;                            ///< "80GB", "512 MiB"
  Result<BytesPerSecond> as_rate() const;                   ///< "400Gb/s", "3.35 TB/s"; never zero or negative
  Result<Duration> as_duration() const;                     ///< "2us", "500 ns"; not negative

  struct Impl;  ///< yaml_impl.h, private to base

 private:
  friend class YamlDocument;
  std::shared_ptr<const Impl> impl_;
};

class YamlDocument {
 public:
  static Result<YamlDocument> load(const std::string& path);
  /// `name`: the file's name in messages.
  static Result<YamlDocument> parse(std::string text, const std::string& name);
  YamlNode root() const;
  const std::string& text() const;  ///< as read, for inputs_hash
  /// `--set links[3].rate=400Gb/s`: replaces or adds one scalar (or flow-style value); errors name the flag. A list
  /// item is identified by its index or by the value of its key `name`: devices[gpu].
  Status set(std::string_view path, std::string_view value);
  /// Puts `value`, which keeps its own places, at `path`: a name in one file becomes the content of the named file.
  Status replace(std::string_view path, const YamlNode& value);

 private:
  std::shared_ptr<const YamlNode::Impl> root_;
  std::string text_;
};

/// Reads the keys of one map and then refuses all keys that were not read. Keeps the first error.
///   MapReader r(node);
///   r.required("rate", &YamlNode::as_rate, spec.rate);
///   r.optional("share", &YamlNode::as_number, spec.share, 0, 1);
///   BUSBAR_RETURN_IF_ERROR(r.finish());
class MapReader {
 public:
  explicit MapReader(YamlNode node);
  /// The child, marked as known; a missing one is an error at the map's place.
  YamlNode required(std::string_view key);
  std::optional<YamlNode> optional(std::string_view key);
  /// `convert`: of the child and `args`, to a Result of what becomes a T.
  template <typename T, typename F, typename... Args>
  void required(std::string_view key, F convert, T& out, Args... args) {
    const YamlNode child = required(key);
    if (ok()) take(std::invoke(convert, child, args...), out);
  }
  template <typename T, typename F, typename... Args>
  void optional(std::string_view key, F convert, T& out, Args... args) {
    const auto child = optional(key);
    if (ok() && child) take(std::invoke(convert, *child, args...), out);
  }
  /// Reads the map under `key`, where there is one, by a reader of its own.
  template <typename F>
  void inner(std::string_view key, F read) {
    const auto child = optional(key);
    if (!ok() || !child) return;
    MapReader reader(*child);
    read(reader);
    if (Status status = reader.finish(); !status.ok()) fail(status.error());
  }
  bool ok() const { return status_.ok() && missing_.empty(); }
  void fail(Error error);  ///< keeps the first
  /// The first error, which names all keys that are missing; or an error for the first unknown key with the nearest
  /// known one.
  Status finish();

 private:
  template <typename T, typename R>
  void take(R result, T& out) {
    if (result.ok())
      out = static_cast<T>(std::move(result).value());
    else
      fail(result.error());
  }
  Error missing_keys() const;
  Status unknown_key() const;
  bool is_known(std::string_view key) const;

  YamlNode node_;
  std::vector<std::string> known_, missing_;
  Status status_;
};

}  // namespace busbar
