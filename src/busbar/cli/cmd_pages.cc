#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "busbar/base/json.h"
#include "busbar/base/output.h"
#include "busbar/base/text.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/streams.h"
#include "busbar/lines/flags.h"
#include "busbar/spec/catalog.h"

namespace busbar::cli {
namespace {

constexpr const char* kEnvironment[][2] = {
    {"BUSBAR_CATALOG", "folder with product data that overrides the built-in data; --catalog overrides it"},
    {"COLUMNS", "width of text, at least 40; absent: the terminal's width, or 100 for a file or pipe"},
    {"NO_COLOR", "if set, no colour on a terminal; also if TERM is dumb"},
    {"LC_ALL, LC_CTYPE, LANG", "bars use block characters if the first of these that is set names UTF-8"}};
constexpr const char* kStatus[][2] = {{"0", "done"},
                                      {"1", "the answer is no: a fault found, does not fit, a target missed"},
                                      {"2", "error: wrong usage or input, or a file that cannot be read or written"},
                                      {"130, 143", "interrupted by Ctrl-C or SIGTERM; the results so far are printed"}};

/// Text for roff: without escapes and requests, and with hyphens that can be copied.
std::string roff(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool first = i == 0 || text[i - 1] == '\n';
    if (first && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '\'')
      out += "\\(aq";
    else
      out += c;
  }
  return out;
}

std::string title(const std::string& name, const std::string& version) {
  std::string capitals = name;
  std::transform(capitals.begin(), capitals.end(), capitals.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return fmt::format(".TH {} 1 \"\" \"{}\" \"Busbar\"\n", roff(capitals), roff(version));
}

bool repeats(const lines::Flag& f) { return std::holds_alternative<std::vector<std::string>*>(f.target); }

std::string option(const lines::Flag& f) {
  std::string out = ".TP\n";
  const std::vector<std::string> names = lines::split_names(f.names);
  for (std::size_t i = 0; i < names.size(); ++i) {
    out += (i > 0 ? ", " : "") + fmt::format("\\fB{}\\fR", roff(names[i]));
  }
  if (!f.value.empty()) out += fmt::format(" \\fI{}\\fR", roff(f.value));
  return out + "\n" + roff(lines::help_of(f)) + (repeats(f) ? "; may be given several times" : "") + "\n";
}

template <std::size_t N>
std::string definitions(const char* heading, const char* const (&rows)[N][2]) {
  std::string out = fmt::format(".SH {}\n", heading);
  for (const auto& row : rows) out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(row[0]), roff(row[1]));
  return out;
}

std::string trimmed_end(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string foreign_spelling(const questions::ForeignFlag& row) {
  return fmt::format("--{}{}", row.name, row.is_switch() ? "" : row.takes_any() ? " X" : " " + std::string(row.value));
}
std::string our_spelling(const questions::ForeignFlag& row) {
  return fmt::format("{} {}", row.ours, questions::our_value(row, "X"));
}

/// "`--set` *PATH=VALUE*", without characters that break a table cell.
std::string markdown_cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

/// busbar-NAME(1) as source for man. It contains no date, so the same table gives the same bytes.
std::string man_page(const lines::Command& c, const std::string& version) {
  std::string out = title("busbar-" + c.name, version);
  out += fmt::format(".SH NAME\n{} \\- {}\n", roff("busbar-" + c.name), roff(c.summary));
  out += fmt::format(".SH SYNOPSIS\n{}\n", roff(lines::usage_of(c)));
  if (!c.positionals.empty()) out += ".SH ARGUMENTS\n";
  for (const lines::Positional& p : c.positionals)
    out += fmt::format(".TP\n\\fI{}\\fR\n{}\n", roff(p.name), roff(p.help));
  out += ".SH OPTIONS\n.TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nall of this in short\n";
  for (const std::string& category : lines::categories_of(c)) {
    out += fmt::format(".SS {}\n", roff(category));
    for (const lines::Flag& f : c.flags)
      if (f.category == category) out += option(f);
  }
  const std::vector<const questions::ForeignFlag*> others = lines::foreign_flags_of(c);
  if (!others.empty()) out += ".SH FLAGS OF OTHER PROGRAMS\n";
  for (const questions::ForeignFlag* row : others)
    out += fmt::format(".TP\n\\fB{}\\fR\n{}: {}\n", roff(foreign_spelling(*row)), roff(std::string(row->program)),
                       roff(our_spelling(*row)));
  out += fmt::format(".SH EXAMPLES\n.nf\n{}\n.fi\n", roff(trimmed_end(c.examples)));
  out += definitions("ENVIRONMENT", kEnvironment) + definitions("EXIT STATUS", kStatus);
  return out + ".SH SEE ALSO\n.BR busbar (1)\n";
}

/// busbar(1): commands, environment, exit status.
std::string man_overview(const std::vector<lines::Command>& commands, const std::string& version) {
  std::string out = title("busbar", version);
  out += ".SH NAME\nbusbar \\- how fast GPUs of a machine can talk, what limits them, and what would change it\n";
  out += ".SH SYNOPSIS\n\\fBbusbar\\fR \\fICOMMAND\\fR [\\fIARGUMENT\\fR]... [\\fIOPTION\\fR]...\n";
  out +=
      ".SH DESCRIPTION\nModels the links a byte crosses in a machine of GPUs, runs collectives and whole training "
      "steps over them, and reports the parts of the time, the link that limits it and the accuracy of the answer. "
      "Needs no GPU, no privilege and no network.\n.PP\nRates are 1e9 bytes per second and direction. Sizes without "
      "unit are "
      "bytes; K, M and G are binary, as in nccl\\-tests.\n.SH COMMANDS\n";
  for (const lines::Command& c : commands) out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(c.name), roff(c.summary));
  out += definitions("ENVIRONMENT", kEnvironment) + definitions("EXIT STATUS", kStatus);
  out += ".SH SEE ALSO\n";
  for (std::size_t i = 0; i < commands.size(); ++i)
    out += fmt::format(".BR {} (1){}\n", roff("busbar-" + commands[i].name), i + 1 < commands.size() ? "," : "");
  return out;
}

/// The page of one command in Markdown, for the documentation site.
std::string markdown_page(const lines::Command& c) {
  std::string out = fmt::format("# busbar {}\n\n{}.\n\n```text\n{}\n```\n", c.name, c.summary, lines::usage_of(c));
  if (!c.positionals.empty()) out += "\n| argument | is |\n|---|---|\n";
  for (const lines::Positional& p : c.positionals) out += fmt::format("| `{}` | {} |\n", p.name, markdown_cell(p.help));
  for (const std::string& category : lines::categories_of(c)) {
    out += fmt::format("\n## {}\n\n| flag | does |\n|---|---|\n", category);
    for (const lines::Flag& f : c.flags) {
      if (f.category != category) continue;
      std::string names;
      for (const std::string& name : lines::split_names(f.names)) names += (names.empty() ? "`" : ", `") + name + "`";
      if (!f.value.empty()) names += " " + markdown_cell(f.value);
      out += fmt::format("| {} | {}{} |\n", names, markdown_cell(lines::help_of(f)),
                         repeats(f) ? "; several times too" : "");
    }
  }
  const std::vector<const questions::ForeignFlag*> others = lines::foreign_flags_of(c);
  if (!others.empty()) out += "\n## Flags of other programs\n\n| program | flag | means |\n|---|---|---|\n";
  for (const questions::ForeignFlag* row : others)
    out += fmt::format("| {} | `{}` | `{}` |\n", row->program, foreign_spelling(*row), our_spelling(*row));
  return out + fmt::format("\n## Examples\n\n```text\n{}\n```\n", trimmed_end(c.examples));
}

/// Names from the catalogue that are valid for CLUSTER and MODEL.
struct CompletionWords {
  std::vector<std::string> machines, models;
};

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

std::string bash_command(const lines::Command& c, const CompletionWords& known) {
  std::string values, flags = "--help";
  for (const lines::Flag& f : c.flags) {
    const std::vector<std::string> names = lines::split_names(f.names);
    flags += " " + joined(names);
    if (f.value.empty()) continue;
    std::string pattern;
    for (const std::string& name : names) pattern += (pattern.empty() ? "" : "|") + name;
    const std::string line = bash_line(candidates(f.value, f.choices, known));
    values += fmt::format("        {}) {}{}return ;;\n", pattern, line, line.empty() ? "" : "; ");
  }
  Candidates places;
  for (const lines::Positional& p : c.positionals) {
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

std::string zsh_command(const lines::Command& c, const CompletionWords& known) {
  std::string out = fmt::format("    {})\n      _arguments -s {}", c.name, "'(-)--help[all flags in short]'");
  for (const lines::Flag& f : c.flags) {
    const std::vector<std::string> names = lines::split_names(f.names);
    const bool repeats = std::holds_alternative<std::vector<std::string>*>(f.target);
    for (const std::string& name : names) {
      std::string spec = repeats ? "*" : fmt::format("({})", joined(names));
      spec += name;
      if (!f.value.empty() && name.starts_with("--")) spec += "=";
      spec += "[" + zsh_text(lines::help_of(f)) + "]";
      if (!f.value.empty()) spec += ":" + zsh_text(f.value) + ":" + zsh_action(candidates(f.value, f.choices, known));
      out += " \\\n        " + single_quoted(spec);
    }
  }
  for (std::size_t i = 0; i < c.positionals.size(); ++i) {
    const lines::Positional& p = c.positionals[i];
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

std::string fish_command(const lines::Command& c, const CompletionWords& known) {
  const std::string seen = fmt::format("complete -c busbar -n '__fish_seen_subcommand_from {}'", c.name);
  std::string out =
      fmt::format("complete -c busbar -n __fish_use_subcommand -a {} -d {}\n", c.name, single_quoted(c.summary, "\\"));
  for (const lines::Positional& p : c.positionals)
    if (const std::string place = fish_place(candidates(p.name, {}, known)); !place.empty()) out += seen + place + "\n";
  for (const lines::Flag& f : c.flags) {
    out += seen;
    for (const std::string& name : lines::split_names(f.names))
      out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (!f.value.empty()) {
      const Candidates values = candidates(f.value, f.choices, known);
      out += (values.files ? " -r" : " -x") + fish_place(values);
    }
    out += " -d " + single_quoted(lines::help_of(f), "\\") + "\n";
  }
  return out;
}

std::string bash_completion(const std::vector<lines::Command>& commands, const CompletionWords& known) {
  std::string names, cases;
  for (const lines::Command& c : commands) {
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

std::string zsh_completion(const std::vector<lines::Command>& commands, const CompletionWords& known) {
  std::string names, cases;
  for (const lines::Command& c : commands) {
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

std::string fish_completion(const std::vector<lines::Command>& commands, const CompletionWords& known) {
  std::string out =
      "# Completion of busbar for fish, written by 'busbar completion fish'.\n"
      "complete -c busbar -f\n"
      "complete -c busbar -n __fish_use_subcommand -l version -d 'print the version'\n"
      "complete -c busbar -s h -l help -d 'all flags in short'\n";
  for (const lines::Command& c : commands) out += fish_command(c, known);
  return out;
}

struct PagesFlags {
  std::string subject, write;
  bool markdown = false, json = false;
};

Status write_text(const std::filesystem::path& path, const std::string& text) {
  std::error_code failed;
  std::filesystem::create_directories(path.parent_path(), failed);
  if (failed)
    return Error{ErrorCode::kIo, "cannot be created: " + failed.message(), {path.parent_path().string(), 0, 0, ""}};
  return write_file(path.string(), text);
}

int print(const PagesFlags& o, Json data, const std::string& text) {
  data["text"] = text;
  return print_out(o.json ? data.dump(2) + "\n" : text);
}

const lines::Command* find_command(const std::vector<lines::Command>& commands, const std::string& name) {
  for (const lines::Command& c : commands)
    if (c.name == name) return &c;
  return nullptr;
}

Result<int> run_man(const PagesFlags& o, const std::vector<lines::Command>& commands, const std::string& version) {
  const auto page = [&](const lines::Command& c) { return o.markdown ? markdown_page(c) : man_page(c, version); };
  if (!o.write.empty()) {
    const std::filesystem::path folder(o.write);
    if (!o.markdown) BUSBAR_RETURN_IF_ERROR(write_text(folder / "busbar.1", man_overview(commands, version)));
    for (const lines::Command& c : commands) {
      const std::string name = o.markdown ? c.name + ".md" : "busbar-" + c.name + ".1";
      BUSBAR_RETURN_IF_ERROR(write_text(folder / name, page(c)));
    }
    return 0;
  }
  if (o.subject.empty() && o.markdown)
    return lines::flag_error("--markdown", "name a command, or use --write DIR for all");
  const Json data{{"schema", "busbar.man/1"}, {"page", o.subject.empty() ? "busbar" : "busbar-" + o.subject}};
  if (o.subject.empty()) return print(o, data, man_overview(commands, version));
  if (const lines::Command* c = find_command(commands, o.subject)) return print(o, data, page(*c));
  std::vector<std::string> names;
  for (const lines::Command& c : commands) names.push_back(c.name);
  return Error{
      ErrorCode::kNotFound,
      fmt::format("there is no command '{}'; {}", o.subject, suggestion(o.subject, names, "busbar --help lists them")),
      {}};
}

Result<int> run_completion(const PagesFlags& o, const std::vector<lines::Command>& commands) {
  const spec::Catalog catalog;
  CompletionWords words{catalog.names("nodes"), catalog.names("models")};
  for (spec::CatalogAlias& a : catalog.aliases("nodes")) words.machines.push_back(std::move(a.alias));
  const std::pair<const char*, std::string> shells[] = {{"bash", "bash-completion/completions/busbar"},
                                                        {"zsh", "zsh/site-functions/_busbar"},
                                                        {"fish", "fish/vendor_completions.d/busbar.fish"}};
  const auto script = [&](std::string_view shell) {
    if (shell == "bash") return bash_completion(commands, words);
    return shell == "zsh" ? zsh_completion(commands, words) : fish_completion(commands, words);
  };
  for (const auto& [shell, place] : shells) {
    if (!o.write.empty()) {
      BUSBAR_RETURN_IF_ERROR(write_text(std::filesystem::path(o.write) / place, script(shell)));
    } else if (o.subject == shell) {
      return print(o, {{"schema", "busbar.completion/1"}, {"shell", shell}}, script(shell));
    }
  }
  if (!o.write.empty()) return 0;
  return invalid(o.subject.empty() ? "name a shell: bash, zsh or fish"
                                   : fmt::format("'{}' is not a known shell; use bash, zsh or fish", o.subject));
}

}  // namespace

lines::Command man_command(const std::vector<lines::Command>& commands, const std::string& version) {
  const auto o = std::make_shared<PagesFlags>();
  lines::Command c;
  c.name = "man";
  c.summary = "print the manual page of one command or of all";
  c.examples = "  busbar man train | man -l -\n  busbar man --write ~/.local/share/man/man1\n";
  c.positionals = {{"COMMAND", "the command; absent: the overview", &o->subject, false}};
  c.flags = {{"--write", "DIR", "write all pages to this folder", "Output", &o->write},
             {"--markdown", "", "Markdown instead of roff", "Output", &o->markdown},
             {"--json", "", "one JSON object on stdout instead of text", "Output", &o->json}};
  c.run = [o, &commands, version] { return run_man(*o, commands, version); };
  return c;
}

lines::Command completion_command(const std::vector<lines::Command>& commands) {
  const auto o = std::make_shared<PagesFlags>();
  lines::Command c;
  c.name = "completion";
  c.summary = "print the completion script for bash, zsh or fish";
  c.examples =
      "  source <(busbar completion bash)\n"
      "  busbar completion zsh > ~/.zfunc/_busbar\n"
      "  busbar completion fish > ~/.config/fish/completions/busbar.fish\n";
  c.positionals = {{"SHELL", "bash, zsh or fish", &o->subject, false}};
  c.flags = {{"--write", "DIR", "write all three below DIR (such as /usr/share), where packages install them", "Output",
              &o->write},
             {"--json", "", "one JSON object on stdout instead of text", "Output", &o->json}};
  c.run = [o, &commands] { return run_completion(*o, commands); };
  return c;
}

}  // namespace busbar::cli
