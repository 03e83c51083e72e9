#include "busbar/doctor/internal/assignment.h"

#include <algorithm>
#include <array>
#include <string>

#include "busbar/formats/lines.h"

namespace busbar::doctor {
namespace {

/// "A=1", perhaps in quotes, a list or both.
bool assigns(std::string_view word) {
  const std::size_t begin = word.find_first_not_of("\"'[");
  if (begin == word.npos) return false;
  const std::size_t sign = word.find('=', begin);
  constexpr std::string_view kName = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
  return sign != word.npos && sign > begin &&
         word.substr(begin, sign - begin).find_first_not_of(kName) == std::string_view::npos;
}

/// "root@n1:~#", "user@n1:/x$", "dir]$".
bool is_prompt(std::string_view word) {
  if (word.size() < 2 || (word.back() != '$' && word.back() != '#')) return false;
  return word.find('@') != word.npos || std::string_view("~])/>").find(word[word.size() - 2]) != std::string_view::npos;
}

bool ends_command(std::string_view word) {
  constexpr std::array<std::string_view, 8> kSigns{"$", "%", "+", "&&", "||", "|", "then", "time"};
  return std::find(kSigns.begin(), kSigns.end(), word) != kSigns.end() || word.ends_with(';') || is_prompt(word);
}

bool sets_next_word(std::string_view word) {
  constexpr std::array<std::string_view, 9> kCommands{"export", "env",  "set",  "declare",    "ENV",
                                                      "setenv", "sudo", "exec", "Environment"};
  return std::find(kCommands.begin(), kCommands.end(), word) != kCommands.end();
}

/// Whether a command, or a word of one that sets variables, may begin after `before`.
bool begins_after(std::string_view before) {
  before = formats::trimmed(before);
  if (before.empty()) return true;
  const std::size_t begin = before.find_last_of(" \t") + 1;  // npos + 1 is 0
  const std::string_view word = before.substr(begin), rest = before.substr(0, begin);
  if (word.starts_with('-') || ends_command(word)) return true;
  if (word.starts_with('[') || word.starts_with('{')) return assigns(word) || word.size() == 1;
  return (sets_next_word(word) || assigns(word)) && begins_after(rest);
}

/// A row of ps: user, process, and a parent or a share of the processor. It may be of any job.
bool is_process_row(std::string_view line) {
  formats::LineCursor c(line);
  double number = 0;
  c.blanks();
  c.word();
  for (int i = 0; i < 2; ++i) {
    c.blanks();
    formats::LineCursor word(c.word());
    if (!word.number(number) || !word.at_end()) return false;
  }
  return true;
}

/// "fixes it for me": no program has the name of these words.
bool goes_on_as_sentence(std::string_view after) {
  constexpr std::array<std::string_view, 36> kWords{
      "is", "was",  "are",   "does", "did",   "do",    "has",    "had",    "and",   "or",     "but",    "to",
      "in", "on",   "for",   "with", "if",    "when",  "which",  "should", "may",   "can",    "will",   "would",
      "it", "also", "makes", "made", "fixes", "fixed", "solves", "solved", "works", "worked", "causes", "helps"};
  formats::LineCursor c(after);
  for (c.blanks(); !c.at_end(); c.blanks()) {
    const std::string_view word = c.word();
    if (!assigns(word)) return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
  }
  return false;
}

/// A file of hosts, or a list of more than one.
bool names_hosts(std::string_view command) {
  if (command.find("hostfile ") != command.npos || command.find("machinefile ") != command.npos) return true;
  for (const std::string_view flag : {" -H ", " -host ", " --host "})
    if (const std::size_t list = command.find(flag); list != command.npos) {
      const std::string_view rest = command.substr(list + flag.size());
      return rest.substr(0, rest.find(' ')).find(',') != std::string_view::npos;
    }
  return false;
}

}  // namespace

bool is_assignment(std::string_view line, std::size_t at) {
  if (is_process_row(line) || goes_on_as_sentence(line.substr(at))) return false;
  std::string_view before = line.substr(0, at);
  if (before.ends_with('"') || before.ends_with('\'')) before.remove_suffix(1);
  if (before.empty()) return true;
  if (before.ends_with('[')) return true;
  if (before.ends_with(',') || before.ends_with('=')) {  // --export=ALL,NAME=1, Environment="NAME=1"
    const std::string_view word = before.substr(before.find_last_of(" \t") + 1);
    return word.starts_with('-') || (before.size() == word.size() && before.ends_with('='));
  }
  const char last = before.back();
  return (last == ' ' || last == '\t') && begins_after(before);
}

bool stays_on_host(std::string_view line, std::size_t at) {
  const std::size_t run = line.find(" mpirun ", at);
  if (run == line.npos || !is_assignment(line, at)) return false;
  const std::string_view command = line.substr(run);
  const std::string name(line.substr(at, line.find('=', at) - at));
  return names_hosts(command) && command.find("-x " + name) == command.npos;
}

}  // namespace busbar::doctor
