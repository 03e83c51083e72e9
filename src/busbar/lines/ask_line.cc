#include "busbar/lines/ask_line.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <thread>

#include "busbar/base/quantity.h"
#include "busbar/base/run_files.h"
#include "busbar/lines/message.h"
#include "busbar/lines/question_line.h"
#include "busbar/spec/catalog.h"

namespace busbar::lines {
namespace {

/// The command that `words` name; if they name none, all.
std::vector<Command> commands_for(const std::vector<std::string>& words) {
  const questions::Question* const named = words.empty() ? nullptr : questions::find_question(words[0]);
  std::vector<Command> out;
  const auto add = [&](const questions::Question& q) {
    const auto output = std::make_shared<OutputOptions>();
    output->typed = typed_line(words);
    out.push_back(question_line(q, output));
  };
  if (named != nullptr)
    add(*named);
  else
    for (const questions::Question& q : questions::all_questions()) add(q);
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

questions::LineAnswer answer_line(const std::vector<std::string>& words, const volatile std::sig_atomic_t* stop) {
  questions::Context context;
  context.stop = stop;
  AskedLine asked = ask_line(words, std::move(context));
  return {asked.status, asked.answer ? asked.answer->json() : Json(), std::move(asked.message)};
}

/// On a thread of its own: that of the caller may have RunFiles. An exception becomes a message.
questions::LineAnswer answer_line_apart(const std::vector<std::string>& words, const volatile std::sig_atomic_t* stop) {
  questions::LineAnswer out;
  std::thread([&] {
    try {
      out = answer_line(words, stop);
    } catch (const std::exception& e) {
      out = {2, Json(), fmt::format("internal error: {}; please report the line", e.what())};
    }
  }).join();
  return out;
}

Status check_command(const std::string& name, const Where& where) {
  if (questions::find_question(name) != nullptr) return {};
  return no_command(name, questions::question_names(), where);
}

}  // namespace

Status check_catalog(const Command& command) {
  for (const Flag& f : command.flags)
    if (f.names == "--catalog") BUSBAR_RETURN_IF_ERROR(spec::Catalog(*std::get<std::string*>(f.target)).check());
  return {};
}

AskedLine ask_line(const std::vector<std::string>& words, questions::Context context) {
  const RunFiles files;
  const std::vector<Command> commands = commands_for(words);
  const Parsed parsed = parse_command_line(commands, words, "");
  return parsed.command == nullptr ? refusal(parsed) : ask_command(*parsed.command, std::move(context));
}

std::string typed_line(const std::vector<std::string>& args) {
  std::string line = "busbar";
  for (const std::string& word : args) {
    const bool plain = !word.empty() && word.find_first_of(" \t\n\"'\\$*?[]{}()<>|&;~#`!") == std::string::npos;
    line += ' ' + (plain ? word : "'" + word + "'");
  }
  return line;
}

void let_answer_lines(questions::Context& context) {
  context.answer_line = [stop = context.stop](const std::vector<std::string>& words) {
    return answer_line_apart(words, stop);
  };
  context.check_command = check_command;
}

}  // namespace busbar::lines
