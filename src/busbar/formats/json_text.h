// JSON of other programs, with the place of what is wrong in it. Refused: nesting deeper than 256, and numbers that no
// double holds.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/base/result.h"

namespace busbar {

/// Hears a document value by value, in the order of the text.
class JsonListener {
 public:
  virtual ~JsonListener() = default;
  virtual void begin(bool array) = 0;  ///< an array or an object
  virtual void end(bool array) = 0;
  virtual void key(std::string key) = 0;
  virtual void scalar(Json value) = 0;  ///< any other value
};

/// Keeps what it hears.
class JsonBuilder : public JsonListener {
 public:
  void begin(bool array) override;
  void end(bool array) override;
  void key(std::string key) override { key_ = std::move(key); }
  void scalar(Json value) override { add(std::move(value)); }
  Json take() { return std::move(whole_); }

 protected:
  /// An array or object has ended: whether it becomes part of the document. `depth`: arrays and objects around it;
  /// `top`: the key that leads to it in the outermost object.
  virtual bool keep(Json&, std::size_t /*depth*/, const std::string& /*top*/) { return true; }

 private:
  struct Open {
    bool array = false;
    std::string key;  ///< that leads to it
    std::vector<Json> values;
    std::vector<Json::Member> members;
  };
  void add(Json value);

  std::vector<Open> open_;  ///< from the outermost on
  std::string key_;         ///< of the next value
  Json whole_;
};

/// In constant space, but for what the listener keeps. Errors kInvalid name the byte.
Status read_json(std::istream& in, const std::string& name, JsonListener& listener);

/// Error kInvalid with line and column.
Result<Json> parse_json(std::string_view text, const std::string& name);

}  // namespace busbar
