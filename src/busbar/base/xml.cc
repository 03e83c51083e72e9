#include "busbar/base/xml.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <pugixml.hpp>

#include "busbar/base/text.h"
#include "busbar/base/utf8.h"

namespace busbar {

struct XmlElement::Impl {
  std::string file;
  pugi::xml_document document;
  std::vector<std::size_t> line_starts;  ///< byte offset of each line

  Where at(std::ptrdiff_t offset) const {
    const auto place = static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0));
    const auto next = std::upper_bound(line_starts.begin(), line_starts.end(), place);
    const auto line = static_cast<std::size_t>(next - line_starts.begin());
    return {file, static_cast<int>(line), static_cast<int>(place - line_starts[line - 1] + 1), ""};
  }
};

namespace {

constexpr int kMaxNesting = 64;
constexpr std::size_t kMaxElements = 1'000'000;

pugi::xml_node node_of(void* node) { return pugi::xml_node(static_cast<pugi::xml_node_struct*>(node)); }

/// Visits all elements without recursion.
Status check_shape(const pugi::xml_document& document, const XmlElement::Impl& impl) {
  std::size_t elements = 0, roots = 0;
  int depth = 0;
  pugi::xml_node at = document.first_child();
  while (at) {
    if (at.type() == pugi::node_element) {
      ++elements;
      const Where where = impl.at(at.offset_debug() - 1);
      if (depth == 0 && ++roots > 1) return invalid("a second root element; a file has only one", where);
      if (depth >= kMaxNesting) return invalid(fmt::format("elements nested deeper than {}", kMaxNesting), where);
      if (elements > kMaxElements) return invalid(fmt::format("more than {} elements", kMaxElements), where);
    }
    if (at.first_child()) {
      at = at.first_child();
      ++depth;
      continue;
    }
    while (at && !at.next_sibling()) {
      at = at.parent();
      --depth;
    }
    if (at) at = at.next_sibling();
  }
  if (roots == 0) return invalid("this file has no element", {impl.file, 0, 0, ""});
  return {};
}

}  // namespace

Result<XmlElement> parse_xml(std::string_view text, const std::string& name) {
  if (const auto bad = find_bad_text(text)) return invalid(bad->message, {name, bad->line, bad->column, ""});
  auto impl = std::make_shared<XmlElement::Impl>();
  impl->file = name;
  impl->line_starts.push_back(0);
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n') impl->line_starts.push_back(i + 1);
  const pugi::xml_parse_result parsed =
      impl->document.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!parsed) return invalid(fmt::format("not XML: {}", parsed.description()), impl->at(parsed.offset));
  BUSBAR_RETURN_IF_ERROR(check_shape(impl->document, *impl));
  void* root = impl->document.document_element().internal_object();
  return XmlElement(std::move(impl), root);
}

std::string_view XmlElement::tag() const { return node_of(node_).name(); }

std::vector<XmlElement> XmlElement::children() const {
  std::vector<XmlElement> out;
  for (const pugi::xml_node child : node_of(node_).children())
    if (child.type() == pugi::node_element) out.push_back(XmlElement(impl_, child.internal_object()));
  return out;
}

std::vector<std::pair<std::string_view, std::string_view>> XmlElement::attributes() const {
  std::vector<std::pair<std::string_view, std::string_view>> out;
  for (const pugi::xml_attribute a : node_of(node_).attributes()) out.emplace_back(a.name(), a.value());
  return out;
}

std::optional<std::string_view> XmlElement::find(const char* attribute) const {
  const pugi::xml_attribute a = node_of(node_).attribute(attribute);
  if (!a) return std::nullopt;
  return a.value();
}

std::string_view XmlElement::text() const { return node_of(node_).child_value(); }

Where XmlElement::where() const { return impl_->at(node_of(node_).offset_debug() - 1); }

Error XmlElement::error(std::string message, const char* attribute) const {
  Where where = this->where();
  where.path = attribute == nullptr ? std::string(tag()) : fmt::format("{}.{}", tag(), attribute);
  return invalid(std::move(message), std::move(where));
}

Result<std::string> XmlElement::string(const char* attribute) const {
  const auto value = find(attribute);
  if (!value) return error("is missing", attribute);
  return std::string(*value);
}

Result<std::int64_t> XmlElement::whole_number(const char* attribute, std::int64_t low, std::int64_t high) const {
  const auto value = find(attribute);
  if (!value) return error("is missing", attribute);
  std::int64_t number = 0;
  if (!is_number(*value, number)) return error(fmt::format("'{}' is not a whole number", *value), attribute);
  if (number < low || number > high) return error(fmt::format("{} is outside {} to {}", number, low, high), attribute);
  return number;
}

Result<double> XmlElement::number(const char* attribute, double low, double high) const {
  const auto value = find(attribute);
  if (!value) return error("is missing", attribute);
  double number = 0;
  if (!is_number(*value, number) || !std::isfinite(number))
    return error(fmt::format("'{}' is not a number", *value), attribute);
  if (number < low || number > high) return error(fmt::format("{} is outside {} to {}", number, low, high), attribute);
  return number;
}

}  // namespace busbar
