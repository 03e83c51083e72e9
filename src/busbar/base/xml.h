// XML with our restrictions: every element knows its file, line and column; depth and size of the tree are bounded.
//
// Entities and document types are not expanded, so reading cannot make a file larger. Text between elements is ignored.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "busbar/base/result.h"

namespace busbar {

/// One element of a document. Cheap to copy; keeps the document alive.
class XmlElement {
 public:
  std::string_view tag() const;
  std::vector<XmlElement> children() const;                                       ///< elements only, in file order
  std::vector<std::pair<std::string_view, std::string_view>> attributes() const;  ///< in file order
  std::optional<std::string_view> find(const char* attribute) const;
  std::string_view text() const;  ///< the text between the tags, before the first child
  Where where() const;
  Error error(std::string message, const char* attribute = nullptr) const;  ///< kInvalid at this place

  /// The attribute as a whole number; an error if it is missing, malformed or out of range.
  template <typename T = std::int64_t>
  Result<T> integer(const char* attribute, std::int64_t low, std::int64_t high) const {
    BUSBAR_ASSIGN(const std::int64_t n, whole_number(attribute, low, high));
    return static_cast<T>(n);
  }
  /// The same with a default for a missing attribute.
  template <typename T = std::int64_t>
  Result<T> integer_or(const char* attribute, T otherwise, std::int64_t low, std::int64_t high) const {
    return find(attribute) ? integer<T>(attribute, low, high) : otherwise;
  }
  Result<double> number(const char* attribute, double low, double high) const;  ///< finite
  Result<std::string> string(const char* attribute) const;                      ///< required

  struct Impl;  ///< xml.cc

 private:
  Result<std::int64_t> whole_number(const char* attribute, std::int64_t low, std::int64_t high) const;
  friend Result<XmlElement> parse_xml(std::string_view text, const std::string& name);
  XmlElement(std::shared_ptr<const Impl> impl, void* node) : impl_(std::move(impl)), node_(node) {}
  std::shared_ptr<const Impl> impl_;
  void* node_ = nullptr;
};

/// The root element; `name`: the file's name in messages. Refused: malformed XML, a second root, bytes that are not
/// UTF-8, elements nested deeper than 64, more than a million elements. Cost: linear.
Result<XmlElement> parse_xml(std::string_view text, const std::string& name);

}  // namespace busbar
