#include "busbar/formats/launch_script.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "busbar/base/text.h"
#include "busbar/formats/internal/script_number.h"

namespace busbar::formats {
namespace {

constexpr std::size_t kMostText = 1 << 22;  // characters of all words: a script that doubles a variable stops here
constexpr int kMostNesting = 20;            // of ${A:-${B:-...}}

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
bool is_operator(char c) { return std::string_view(";&|()<>\n").find(c) != std::string_view::npos; }

/// A word, an operator, or an assignment of a list.
struct ScriptToken {
  std::string sign;  ///< "&&", "\n", "="; empty: a word
  ScriptWord word;
  bool adds = false;         ///< "=": to what the variable has
  ScriptCommand items = {};  ///< "=": of the list
};

/// An `if` and the like: whether its present part is run.
struct ScriptBranch {
  std::optional<bool> runs;  ///< nothing: it cannot be decided
  bool done = false;         ///< an earlier part was run
  int line = 0;
};

class ScriptReader {
 public:
  ScriptReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Result<std::vector<ScriptCommand>> read() {
    while (at_ < text_.size()) {
      BUSBAR_ASSIGN(std::vector<ScriptToken> statement, read_statement());
      run(std::move(statement));
    }
    return std::move(commands_);
  }

 private:
  // -- Characters to tokens

  char here(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  char take() {
    if (text_[at_] == '\n') ++line_;
    return text_[at_++];
  }
  Error error(int line, std::string message) const { return invalid(std::move(message), {name_, line, 0, ""}); }

  /// Blanks, continued lines and comments.
  void skip_blanks() {
    while (at_ < text_.size()) {
      if (is_blank(here()) || (here() == '\\' && here(1) == '\n')) {
        if (take() == '\\') take();
      } else if (here() == '\\' && here(1) == '\r' && here(2) == '\n') {
        for (int i = 0; i < 3; ++i) take();
      } else if (here() == '#') {
        while (at_ < text_.size() && here() != '\n') take();
      } else {
        return;
      }
    }
  }

  std::string read_operator() {
    std::string sign(1, take());
    const char next = here();
    if ((sign == "&" && next == '&') || (sign == "|" && next == '|') || (sign == ";" && next == ';') ||
        (sign == "<" && next == '<'))
      sign += take();
    if (sign == "<<" && here() == '<') sign += take();
    return sign;
  }

  /// The tokens up to the end of a line or to a semicolon.
  Result<std::vector<ScriptToken>> read_statement() {
    std::vector<ScriptToken> out;
    std::string end_of_document;
    while (true) {
      skip_blanks();
      if (at_ >= text_.size()) return out;
      if (is_operator(here())) {
        const int line = line_;
        const std::string sign = read_operator();
        if (sign == "\n" && !end_of_document.empty()) skip_document(end_of_document);
        if (sign == "\n" || sign == ";" || sign == ";;") return out;
        out.push_back({sign, {"", line, "", 0}});
        continue;
      }
      const bool names_end = !out.empty() && out.back().sign == "<<";
      BUSBAR_RETURN_IF_ERROR(read_token(out));
      if (names_end && out.back().sign.empty()) end_of_document = out.back().word.text;
    }
  }

  /// A document in the script: up to a line with this word alone.
  void skip_document(std::string end) {
    if (end.starts_with('-')) end.erase(0, 1);
    while (at_ < text_.size()) {
      const std::size_t eol = std::min(text_.find('\n', at_), text_.size());
      std::string_view row = text_.substr(at_, eol - at_);
      while (!row.empty() && (is_blank(row.front()))) row.remove_prefix(1);
      const bool last = row == end;
      while (at_ < text_.size() && at_ <= eol) take();
      if (last) return;
    }
  }

  /// "NAME=(" or "NAME+=(", or a word, which may become several or none.
  Status read_token(std::vector<ScriptToken>& out) {
    const std::size_t equals = length_of_assignment();
    if (equals == 0 || here(equals) != '(') {
      BUSBAR_ASSIGN(ScriptCommand words, read_word(equals > 0));
      for (ScriptWord& w : words) out.push_back({"", std::move(w)});
      return {};
    }
    ScriptToken list{"=", {"", line_, "", 0}};
    list.adds = here(equals - 2) == '+';
    list.word.text = std::string(text_.substr(at_, equals - (list.adds ? 2 : 1)));
    at_ += equals + 1;
    while (true) {
      skip_blanks();
      if (at_ >= text_.size()) return error(list.word.line, fmt::format("the list {} does not end", list.word.text));
      if (here() == ')') break;
      if (is_operator(here())) {
        take();
        continue;
      }
      BUSBAR_ASSIGN(const ScriptCommand words, read_word(false));
      list.items.insert(list.items.end(), words.begin(), words.end());
    }
    take();
    out.push_back(std::move(list));
    return {};
  }

  /// The characters of "NAME=" or "NAME+=" at this place; 0: there is none.
  std::size_t length_of_assignment() const {
    const std::size_t equals = assignment_in(text_.substr(at_));
    return equals > 0 && here(equals + 1) != '=' ? equals + 1 : 0;
  }

  // -- Words

  /// A word under construction, which an unquoted variable divides at its blanks.
  struct WordDraft {
    ScriptCommand done;
    ScriptWord now;
    bool begun = false;
    void add(std::string_view text) {
      now.text += text;
      begun = true;
    }
    void end(int line) {
      if (begun) done.push_back(now);
      now = {"", line, "", 0};
      begun = false;
    }
  };

  Result<ScriptCommand> read_word(bool assignment) {
    WordDraft d;
    d.now.line = line_;
    while (at_ < text_.size() && !is_blank(here()) && !is_operator(here()))
      BUSBAR_RETURN_IF_ERROR(read_part(d, assignment));
    d.end(line_);
    return std::move(d.done);
  }

  Status read_part(WordDraft& d, bool whole) {
    const char c = here();
    if (c == '\'') return read_single(d);
    if (c == '"') return read_double(d);
    if (c == '$' || c == '`') return read_dollar(d, whole);
    if (c != '\\') {
      d.add(std::string(1, take()));
      return {};
    }
    take();
    if (at_ >= text_.size()) return {};
    const char next = take();
    if (next != '\n') d.add(std::string(1, next));
    return {};
  }

  Status read_single(WordDraft& d) {
    const int line = line_;
    const std::size_t end = text_.find('\'', at_ + 1);
    if (end == std::string_view::npos) return error(line, "a quote ' does not end");
    d.add(text_.substr(at_ + 1, end - at_ - 1));
    while (at_ <= end) take();
    return {};
  }

  Status read_double(WordDraft& d) {
    const int line = line_;
    take();
    d.add("");
    while (true) {
      if (at_ >= text_.size()) return error(line, "a quote \" does not end");
      const char c = here();
      if (c == '"') break;
      if (c == '$' || c == '`') {
        BUSBAR_RETURN_IF_ERROR(read_dollar(d, true));
      } else if (c == '\\' && at_ + 1 < text_.size() &&
                 std::string_view("\"\\$`\n").find(here(1)) != std::string::npos) {
        take();
        const char next = take();
        if (next != '\n') d.add(std::string(1, next));
      } else {
        d.add(std::string(1, take()));
      }
    }
    take();
    return {};
  }

  /// What a part stands for: words of a variable, or something that is not known.
  struct Expanded {
    ScriptCommand words;
    bool list = false;  ///< each word stays one
  };

  Status read_dollar(WordDraft& d, bool quoted) {
    BUSBAR_ASSIGN(const Expanded e, expand(0));
    for (std::size_t i = 0; i < e.words.size(); ++i) {
      const ScriptWord& w = e.words[i];
      if (i > 0 && (e.list || !quoted)) d.end(w.line);
      if (i > 0 && !e.list && quoted) d.add(" ");
      if ((spent_ += w.text.size()) > kMostText) return error(line_, "variables become more than 4 MB of text");
      add_value(w, !quoted, d);
    }
    return {};
  }

  /// Unquoted text is divided at its blanks, each word at the line of the variable.
  static void add_value(const ScriptWord& w, bool divide, WordDraft& d) {
    if (!d.begun) d.now.line = w.line;
    const auto mark = [&] {
      if (d.now.unknown.empty()) d.now.unknown = w.unknown;
      if (d.now.condition == 0) d.now.condition = w.condition;
    };
    if (!divide || !w.unknown.empty()) {
      d.add(w.text);
      return mark();
    }
    std::size_t at = 0;
    while (at < w.text.size()) {
      const bool gap = is_blank(w.text[at]) || w.text[at] == '\n';
      if (gap) d.end(w.line);
      if (!gap) {
        d.add(w.text.substr(at, 1));
        mark();
      }
      ++at;
    }
  }

  /// From '$' or '`'.
  Result<Expanded> expand(int depth) {
    const int line = line_;
    const std::size_t begin = at_;
    const auto unknown = [&] {
      return Expanded{{{"", line, std::string(text_.substr(begin, std::min<std::size_t>(at_ - begin, 40))), 0}}};
    };
    if (depth > kMostNesting) return error(line, "variables stand in each other too deeply");
    if (take() == '`') {
      while (at_ < text_.size() && here() != '`') take();
      if (at_ >= text_.size()) return error(line, "a quote ` does not end");
      take();
      return unknown();
    }
    if (here() == '(') return expand_command(line, unknown);
    if (here() == '{') return expand_braces(line, depth, unknown);
    if (starts_name(here())) {
      std::size_t n = 1;
      while (in_name(here(n))) ++n;
      const std::string name(text_.substr(at_, n));
      at_ += n;
      const auto known = variables_.find(name);
      if (known == variables_.end()) return unknown();
      return Expanded{first_word(known->second)};
    }
    if (at_ < text_.size() && std::string_view("@*#?$!-0123456789").find(here()) != std::string_view::npos) {
      take();
      return unknown();
    }
    return Expanded{{{"$", line, "", 0}}};
  }

  /// The text inside parentheses or braces, up to the one that closes them.
  Result<std::string_view> read_inside(char open, char close, int line) {
    const std::size_t begin = at_ + 1;
    int depth = 0;
    while (at_ < text_.size()) {
      const char c = take();
      if (c == '\\' && at_ < text_.size()) take();
      if (c == open) ++depth;
      if (c == close && --depth == 0) return text_.substr(begin, at_ - 1 - begin);
    }
    return error(line, fmt::format("a '{}' does not end", open));
  }

  template <typename Unknown>
  Result<Expanded> expand_command(int line, const Unknown& unknown) {
    BUSBAR_ASSIGN(const std::string_view inside, read_inside('(', ')', line));
    if (!inside.starts_with('(') || !inside.ends_with(')')) return unknown();
    const auto value = script_number(inside.substr(1, inside.size() - 2), [&](const std::string& name) {
      const auto known = variables_.find(name);
      std::int64_t n = 0;
      const bool number = known != variables_.end() && known->second.size() == 1 && known->second[0].unknown.empty() &&
                          is_number(known->second[0].text, n);
      return number ? std::optional(n) : std::nullopt;
    });
    if (!value) return unknown();
    return Expanded{{{std::to_string(*value), line, "", 0}}};
  }

  /// ${NAME}, ${NAME[@]}, ${NAME:-DEFAULT}; other operations are not known.
  template <typename Unknown>
  Result<Expanded> expand_braces(int line, int depth, const Unknown& unknown) {
    const std::size_t first = at_ + 1;
    BUSBAR_ASSIGN(const std::string_view inside, read_inside('{', '}', line));
    std::size_t n = 0;
    while (n < inside.size() && in_name(inside[n])) ++n;
    if (n == 0) return unknown();
    const auto known = variables_.find(std::string(inside.substr(0, n)));
    std::string_view rest = inside.substr(n);
    const bool all = rest.starts_with("[@]") || rest.starts_with("[*]");
    if (all) rest.remove_prefix(3);
    if (rest.empty() && known != variables_.end())
      return Expanded{all ? known->second : first_word(known->second), all && !inside.ends_with("[*]")};
    const bool colon = rest.starts_with(':');
    if (colon) rest.remove_prefix(1);
    if (!rest.starts_with('-') && !rest.starts_with('=')) return unknown();
    if (known != variables_.end() && !(colon && is_empty(known->second)))
      return Expanded{all ? known->second : first_word(known->second), all};
    return default_value(first + static_cast<std::size_t>(rest.data() + 1 - inside.data()), depth);
  }

  static ScriptCommand first_word(const ScriptCommand& words) {
    return words.empty() ? ScriptCommand{} : ScriptCommand{words.front()};
  }
  static bool is_empty(const ScriptCommand& words) {
    return words.empty() || (words.size() == 1 && words[0].text.empty() && words[0].unknown.empty());
  }

  /// The text from `begin` to the brace that has just been read, with its own quotes and variables.
  Result<Expanded> default_value(std::size_t begin, int depth) {
    const std::size_t end = at_ - 1, back = at_;
    const std::string_view whole = text_;
    text_ = text_.substr(0, end);
    at_ = begin;
    ScriptWord word{"", line_, "", 0};
    Status status;
    while (status.ok() && at_ < text_.size()) {
      const char c = here();
      if (c == '$' || c == '`') {
        const Result<Expanded> inner = expand(depth + 1);
        if (!inner.ok()) status = inner.error();
        for (std::size_t i = 0; inner.ok() && i < inner->words.size(); ++i) {
          word.text += (i > 0 ? " " : "") + inner->words[i].text;
          if (word.unknown.empty()) word.unknown = inner->words[i].unknown;
        }
        if ((spent_ += word.text.size()) > kMostText) status = error(line_, "variables become more than 4 MB of text");
        continue;
      }
      if (c != '"' && c != '\'') word.text += c;
      ++at_;
    }
    text_ = whole;
    at_ = back;
    if (!status.ok()) return status.error();
    return Expanded{{std::move(word)}};
  }

  // -- Statements

  /// Whether a statement here is run: by all parts around it.
  std::optional<bool> runs() const {
    std::optional<bool> out = true;
    for (const ScriptBranch& b : branches_) {
      if (b.runs == false) return false;
      if (!b.runs) out = std::nullopt;
    }
    return out;
  }
  int condition() const {
    for (const ScriptBranch& b : branches_)
      if (!b.runs) return b.line;
    return 0;
  }

  void run(std::vector<ScriptToken> t) {
    while (!t.empty() && t[0].sign.empty() && begins_branch(t)) {
    }
    std::size_t begin = 0;
    const std::size_t outside = branches_.size();
    for (std::size_t i = 0; i <= t.size(); ++i) {
      const bool end = i == t.size();
      if (!end && (t[i].sign.empty() || t[i].sign == "=")) continue;
      const std::vector<ScriptToken> part(t.begin() + static_cast<std::ptrdiff_t>(begin),
                                          t.begin() + static_cast<std::ptrdiff_t>(i));
      begin = i + 1;
      const bool test = !part.empty() && (part[0].word.text == "[" || part[0].word.text == "[[");
      if (!test) run_command(part);
      if (test && !end && (t[i].sign == "&&" || t[i].sign == "||")) {
        const std::optional<bool> held = holds(part);
        branches_.push_back({held ? std::optional(*held == (t[i].sign == "&&")) : held, false, part[0].word.line});
      }
    }
    branches_.resize(outside);
  }

  /// Words that open, turn or close a branch, at the start of a statement. True: another may follow.
  bool begins_branch(std::vector<ScriptToken>& t) {
    const std::string& word = t[0].word.text;
    const int line = t[0].word.line;
    if (word == "then" || word == "do" || word == "{") {
      t.erase(t.begin());
      return true;
    }
    if (word == "else") {
      turn(true, line);
      t.erase(t.begin());
      return true;
    }
    if (word == "if" || word == "elif") {
      const std::optional<bool> held = holds({t.begin() + 1, t.end()});
      if (word == "if")
        branches_.push_back({held, held == true, line});
      else
        turn(held, line);
    } else if (word == "for" || word == "while" || word == "until" || word == "case") {
      branches_.push_back({std::nullopt, true, line});
    } else if (word == "fi" || word == "done" || word == "esac") {
      if (!branches_.empty()) branches_.pop_back();
    } else {
      return false;
    }
    t.clear();
    return false;
  }

  /// The next part of an `if`.
  void turn(std::optional<bool> held, int line) {
    if (branches_.empty()) return;
    ScriptBranch& b = branches_.back();
    const bool open = b.runs == std::nullopt && !b.done;
    b.runs = b.done ? std::optional(false) : open && held != false ? std::nullopt : held;
    b.done = b.done || b.runs == true;
    b.line = line;
  }

  /// "[[ A == B ]] && [ -z C ]": three values, from left to right.
  static std::optional<bool> holds(const std::vector<ScriptToken>& tokens) {
    std::optional<bool> all = true;
    std::string sign = "&&";
    std::vector<ScriptWord> atom;
    for (std::size_t i = 0; i <= tokens.size(); ++i) {
      const bool end = i == tokens.size();
      const std::string& text = end ? sign : tokens[i].word.text;
      if (!end && tokens[i].sign.empty()) {
        if (text != "[" && text != "[[" && text != "]" && text != "]]") atom.push_back(tokens[i].word);
        continue;
      }
      if (!end && tokens[i].sign != "&&" && tokens[i].sign != "||") return std::nullopt;
      const std::optional<bool> one = atom_holds(atom);
      const bool decides = sign == "||";  // one true value does; of "&&", one false value
      if (all == decides || one == decides)
        all = decides;
      else if (all)
        all = one;
      if (!end) sign = tokens[i].sign;
      atom.clear();
    }
    return all;
  }

  static std::optional<bool> atom_holds(std::vector<ScriptWord> w) {
    if (!w.empty() && w[0].text == "!") {
      w.erase(w.begin());
      const std::optional<bool> held = atom_holds(w);
      return held ? std::optional(!*held) : held;
    }
    for (const ScriptWord& word : w)
      if (!word.unknown.empty() || word.condition > 0) return std::nullopt;
    if (w.size() == 2 && (w[0].text == "-z" || w[0].text == "-n")) return w[1].text.empty() == (w[0].text == "-z");
    if (w.size() != 3 || w[2].text.find_first_of("*?[") != std::string::npos) return std::nullopt;
    if (w[1].text == "=" || w[1].text == "==") return w[0].text == w[2].text;
    if (w[1].text == "!=") return w[0].text != w[2].text;
    std::int64_t a = 0, b = 0;
    if (!is_number(w[0].text, a) || !is_number(w[2].text, b)) return std::nullopt;
    return compare(a, w[1].text, b);
  }

  static std::optional<bool> compare(std::int64_t a, const std::string& how, std::int64_t b) {
    if (how == "-eq") return a == b;
    if (how == "-ne") return a != b;
    if (how == "-gt") return a > b;
    if (how == "-ge") return a >= b;
    if (how == "-lt") return a < b;
    if (how == "-le") return a <= b;
    return std::nullopt;
  }

  /// Assignments set variables; other words are a command.
  void run_command(const std::vector<ScriptToken>& part) {
    if (runs() == false) return;
    ScriptCommand command;
    for (const ScriptToken& t : part) {
      const std::string& text = t.word.text;
      if (t.sign == "=") {
        assign(text, t.items, t.adds, true);
        continue;
      }
      if (command.empty() && (text == "export" || text == "local" || text == "readonly" || text == "declare")) continue;
      const std::size_t equals = command.empty() ? assignment_in(text) : 0;
      if (equals == 0) {
        command.push_back(t.word);
        if (command.back().condition == 0) command.back().condition = condition();
        continue;
      }
      const bool adds = text[equals - 1] == '+';
      ScriptWord value = t.word;
      value.text = text.substr(equals + 1);
      assign(text.substr(0, equals - (adds ? 1 : 0)), {std::move(value)}, adds, false);
    }
    if (!command.empty()) add_command(std::move(command));
  }

  /// The place of '=' in "NAME=VALUE" or "NAME+=VALUE"; 0: it is none.
  static std::size_t assignment_in(std::string_view text) {
    if (text.empty() || !starts_name(text[0])) return 0;
    std::size_t n = 1;
    while (n < text.size() && in_name(text[n])) ++n;
    if (n < text.size() && text[n] == '+') ++n;
    return n < text.size() && text[n] == '=' ? n : 0;
  }

  /// In a branch that cannot be decided: words are marked, and a second value makes the variable unknown.
  void assign(const std::string& name, ScriptCommand words, bool adds, bool list) {
    const bool decided = runs() == true;
    if (!decided && !adds && variables_.contains(name)) words = {{"", line_, "$" + name, condition()}};
    if (!decided)
      for (ScriptWord& w : words) w.condition = condition();
    ScriptCommand& to = variables_[name];
    if (!adds) {
      to = std::move(words);
    } else if (list || to.empty()) {
      to.insert(to.end(), words.begin(), words.end());
    } else if (!words.empty()) {
      to.back().text += words[0].text;
      if (to.back().unknown.empty()) to.back().unknown = words[0].unknown;
      if (to.back().condition == 0) to.back().condition = words[0].condition;
    }
  }

  /// Flags that begin a line belong to those before them.
  void add_command(ScriptCommand command) {
    const auto of_flags = [](const ScriptCommand& c) { return c.front().text.starts_with('-'); };
    if (!commands_.empty() && of_flags(command) && of_flags(commands_.back()))
      commands_.back().insert(commands_.back().end(), command.begin(), command.end());
    else
      commands_.push_back(std::move(command));
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0, spent_ = 0;
  int line_ = 1;
  std::map<std::string, ScriptCommand> variables_;
  std::vector<ScriptBranch> branches_;
  std::vector<ScriptCommand> commands_;
};

}  // namespace

Result<std::vector<ScriptCommand>> read_launch_script(std::string_view text, const std::string& name) {
  return ScriptReader(text, name).read();
}

}  // namespace busbar::formats
