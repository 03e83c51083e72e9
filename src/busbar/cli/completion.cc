#include "busbar/cli/completion.h"

#include <fmt/core.h>

namespace busbar {
namespace {

/// Completions at one place: words, and whether files or folders too.
struct Candidates {
  std::vector<std::string> words;
  bool files = false, folders = false;
};

/// `value` is the placeholder in the help: "FILE", "CLUSTER", "OP", "A".
Candidates candidates(const std::string& value, const std::vector<std::string>& choices, const CompletionWords& known) {
  if (!choices.empty()) return {choices};
  if (value == "DIR") return {{}, false, true};
  if (value == "CLUSTER") return {known.machines, true};
  if (value == "MODEL") return {known.models, true};
  if (value == "FILE" || value == "SCENARIO" || value == "RESULTS" || value == "OLD" || value.find('.') < value.size())
    return {{}, true};
  if (value == "OP")
    return {{"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all", "gather", "scatter",
             "send_recv"}};
  return {};
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& w : words) out += (out.empty() ? "" : " ") + w;
  return out;
}

/// Text in single quotes. Each quote inside closes them, is escaped, and opens them again.
std::string single_quoted(const std::string& text, const std::string& specials = "") {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else if (specials.find(c) != std::string::npos)
      out += fmt::format("\\{}", c);
    else
      out += c;
  }
  return out + "'";
}

std::string bash_line(const Candidates& c) {
  std::string lists;
  if (!c.words.empty()) lists += fmt::format(" $(compgen -W '{}' -- \"$cur\")", joined(c.words));
  if (c.files) lists += " $(compgen -f -- \"$cur\")";
  if (c.folders) lists += " $(compgen -d -- \"$cur\")";
  return lists.empty() ? "" : "COMPREPLY=(" + lists.substr(1) + ")";
}

std::string bash_command(const Command& c, const CompletionWords& known) {
  std::string values, flags = "--help";
  for (const Flag& f : c.flags) {
    const std::vector<std::string> names = split_names(f.names);
    flags += " " + joined(names);
    if (f.value.empty()) continue;
    std::string pattern;
    for (const std::string& name : names) pattern += (pattern.empty() ? "" : "|") + name;
    const std::string line = bash_line(candidates(f.value, f.choices, known));
    values += fmt::format("        {}) {}{}return ;;\n", pattern, line, line.empty() ? "" : "; ");
  }
  Candidates places;
  for (const Positional& p : c.positionals) {
    const Candidates here = candidates(p.name, {}, known);
    places.words.insert(places.words.end(), here.words.begin(), here.words.end());
    places.files = places.files || here.files;
  }
  const std::string line = bash_line(places);
  return fmt::format(
      "    {})\n      case $before in\n{}      esac\n      if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W '{}' -- "
      "\"$cur\"))\n      else {}\n      fi ;;\n",
      c.name, values, flags, line.empty() ? ":" : line);
}

/// A description for brackets of _arguments, with special characters escaped.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(const Candidates& c) {
  const std::string words = c.words.empty() ? "" : "compadd -- " + joined(c.words);
  if (c.folders) return "_files -/";
  if (c.files) return words.empty() ? "_files" : "{" + words + "; _files}";
  return words.empty() ? " " : "{" + words + "}";
}

std::string zsh_command(const Command& c, const CompletionWords& known) {
  std::string out = fmt::format("    {})\n      _arguments -s {}", c.name, "'(-)--help[all flags in short]'");
  for (const Flag& f : c.flags) {
    const std::vector<std::string> names = split_names(f.names);
    const bool repeats = std::holds_alternative<std::vector<std::string>*>(f.target);
    for (const std::string& name : names) {
      std::string spec = repeats ? "*" : fmt::format("({})", joined(names));
      spec += name;
      if (!f.value.empty() && name.starts_with("--")) spec += "=";
      spec += "[" + zsh_text(help_of(f)) + "]";
      if (!f.value.empty()) spec += ":" + zsh_text(f.value) + ":" + zsh_action(candidates(f.value, f.choices, known));
      out += " \\\n        " + single_quoted(spec);
    }
  }
  for (std::size_t i = 0; i < c.positionals.size(); ++i) {
    const Positional& p = c.positionals[i];
    out += " \\\n        " + single_quoted(fmt::format("{}:{}{}:{}", p.more != nullptr ? "*" : std::to_string(i + 1),
                                                       p.required ? "" : ":", zsh_text(p.name),
                                                       zsh_action(candidates(p.name, {}, known))));
  }
  return out + " ;;\n";
}

std::string fish_place(const Candidates& c) {
  std::string out;
  if (!c.words.empty()) out += " -a " + single_quoted(joined(c.words));
  if (c.files) out += " -F";
  if (c.folders) out += " -a '(__fish_complete_directories)'";
  return out;
}

std::string fish_command(const Command& c, const CompletionWords& known) {
  const std::string seen = fmt::format("complete -c busbar -n '__fish_seen_subcommand_from {}'", c.name);
  std::string out =
      fmt::format("complete -c busbar -n __fish_use_subcommand -a {} -d {}\n", c.name, single_quoted(c.summary, "\\"));
  for (const Positional& p : c.positionals)
    if (const std::string place = fish_place(candidates(p.name, {}, known)); !place.empty()) out += seen + place + "\n";
  for (const Flag& f : c.flags) {
    out += seen;
    for (const std::string& name : split_names(f.names))
      out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (!f.value.empty()) {
      const Candidates values = candidates(f.value, f.choices, known);
      out += (values.files ? " -r" : " -x") + fish_place(values);
    }
    out += " -d " + single_quoted(help_of(f), "\\") + "\n";
  }
  return out;
}

}  // namespace

std::string bash_completion(const std::vector<Command>& commands, const CompletionWords& known) {
  std::string names, cases;
  for (const Command& c : commands) {
    names += " " + c.name;
    cases += bash_command(c, known);
  }
  return fmt::format(
      "# Completion of busbar for bash, written by 'busbar completion bash'.\n"
      "_busbar() {{\n"
      "  local cur=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  [[ $cur == '=' ]] && cur=\n"
      "  [[ $before == '=' ]] && before=${{COMP_WORDS[COMP_CWORD-2]}}\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then COMPREPLY=($(compgen -W '--help --version{}' -- \"$cur\")); return; fi\n"
      "  case ${{COMP_WORDS[1]}} in\n{}"
      "  esac\n}}\ncomplete -o filenames -F _busbar busbar\n",
      names, cases);
}

std::string zsh_completion(const std::vector<Command>& commands, const CompletionWords& known) {
  std::string names, cases;
  for (const Command& c : commands) {
    std::string name = c.name + ":" + c.summary;
    names += "    " + single_quoted(name) + "\n";
    cases += zsh_command(c, known);
  }
  return fmt::format(
      "#compdef busbar\n# Completion of busbar for zsh, written by 'busbar completion zsh'.\n"
      "_busbar() {{\n  local -a commands\n  commands=(\n{}  )\n"
      "  if (( CURRENT == 2 )); then\n    _describe -t commands 'busbar command' commands\n"
      "    [[ $PREFIX == -* ]] && compadd -- --help --version\n    return\n  fi\n"
      "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $command in\n{}  esac\n}}\n"
      "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _busbar \"$@\"; else compdef _busbar busbar; fi\n",
      names, cases);
}

std::string fish_completion(const std::vector<Command>& commands, const CompletionWords& known) {
  std::string out =
      "# Completion of busbar for fish, written by 'busbar completion fish'.\n"
      "complete -c busbar -f\n"
      "complete -c busbar -n __fish_use_subcommand -l version -d 'print the version'\n"
      "complete -c busbar -s h -l help -d 'all flags in short'\n";
  for (const Command& c : commands) out += fish_command(c, known);
  return out;
}

}  // namespace busbar
