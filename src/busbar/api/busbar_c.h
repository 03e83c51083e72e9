/* Busbar for C, and for every language that can call C.
 *
 *   char* answer = busbar_call("{\"question\": \"path\", \"cluster\": \"dgx-h100\", \"a\": \"gpu0\", \"b\":
 * \"gpu7\"}"); puts(answer); busbar_free(answer);
 *
 * A request is an object with the key "question" and the fields of the request (busbar_schema() lists them). An answer
 * is the object that the command prints with --json. An error is {"error": {"code", "message", "file", "line",
 * "column", "path", "text"}}, with text as the command prints it. Functions print nothing, end no process and may be
 * called from several threads at the same time; the callback of a call asks nothing. Text is UTF-8. NULL comes back
 * only where memory for an error is missing.
 */
#ifndef BUSBAR_BUSBAR_C_H
#define BUSBAR_BUSBAR_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BUSBAR_ABI_VERSION 1
#if defined(__GNUC__)
#define BUSBAR_EXPORT __attribute__((visibility("default")))
#else
#define BUSBAR_EXPORT
#endif

/** How one call is followed and ended. Zero all of it, then set what is wanted. */
typedef struct busbar_options {
  /** Called between parts of a long answer: `done` of `total` units `what` are finished. Not 0: end, with what is
   * known. */
  int (*progress)(void* user, const char* what, uint64_t done, uint64_t total);
  void* user;
  double time_limit_s; /**< the answer ends, with what is known or an error, about then; 0: no limit */
  int end_on_sigint;   /**< not 0: SIGINT ends the call, after the program's own handler of it. One call at a time. */
} busbar_options;

/** An answer that is kept, for parts of it. */
typedef struct busbar_answer busbar_answer;

BUSBAR_EXPORT int busbar_abi_version(void);
BUSBAR_EXPORT const char* busbar_version(void);

/** The answer, or the error, as JSON. To be freed. */
BUSBAR_EXPORT char* busbar_call(const char* request);
BUSBAR_EXPORT char* busbar_call_with(const char* request, const busbar_options* options);
BUSBAR_EXPORT void busbar_free(char* text);

/** The same, kept. Never NULL but for memory. `options` may be NULL. */
BUSBAR_EXPORT busbar_answer* busbar_ask(const char* request, const busbar_options* options);
BUSBAR_EXPORT void busbar_answer_free(busbar_answer* answer);
/** As of the command: 0 done, 1 a clean "no", 2 an error. */
BUSBAR_EXPORT int busbar_answer_status(const busbar_answer* answer);
/** Texts of an answer: as JSON, as the terminal shows it in `columns`, as a page. To be freed. An error has only JSON.
 */
BUSBAR_EXPORT char* busbar_answer_json(const busbar_answer* answer);
BUSBAR_EXPORT char* busbar_answer_text(const busbar_answer* answer, int columns);
BUSBAR_EXPORT char* busbar_answer_html(const busbar_answer* answer);
/** Numbers of a list: "results.time_us" is the field time_us of every entry of results; NaN where there is none. Writes
 *  the first `room` to `out` and returns how many there are; -1: the answer has no such list. */
BUSBAR_EXPORT int64_t busbar_answer_numbers(const busbar_answer* answer, const char* path, double* out, int64_t room);

/** JSON Schema of the request and the answer of a question, {"request", "answer"}; of NULL: the names of all questions.
 *  To be freed. */
BUSBAR_EXPORT char* busbar_schema(const char* question);

#ifdef __cplusplus
}
#endif

#endif
