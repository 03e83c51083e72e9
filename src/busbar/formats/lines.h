// Text as lines, from a stream of any size or from memory, in constant space.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "busbar/base/result.h"
#include "busbar/formats/line_prefix.h"

namespace busbar::formats {

class LineSource {
 public:
  /// The text must outlive the source.
  static LineSource of_text(std::string_view text, std::string name);
  static LineSource of_stream(std::unique_ptr<std::istream> stream, std::string name);

  /// The next line without its end (LF or CR LF); valid until the next call. False at the end. A line longer than
  /// kLongestLine comes in pieces of that length.
  bool next(std::string_view& line);
  /// From now on: lines without what launchers, container runtimes and loggers put before them, and without commands to
  /// a terminal. Parts of a line of the CRI are joined.
  void skip_prefixes();
  const LinePrefix& prefix() const { return prefix_; }    ///< of the last line, if prefixes are skipped
  std::string_view whole_line() const { return whole_; }  ///< with its prefix

  int number() const { return number_; }  ///< of the last line, 1-based
  const std::string& name() const { return name_; }
  Where where() const { return {name_, number_, 0, ""}; }

  static constexpr std::size_t kLongestLine = std::size_t{1} << 20;

 private:
  bool refill();
  bool next_raw(std::string_view& line);
  bool next_part(std::string_view& line);
  std::string name_;
  std::unique_ptr<std::istream> stream_;  ///< null: all text is in memory
  std::vector<char> buffer_;              ///< for streams only
  std::string_view rest_;                 ///< text not returned yet
  bool ended_ = true;                     ///< no more data for the buffer
  int number_ = 0;
  bool skips_ = false;
  LabelStyles labels_;
  LinePrefix prefix_;
  std::string_view whole_;
  std::string clean_;     ///< the line without commands to a terminal
  std::string parts_[2];  ///< beginnings of lines on stdout and stderr
  std::string joined_;
};

/// Reads the words and numbers of a line from left to right; a failed call does not move.
class LineCursor {
 public:
  explicit LineCursor(std::string_view text) : rest_(text) {}
  std::string_view rest() const { return rest_; }
  bool at_end() const { return rest_.empty(); }
  void blanks();
  bool accept(std::string_view literal);
  bool integer(std::int64_t& out);  ///< decimal, with sign
  /// The same within limits.
  template <typename T>
  bool integer(T& out, std::int64_t low, std::int64_t high) {
    std::int64_t n = 0;
    LineCursor ahead = *this;
    if (!ahead.integer(n) || n < low || n > high) return false;
    out = static_cast<T>(n);
    *this = ahead;
    return true;
  }
  bool number(double& out);                       ///< finite decimal
  bool hexadecimal(std::uint64_t& out);           ///< with or without 0x
  std::string_view until(std::string_view stop);  ///< up to the first of these characters
  std::string_view word() { return until(" \t"); }

 private:
  std::string_view rest_;
};

std::string_view trimmed(std::string_view text);  ///< without blanks at either end

}  // namespace busbar::formats
