#include "busbar/lines/flags.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "busbar/base/quantity.h"
#include "busbar/base/text.h"

namespace busbar::lines {
namespace {

template <typename T>
Status read_number(const std::string& text, const char* what, T& out) {
  if (is_number(text, out)) return {};
  return invalid(fmt::format("'{}' is not a {}", text, what));
}

Status take(const std::string& text, std::string& out) {
  out = text;
  return {};
}
Status take(const std::string& text, std::optional<std::string>& out) {
  out = text;
  return {};
}
Status take(const std::string& text, std::vector<std::string>& out) {
  out.push_back(text);
  return {};
}
Status take(const std::string& text, std::uint32_t& out) {
  return read_number(text, "whole number from 0 to 4294967295", out);
}
Status take(const std::string& text, std::optional<std::int64_t>& out) {
  return read_number(text, "whole number", out.emplace());
}
Status take(const std::string& text, double& out) {
  constexpr const char* kWhat = "number of 0 or more";
  BUSBAR_RETURN_IF_ERROR(read_number(text, kWhat, out));
  if (std::isfinite(out) && !std::signbit(out)) return {};
  return invalid(fmt::format("'{}' is not a {}", text, kWhat));
}
Status take(const std::string&, bool& out) {
  out = true;
  return {};
}

/// "1,2,4" or "1..4".
bool names_several(const std::string& value) {
  return value.find(',') != std::string::npos || value.find("..") != std::string::npos;
}

bool is_list(const Flag& f) { return std::holds_alternative<std::vector<std::string>*>(f.target); }

std::string in_words(const std::vector<std::string>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i)
    out += (i == 0 ? "" : i + 1 < words.size() ? ", " : " and ") + words[i];
  return out;
}

/// "; did you mean '--engine'?", or empty.
std::string did_you_mean(const std::string& guess) {
  return guess.empty() ? "" : fmt::format("; did you mean '{}'?", guess);
}

std::string guess_among(const std::string& word, const std::vector<std::string>& known) {
  return did_you_mean(nearest(word, known));
}

std::vector<std::string> names_of_flags(const Command& c) {
  std::vector<std::string> known{"--help"};
  for (const Flag& f : c.flags)
    for (std::string& n : split_names(f.names)) known.push_back(std::move(n));
  return known;
}

/// `rows`: what the flag means in usual speech.
Error unknown_flag(const Command& c, const std::string& name, const std::vector<const questions::ForeignFlag*>& rows) {
  for (const auto& [old, now] : c.renamed)
    if (old == name) return invalid(fmt::format("'{}' is now '{}'", old, now));
  return invalid(
      fmt::format("unknown flag '{}'{}", name,
                  did_you_mean(rows.empty() ? nearest(name, names_of_flags(c)) : std::string(rows[0]->ours))));
}

/// Matches the words of one command line with the table of one command.
class ArgumentReader {
 public:
  ArgumentReader(const Command& command, std::vector<std::string> args) : c_(command), args_(std::move(args)) {}

  Status read() {
    for (bool flags = true; at_ < args_.size();) {
      const std::string word = args_[at_++];
      if (flags && word == "--") {
        flags = false;
      } else if (flags && word.size() > 1 && word[0] == '-') {
        BUSBAR_RETURN_IF_ERROR(read_flag(word));
      } else {
        words_.push_back(word);
      }
    }
    if (help_) return {};
    BUSBAR_RETURN_IF_ERROR(place_words());
    return check_use();
  }
  bool help() const { return help_; }

 private:
  const Flag* find(const std::string& name) const {
    for (const Flag& f : c_.flags)
      for (const std::string& n : split_names(f.names))
        if (n == name) return &f;
    return nullptr;
  }

  Status read_flag(const std::string& word) {
    const bool is_long = word.starts_with("--");
    const std::size_t end = is_long ? std::min(word.find('='), word.size()) : 2;
    const std::string name = word.substr(0, end);
    if (name == "--help" || name == "-h") {
      help_ = true;
      return {};
    }
    const Flag* const f = find(name);
    std::optional<std::string> value;
    if (end < word.size()) value = word.substr(end + (word[end] == '='));
    const auto rows =
        f == nullptr ? questions::rows_of_word(name, names_of_flags(c_)) : std::vector<const questions::ForeignFlag*>();
    if (f == nullptr && (rows.empty() || rows[0]->program.empty()))
      return unknown_flag(c_, is_long ? name : word, rows);
    Status done = f == nullptr ? set_foreign(rows, name, std::move(value)) : set(*f, name, std::move(value));
    if (done.ok()) return done;
    Error error = done.error();
    error.where.path = name;
    return error;
  }

  /// The next word, as the value of `name`.
  Result<std::string> next_value(const std::string& name, const std::string& what) {
    if (at_ == args_.size()) return invalid(fmt::format("a value is missing; write {} {}", name, what));
    const std::string& value = args_[at_];
    if (value.starts_with("--") || find(value) != nullptr)
      return invalid(fmt::format("a value is missing before '{}'; write {} {}", value, name, what));
    ++at_;
    return value;
  }

  /// A flag of another program, by its rows.
  Status set_foreign(const std::vector<const questions::ForeignFlag*>& rows, const std::string& name,
                     std::optional<std::string> value) {
    const Flag& f = *find(std::string(rows[0]->ours));
    if (rows[0]->is_switch() && value) return invalid("takes no value");
    std::string words;
    for (const questions::ForeignFlag* row : rows) append_word(words, row->takes_any() ? f.value : row->value);
    if (!rows[0]->is_switch() && !value) {
      BUSBAR_ASSIGN(value, next_value(name, words));
    }
    const std::string theirs = value.value_or("");
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const questions::ForeignFlag* r) {
      return r->takes_any() || r->value == theirs;
    });
    if (row == rows.end()) return invalid(fmt::format("'{}' is not one of {}", theirs, words));
    if (f.list != nullptr && names_several(theirs))
      return invalid(fmt::format("takes one value; write {} for a list", (*row)->ours));
    if (!(*row)->takes_any() && !is_list(f) && !counts_now(f, **row)) return {};
    return set(f, std::string((*row)->ours), questions::our_value(**row, theirs));
  }

  /// Whether a row with a fixed value counts besides those before it: the last one of the table does.
  bool counts_now(const Flag& f, const questions::ForeignFlag& row) {
    const auto [known, first] = fixed_.emplace(&f, &row);
    if (first) return true;
    if (&row < known->second) return false;
    known->second = &row;
    given_.erase(&f);
    return true;
  }

  Status set(const Flag& f, const std::string& name, std::optional<std::string> value) {
    if (f.value.empty() && value) return invalid("takes no value");
    if (!given_.emplace(&f, name).second && !is_list(f)) return invalid("is given twice; leave one out");
    if (!f.value.empty() && !value) {
      BUSBAR_ASSIGN(value, next_value(name, f.value));
    }
    if (value && value->empty()) return invalid(fmt::format("the value is empty; write {} {}", name, f.value));
    if (f.list != nullptr && names_several(*value)) {
      *f.list = *value;
      return {};
    }
    const bool known = f.choices.empty() || std::find(f.choices.begin(), f.choices.end(), *value) != f.choices.end();
    if (!known)
      return invalid(
          fmt::format("'{}' is not one of {}{}", *value, in_words(f.choices), guess_among(*value, f.choices)));
    const std::string text = value.value_or("");
    return std::visit([&](auto* target) { return take(text, *target); }, f.target);
  }

  bool has_flag(const Positional& p) const {
    return std::any_of(given_.begin(), given_.end(), [&](const auto& given) {
      const auto* const target = std::get_if<std::string*>(&given.first->target);
      return target != nullptr && *target == p.target;
    });
  }

  /// Whether the flag is given, by name or as a word.
  bool has(const Flag& f) const {
    const auto* const text = std::get_if<std::string*>(&f.target);
    return given_.contains(&f) || (text != nullptr && f.choices.empty() && !(*text)->empty());
  }

  Status check_use() const {
    for (const auto& [f, name] : given_) {
      BUSBAR_RETURN_IF_ERROR(check_needs(*f, name));
      for (const std::string& other : f->useless_with)
        if (given_.contains(find(other)))
          return unsupported(fmt::format("has no effect with {}; leave it out", other), {"", 0, 0, name});
    }
    return {};
  }

  Status check_needs(const Flag& f, const std::string& name) const {
    if (f.needs.empty()) return {};
    const std::size_t space = f.needs.find(' ');
    const Flag* const other = find(f.needs.substr(0, space));
    BUSBAR_CHECK(other != nullptr) << f.needs;
    const auto* const value = std::get_if<std::string*>(&other->target);
    const bool met =
        space == std::string::npos ? has(*other) : value != nullptr && **value == f.needs.substr(space + 1);
    if (met) return {};
    if (other->names == "--engine" && value != nullptr)
      return unsupported(fmt::format("has no effect on the {} engine; add {}, or leave this out", **value, f.needs),
                         {"", 0, 0, name});
    return unsupported(fmt::format("has no effect without {}; add that, or leave this out", f.needs), {"", 0, 0, name});
  }

  /// Takes the word that is `p` beyond doubt, wherever it stands.
  bool take_certain_word(const Positional& p) {
    const auto word = p.is ? std::find_if(words_.begin(), words_.end(), p.is) : words_.end();
    if (word == words_.end()) return false;
    *p.target = *word;
    words_.erase(word);
    return true;
  }

  Status place_words() {
    std::vector<const Positional*> open;
    for (const Positional& p : c_.positionals)
      if (!has_flag(p) && !take_certain_word(p)) open.push_back(&p);
    std::size_t next = 0;
    for (const Positional* p : open) {
      if (next < words_.size())
        *p->target = words_[next++];
      else if (p->required)
        return invalid(fmt::format("{} is missing: {}{}", p->name, p->help, p->such_as));
      if (p->more != nullptr)
        for (; next < words_.size(); ++next) p->more->push_back(words_[next]);
    }
    if (next == words_.size()) return {};
    return invalid(fmt::format("unexpected argument '{}'; usage: {}", words_[next], usage_of(c_)));
  }

  const Command& c_;
  const std::vector<std::string> args_;
  std::size_t at_ = 0;
  std::vector<std::string> words_;
  std::map<const Flag*, std::string> given_;                    // as spelled; keyed by address, so in the table's order
  std::map<const Flag*, const questions::ForeignFlag*> fixed_;  // that set a flag to their fixed value
  bool help_ = false;
};

/// `help`: the command that explains more.
Parsed wrong_usage(const Error& error, const std::string& help) {
  return {nullptr, fmt::format("{} ({})", error.text(), help), 2};
}

Parsed unknown_command(const std::vector<Command>& commands, const std::string& word) {
  std::vector<std::string> known{"help"};
  for (const Command& c : commands) known.push_back(c.name);
  return wrong_usage(no_command(word, known), "busbar --help");
}

}  // namespace

Error no_command(const std::string& name, const std::vector<std::string>& known, const Where& where) {
  return invalid(fmt::format("there is no command '{}'{}", name, guess_among(name, known)), where);
}

std::string help_of(const Flag& f) { return (f.needs.empty() ? "" : "with " + f.needs + ": ") + f.help; }

std::vector<std::string> split_names(const std::string& names) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t comma = std::min(names.find(',', at), names.size());
    out.push_back(names.substr(at, comma - at));
    at = comma + 1;
  }
  return out;
}

std::vector<const questions::ForeignFlag*> foreign_flags_of(const Command& command) {
  std::vector<const questions::ForeignFlag*> out;
  const std::vector<std::string> known = names_of_flags(command);
  if (std::find(known.begin(), known.end(), "--tp") == known.end()) return out;  // --set alone is no layout
  for (const questions::ForeignFlag& row : questions::foreign_flags())
    if (!row.program.empty() && std::find(known.begin(), known.end(), row.ours) != known.end()) out.push_back(&row);
  return out;
}

std::vector<std::string> categories_of(const Command& command) {
  std::vector<std::string> out;
  for (const Flag& f : command.flags)
    if (std::find(out.begin(), out.end(), f.category) == out.end()) out.push_back(f.category);
  return out;
}

std::string usage_of(const Command& command) {
  std::string out = "busbar " + command.name;
  for (const Positional& p : command.positionals)
    out += (p.required ? " " + p.name : " [" + p.name + "]") + (p.more != nullptr ? "..." : "");
  return out + (command.flags.empty() ? "" : " [OPTION]...");
}

Parsed parse_command_line(const std::vector<Command>& commands, const std::vector<std::string>& args,
                          const std::string& version) {
  std::vector<std::string> rest = args;
  if (!rest.empty() && rest[0] == "help") {  // "busbar help train" means "busbar train --help"
    rest.erase(rest.begin());
    rest.insert(rest.begin() + (rest.empty() ? 0 : 1), "--help");
  }
  if (rest.empty() || rest[0] == "--help" || rest[0] == "-h") return {nullptr, "", 0, true};
  if (rest[0] == "--version") return {nullptr, version + "\n", 0};
  const auto c = std::find_if(commands.begin(), commands.end(), [&](const Command& k) { return k.name == rest[0]; });
  if (c == commands.end()) return unknown_command(commands, rest[0]);
  ArgumentReader reader(*c, {rest.begin() + 1, rest.end()});
  const Status done = reader.read();
  if (!done.ok()) return wrong_usage(done.error(), fmt::format("busbar {} --help", c->name));
  if (reader.help()) return {nullptr, "", 0, true, &*c};
  return {&*c, "", 0};
}

}  // namespace busbar::lines
