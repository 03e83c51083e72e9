// Reads JSON of other programs and reports the place of an error. Refuses nesting deeper than 256 and numbers that do
// not fit a double.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/base/result.h"

namespace busbar::formats {

/// Receives a document value by value, in the order of the text.
class JsonListener {
 public:
  virtual ~JsonListener() = default;
  virtual void begin(bool array) = 0;  ///< an array or an object
  virtual void end(bool array) = 0;
  virtual void key(std::string key) = 0;
  virtual void scalar(Json value) = 0;  ///< any other value
};

/// Builds a document from these events.
class JsonBuilder : public JsonListener {
 public:
  void begin(bool array) override;
  void end(bool array) override;
  void key(std::string key) override { key_ = std::move(key); }
  void scalar(Json value) override { add(std::move(value)); }
  Json take() { return std::move(whole_); }

 protected:
  /// Called when an array or object ends; returns whether it becomes part of the document. `depth`: number of arrays
  /// and objects around it; `top`: its key in the outermost object, or that of the value around it.
  virtual bool keep(Json&, std::size_t /*depth*/, const std::string& /*top*/) { return true; }

 private:
  struct Open {
    bool array = false;
    std::string key;  ///< its key
    std::vector<Json> values;
    std::vector<Json::Member> members;
  };
  void add(Json value);

  std::vector<Open> open_;  ///< from the outermost inwards
  std::string key_;         ///< of the next value
  Json whole_;
};

/// In constant space, except for the data that the listener keeps. Errors kInvalid name the byte.
Status read_json(std::istream& in, const std::string& name, JsonListener& listener);

/// Error kInvalid with line and column.
Result<Json> parse_json(std::string_view text, const std::string& name);

}  // namespace busbar::formats
