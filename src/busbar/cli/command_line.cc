#include "busbar/cli/command_line.h"

#include <fmt/core.h>

#include <algorithm>
#include <thread>

#include "busbar/base/quantity.h"
#include "busbar/base/run_files.h"
#include "busbar/cli/commands.h"
#include "busbar/cli/long_run.h"
#include "busbar/cli/question_command.h"
#include "busbar/cli/streams.h"
#include "busbar/spec/catalog.h"

namespace busbar {
namespace {

/// Without this check, a folder that is no catalogue would silently give answers from other product data.
Status check_catalog(const Command& command) {
  for (const Flag& f : command.flags)
    if (f.names == "--catalog") BUSBAR_RETURN_IF_ERROR(Catalog(*std::get<std::string*>(f.target)).check());
  return {};
}

Result<int> run(const Command& command) {
  BUSBAR_RETURN_IF_ERROR(check_catalog(command));
  return command.run();
}

/// All commands, in the order of help: questions by their places, the other by the place stated here.
std::vector<Command> commands_of(const std::string& typed) {
  std::vector<std::pair<int, Command>> placed{{200, explore_command(typed)}};
  for (const questions::Question& q : questions::all_questions())
    placed.emplace_back(q.place, question_command(q, typed));
  std::stable_sort(placed.begin(), placed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Command> out;
  for (auto& [place, command] : placed) out.push_back(std::move(command));
  return out;
}

std::string without_last_breaks(const std::string& text) { return text.substr(0, text.find_last_not_of('\n') + 1); }

/// Adds messages for standard error.
class LineMessages {
 public:
  explicit LineMessages(std::string& out) : out_(out) {}
  void add(const std::string& line) {
    if (line == last_) return;
    last_ = line;
    out_ += (out_.empty() ? "" : "\n") + without_last_breaks(message_line(line));
  }

 private:
  std::string& out_;
  std::string last_;
};

Result<questions::Answer> checked_answer(const Command& command, const questions::Context& context) {
  BUSBAR_RETURN_IF_ERROR(check_catalog(command));
  return command.answer(context);
}

AskedLine ask_command(const Command& command, questions::Context context) {
  AskedLine out;
  LineMessages messages(out.message);
  context.notice = [&messages](const std::string& text) { messages.add(text); };
  Result<questions::Answer> answer = checked_answer(command, context);
  out.status = answer.ok() ? answer->status : status_of(answer.error());
  if (!answer.ok())
    messages.add(answer.error().text());
  else if (answer->refused)
    messages.add(answer->refused->text());
  if (answer.ok()) out.answer = std::move(*answer);
  return out;
}

/// Of a line that runs no command: what the parser says of it.
AskedLine refusal(const Parsed& parsed) {
  AskedLine out;
  out.status = parsed.status;
  if (parsed.status != 0) LineMessages(out.message).add(parsed.print);
  return out;
}

/// What "help --schema [COMMAND]" prints.
Result<std::string> schema_help(std::vector<std::string> words) {
  std::erase(words, "--schema");
  if (words.size() == 1) return Json(questions::question_names()).dump(2) + '\n';
  if (words.size() > 2) return invalid("names several commands; ask for one after another", {"", 0, 0, "--schema"});
  BUSBAR_ASSIGN(const questions::Question* const question, questions::question_named(words[1], {"", 0, 0, "--schema"}));
  return questions::schemas_of(*question).dump(2) + '\n';
}

bool asks_for_schema(const std::vector<std::string>& words) {
  return !words.empty() && words[0] == "help" && std::find(words.begin(), words.end(), "--schema") != words.end();
}

}  // namespace

AskedLine ask_line(const std::vector<std::string>& words, questions::Context context) {
  const RunFiles files;
  const std::vector<Command> commands = commands_of(typed_line(words));
  const Parsed parsed = parse_command_line(commands, words, "");
  if (parsed.command == nullptr) return refusal(parsed);
  if (parsed.command->answer) return ask_command(*parsed.command, std::move(context));
  return refusal({nullptr, fmt::format("'{}' runs only in a terminal; it has no answer", parsed.command->name), 2});
}

questions::LineAnswer answer_line(const std::vector<std::string>& words) {
  questions::LineAnswer out;
  std::thread([&] {
    questions::Context context;
    context.stop = LongRun::flag();
    AskedLine asked = ask_line(words, std::move(context));
    out = {asked.status, asked.answer ? asked.answer->json() : Json(), std::move(asked.message)};
  }).join();
  return out;
}

std::string typed_line(const std::vector<std::string>& args) {
  std::string line = "busbar";
  for (const std::string& word : args) {
    const bool plain = !word.empty() && word.find_first_of(" \t\n\"'\\$*?[]{}()<>|&;~#`!") == std::string::npos;
    line += ' ' + (plain ? word : "'" + word + "'");
  }
  return line;
}

int run_command_line(const std::vector<std::string>& args) {
  if (asks_for_schema(args)) {
    const Result<std::string> schema = schema_help(args);
    return schema.ok() ? print_out(*schema) : report_error(schema.error());
  }
  std::vector<Command> commands = commands_of(typed_line(args));
  const std::string version = "busbar " BUSBAR_VERSION;
  commands.push_back(man_command(commands, version));
  commands.push_back(completion_command(commands));
  const Parsed parsed = parse_command_line(commands, args, version);
  if (parsed.command) {
    show_when_late("'" + parsed.command->name + "' is at work");
    const Result<int> status = run(*parsed.command);
    if (status.ok()) return *status;
    if (LongRun::last_signal() == 0) return report_error(status.error());
    say("interrupted before there was a result");
    return 128 + LongRun::last_signal();
  }
  if (parsed.status == 0) return print_out(parsed.print);
  say(parsed.print);
  return parsed.status;
}

Status check_command(const std::string& name, const Where& where) {
  std::vector<std::string> known;
  for (const Command& c : commands_of("")) known.push_back(c.name);
  if (std::find(known.begin(), known.end(), name) != known.end()) return {};
  const std::string guess = nearest(name, known);
  return invalid(
      fmt::format("there is no command '{}'{}", name, guess.empty() ? "" : fmt::format("; did you mean '{}'?", guess)),
      where);
}

}  // namespace busbar
