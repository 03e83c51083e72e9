#include "busbar/formats/toml_flags.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "busbar/base/text.h"
#include "busbar/formats/lines.h"

namespace busbar::formats {
namespace {

bool is_toml_key(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  });
}

class TomlReader {
 public:
  TomlReader(std::string_view text, const std::string& name) : lines_(split_at(text, '\n')), name_(name) {}

  Result<ScriptCommand> read() {
    ScriptCommand out;
    std::string table;
    for (; at_ < lines_.size(); ++at_) {
      const std::string_view line = trimmed(lines_[at_]);
      if (line.empty() || line[0] == '#') continue;
      if (line[0] == '[') {
        BUSBAR_ASSIGN(table, table_of(line));
        continue;
      }
      const std::size_t equals = line.find('=');
      const std::string_view key = trimmed(line.substr(0, equals));
      if (equals == std::string_view::npos || !is_toml_key(key)) return error("is not KEY = VALUE");
      const int number = place();
      BUSBAR_ASSIGN(const std::string value, value_of(line.substr(equals + 1)));
      out.push_back({fmt::format("--{}{}{}={}", table, table.empty() ? "" : ".", key, value), number, "", 0});
    }
    return out;
  }

 private:
  int place() const { return static_cast<int>(std::min(at_, lines_.size() - 1)) + 1; }
  Error error(const std::string& message) const {
    return invalid(fmt::format("'{}' {}", trimmed(lines_[std::min(at_, lines_.size() - 1)]), message),
                   {name_, place(), 0, ""});
  }

  Result<std::string> table_of(std::string_view line) const {
    const std::size_t end = line.find(']');
    const std::string_view name = trimmed(line.substr(1, end == std::string_view::npos ? end : end - 1));
    if (end == std::string_view::npos || !is_toml_key(name)) return error("is not the head of a table");
    return std::string(name);
  }

  /// A string without its quotes, a word, or "a,b" of a list, which may go on in the next lines.
  Result<std::string> value_of(std::string_view rest) {
    std::string out;
    int depth = 0;
    char quote = '\0';
    while (true) {
      for (const char c : rest) {
        if (quote != '\0') {
          if (c == quote)
            quote = '\0';
          else
            out += c;
        } else if (c == '"' || c == '\'') {
          quote = c;
        } else if (c == '#') {
          break;
        } else if (c == '[' || c == ']') {
          depth += c == '[' ? 1 : -1;
        } else if (std::isspace(static_cast<unsigned char>(c)) == 0) {
          out += c;
        }
      }
      if (quote != '\0') return error("has a string that does not end");
      if (depth < 0) return error("has a ']' too many");
      if (depth == 0) break;
      if (++at_ >= lines_.size()) return error("is the end of a list that does not end");
      rest = lines_[at_];
    }
    while (out.ends_with(',')) out.pop_back();
    return out;
  }

  std::vector<std::string_view> lines_;
  const std::string& name_;
  std::size_t at_ = 0;
};

}  // namespace

bool is_toml(std::string_view text) {
  for (const std::string_view raw : split_at(text, '\n')) {
    const std::string_view line = trimmed(raw);
    if (line.empty() || line[0] == '#') continue;
    return line[0] == '[' && line.find(']') != std::string_view::npos && !line.starts_with("[ ") &&
           !line.starts_with("[[");
  }
  return false;
}

Result<ScriptCommand> read_toml_flags(std::string_view text, const std::string& name) {
  return TomlReader(text, name).read();
}

}  // namespace busbar::formats
