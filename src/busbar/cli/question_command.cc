#include "busbar/cli/question_command.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>

#include "busbar/base/json.h"
#include "busbar/base/output.h"
#include "busbar/cli/json_rows.h"
#include "busbar/cli/long_run.h"
#include "busbar/cli/streams.h"
#include "busbar/lines/ask_line.h"
#include "busbar/lines/output_options.h"
#include "busbar/lines/question_line.h"
#include "busbar/report/plain.h"
#include "busbar/views/csv_rows.h"
#include "busbar/views/view.h"

namespace busbar::cli {
namespace {

Result<std::string> prompt_on_terminal(const std::string& text) {
  fmt::print(stderr, "{}", text);
  std::fflush(stderr);
  std::string line;
  if (!std::getline(std::cin, line)) return invalid("the answers ended before the last question");
  return line;
}

/// Prints a line on standard error, unless it is that of before.
std::function<void(const std::string&)> say_once() {
  return [said = std::string()](const std::string& text) mutable {
    if (text == said) return;
    said = text;
    say(text);
  };
}

/// A signal ends the program while an answer begins or cannot tell how far it is; once it counts, it keeps what it has.
class AnswerWatch {
 public:
  questions::Context context() {
    questions::Context out;
    out.stop = LongRun::flag();
    out.notice = say_once();
    lines::let_answer_lines(out);
    if (isatty(STDIN_FILENO) != 0) out.prompt = prompt_on_terminal;
    out.progress = [this](const Progress& p) { show(p); };
    return out;
  }
  /// Exit status of the command: `otherwise` unless a signal ended the answer early, which this says.
  int status(int otherwise) const {
    if (!run_) return otherwise;
    run_->report_interruption();
    return run_->status(otherwise);
  }

 private:
  void show(const Progress& p) {
    const bool counts = p.total != 0 || p.so_far;
    if (!counts && !run_) {
      task_.reset();
      task_.emplace(p.what);
      return;
    }
    task_.reset();
    if (!run_) shown_by_run_ = run_.emplace(p.what).context();
    shown_by_run_.progress(p);
  }

  std::optional<NamedTask> task_;
  std::optional<LongRun> run_;
  Context shown_by_run_;
};

/// The document, if one is needed.
report::Document document_of(const questions::Answer& answer, const lines::OutputOptions& output) {
  report::Document out;
  if (!output.for_programs() || !output.html.empty())
    out = views::view_of(answer, output.html.empty() ? views::Extent::kText : views::Extent::kPage);
  out.command = output.typed;
  if (!output.html.empty()) out.data = answer.json();
  return out;
}

/// Prints JSON, CSV or the terminal text on stdout.
Result<int> print_data(const questions::Answer& answer, const lines::OutputOptions& output,
                       const report::Document& document, int status) {
  if (!output.for_programs()) return print_out(report::render_text(document, text_options()), status);
  const Field* const rows = output.csv ? nullptr : answer.rows();
  Json data = rows == nullptr ? answer.json() : answer.json_without_rows();
  data["run"] = output.clock.to_json();
  if (!answer.run.is_null()) data["run"].update(answer.run);
  if (rows == nullptr) return print_out(output.csv ? views::csv_of(data) : data.dump(2) + "\n", status);
  end_progress();
  BUSBAR_RETURN_IF_ERROR(write_json(data, *rows, rows->at(answer.data)));
  return status;
}

/// And the page, if requested. Returns the exit status: `status`, or 2 if stdout could not be written.
Result<int> print_result(const questions::Answer& answer, const lines::OutputOptions& output, int status) {
  if (output.json && output.csv) return lines::flag_error("--csv", "excludes --json; use one of them");
  const report::Document document = document_of(answer, output);
  BUSBAR_ASSIGN(const int done, print_data(answer, output, document, status));
  if (output.html.empty()) return done;
  BUSBAR_RETURN_IF_ERROR(write_file(output.html, report::render_html(document)));
  if (output.for_programs()) return done;
  return print_out(fmt::format("\nreport: {}\n", report::escape_terminal(output.html, true)), done);
}

Result<int> print(const questions::Answer& answer, const lines::OutputOptions& output, int status) {
  BUSBAR_ASSIGN(const int done, print_result(answer, output, status));
  if (output.for_programs()) {
    if (answer.refused) report_error(*answer.refused);
    return done;
  }
  std::string more = views::text_after(answer, text_options().columns);
  if (!answer.last_words.empty()) more += report::escape_terminal(answer.last_words, true) + '\n';
  return more.empty() ? done : print_out(more, done);
}

Result<int> run(const lines::Command& command, const lines::OutputOptions& output) {
  AnswerWatch watch;
  const Result<questions::Answer> answer = command.answer(watch.context());
  if (!answer.ok()) return answer.error();
  if (answer->silent) return answer->status;
  const int status = watch.status(answer->status);
  if (answer->files != nullptr)
    for (const questions::OutputFile& f : *answer->files)
      if (f.path == "-") return print_out(f.text, status);
  BUSBAR_RETURN_IF_ERROR(views::write_files(*answer));
  return print(*answer, output, status);
}

}  // namespace

lines::Command question_command(const questions::Question& question, const std::string& typed) {
  const auto output = std::make_shared<lines::OutputOptions>();
  output->typed = typed;
  lines::Command c = lines::question_line(question, output);
  c.run = [output, line = c] { return run(line, *output); };
  return c;
}

}  // namespace busbar::cli
