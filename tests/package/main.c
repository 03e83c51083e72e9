/* The path between two GPUs, asked in C. The library itself prints nothing, an error included. */
#include <stdio.h>
#include <string.h>

#include <busbar/busbar_c.h>

int main(void) {
  busbar_answer* const wrong = busbar_ask("{\"question\": \"path\", \"cluster\": \"no such machine\"}", NULL);
  busbar_answer* const path =
      busbar_ask("{\"question\": \"path\", \"cluster\": \"dgx-h100\", \"a\": \"gpu0\", \"b\": \"gpu7\"}", NULL);
  if (busbar_answer_status(wrong) != 2 || busbar_answer_status(path) != 0) return 1;
  double latency_ns = 0;
  char* const json = busbar_answer_json(path);
  if (busbar_answer_numbers(path, "latency_ns", &latency_ns, 1) != 1 || json == NULL) return 1;
  printf("%s, %g ns\n", strstr(json, "\"type\":\"NVL\"") != NULL ? "NVL" : json, latency_ns);
  busbar_free(json);
  busbar_answer_free(path);
  busbar_answer_free(wrong);
  return 0;
}
