// A command line as text that a shell reads back word by word.
//
//   ShellLine line("busbar train --cluster " + shell_word(cluster));
//   line.add("--engine", engine, "flow");  // left out where it is the default
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace busbar {

/// The word, in quotes where a shell would take it apart or change it.
std::string shell_word(const std::string& word);

class ShellLine {
 public:
  explicit ShellLine(std::string start) : text_(std::move(start)) {}

  /// Appends "FLAG VALUE", unless the value is `without`.
  void add(const char* flag, const std::string& value, const std::string& without = "");
  void add(const char* flag, std::uint32_t value) { add(flag, std::to_string(value)); }
  void add_all(const char* flag, const std::vector<std::string>& values);
  /// Appends words that are a shell's already.
  void add_words(const std::string& words) { text_ += ' ' + words; }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace busbar
