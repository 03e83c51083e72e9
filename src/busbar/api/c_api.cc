#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string>

#include "busbar/api/busbar_c.h"
#include "busbar/api/internal/interrupt_watch.h"
#include "busbar/api/internal/time_limit.h"
#include "busbar/base/check.h"
#include "busbar/base/run_files.h"
#include "busbar/formats/json_text.h"
#include "busbar/lines/ask_line.h"
#include "busbar/questions/question.h"
#include "busbar/report/document.h"
#include "busbar/views/view.h"

using busbar::Error;
using busbar::Json;
using busbar::Result;
using busbar::questions::Answer;

struct busbar_answer {
  Result<Answer> answer;
};

namespace busbar::api {
namespace {

char* copy(const std::string& text) {
  char* const out = static_cast<char*>(std::malloc(text.size() + 1));
  if (out != nullptr) std::memcpy(out, text.c_str(), text.size() + 1);
  return out;
}

const char* name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return "invalid";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kUnreachable:
      return "unreachable";
    case ErrorCode::kDoesNotFit:
      return "does_not_fit";
    case ErrorCode::kIo:
      break;
  }
  return "io";
}

Json to_json(const Error& e) {
  return {{"error",
           {{"code", name_of(e.code)},
            {"message", e.message},
            {"file", e.where.file},
            {"line", e.where.line},
            {"column", e.where.column},
            {"path", e.where.path},
            {"text", e.text()}}}};
}

Error unexpected(const char* what) {
  return Error{ErrorCode::kUnsupported, fmt::format("internal error: {}; please report the request", what), {}};
}

/// What `f` returns; an exception becomes an error.
template <typename F>
auto guarded(F f) -> decltype(f()) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kIo, "not enough memory; ask for fewer GPUs, sizes or flows", {}};
  } catch (const std::exception& e) {
    return unexpected(e.what());
  } catch (...) {
    return unexpected("an exception of an unknown type");
  }
}

/// A text for C; null if it cannot be made.
template <typename F>
char* text_or_null(F f) {
  const Result<std::string> text = guarded([&]() -> Result<std::string> { return f(); });
  return text.ok() ? copy(*text) : nullptr;
}

Result<Answer> ask(const char* request, const busbar_options* options) {
  let_checks_throw();
  if (request == nullptr) return invalid("the request is NULL");
  if (RunFiles::current() != nullptr) return invalid("a callback cannot ask; let it end its call, and ask then");
  const RunFiles files;
  BUSBAR_ASSIGN(Json json, formats::parse_json(request, "request"));
  if (!json.is_object()) return invalid("a request is an object, such as {\"question\": \"path\"}");
  const Json& name = std::as_const(json)["question"];
  if (!name.is_string()) return invalid("the key \"question\" is missing", {"", 0, 0, "question"});
  BUSBAR_ASSIGN(const questions::Question* const question,
                questions::question_named(name.text(), {"", 0, 0, "question"}));
  json.erase("question");
  TimeLimit limit(options == nullptr ? 0 : options->time_limit_s);
  const InterruptWatch interrupts(options != nullptr && options->end_on_sigint != 0 ? &limit : nullptr);
  questions::Context context;
  context.stop = limit.flag();
  lines::let_answer_lines(context);
  if (options != nullptr && options->progress != nullptr)
    context.progress = [&](const Progress& p) {
      if (options->progress(options->user, p.what.c_str(), p.done, p.total) != 0) limit.stop();
    };
  Result<Answer> answer = questions::ask(*question, json, context);
  if (!answer.ok() && *limit.flag() != 0)
    return Error{ErrorCode::kUnsupported, "ended by its caller before there was an answer", {}};
  if (answer.ok()) BUSBAR_RETURN_IF_ERROR(views::write_files(*answer));
  return answer;
}

Json json_of(const Result<Answer>& answer) { return answer.ok() ? answer->json() : to_json(answer.error()); }

}  // namespace
}  // namespace busbar::api

extern "C" {

int busbar_abi_version(void) { return BUSBAR_ABI_VERSION; }
const char* busbar_version(void) { return BUSBAR_VERSION; }
void busbar_free(char* text) { std::free(text); }

busbar_answer* busbar_ask(const char* request, const busbar_options* options) {
  Result<Answer> answer = busbar::api::guarded([&] { return busbar::api::ask(request, options); });
  return new (std::nothrow) busbar_answer{std::move(answer)};
}

void busbar_answer_free(busbar_answer* answer) { delete answer; }

int busbar_answer_status(const busbar_answer* a) {
  if (a->answer.ok()) return a->answer->status;
  return a->answer.error().code == busbar::ErrorCode::kDoesNotFit ? 1 : 2;
}

char* busbar_answer_json(const busbar_answer* a) {
  return busbar::api::text_or_null([&] { return busbar::api::json_of(a->answer).dump(); });
}

char* busbar_call(const char* request) { return busbar_call_with(request, nullptr); }

char* busbar_call_with(const char* request, const busbar_options* options) {
  busbar_answer* const answer = busbar_ask(request, options);
  if (answer == nullptr) return nullptr;
  char* const out = busbar_answer_json(answer);
  busbar_answer_free(answer);
  return out;
}

char* busbar_answer_text(const busbar_answer* a, int columns) {
  if (!a->answer.ok()) return nullptr;
  busbar::report::TextOptions options;
  options.columns = columns;
  options.utf8 = true;
  return busbar::api::text_or_null([&] {
    return busbar::report::render_text(busbar::views::view_of(*a->answer, busbar::views::Extent::kText), options) +
           busbar::views::text_after(*a->answer, options.columns);
  });
}

char* busbar_answer_html(const busbar_answer* a) {
  if (!a->answer.ok()) return nullptr;
  return busbar::api::text_or_null([&] { return busbar::report::render_html(busbar::views::view_of(*a->answer)); });
}

int64_t busbar_answer_numbers(const busbar_answer* a, const char* path, double* out, int64_t room) {
  if (!a->answer.ok()) return -1;
  const auto numbers = busbar::numbers_at(*a->answer->record, a->answer->data, path);
  if (!numbers) return -1;
  const auto count = static_cast<int64_t>(numbers->size());
  for (int64_t i = 0; i < std::min(room, count); ++i) out[i] = (*numbers)[static_cast<std::size_t>(i)];
  return count;
}

char* busbar_schema(const char* question) {
  using namespace busbar;
  if (question == nullptr) return api::copy(Json(questions::question_names()).dump());
  const Result<const questions::Question*> q = questions::question_named(question);
  return api::copy((q.ok() ? questions::schemas_of(**q) : api::to_json(q.error())).dump());
}

}  // extern "C"
