#include "busbar/questions/finding.h"

namespace busbar::questions {

const Record& record_of(const Candidate*) {
  static const Record record(
      "candidate", {{"part", &Candidate::part, "", "a selector that --degrade takes"},
                    {"confidence", &Candidate::confidence, "", "that it is this one, 0 to 1"},
                    Field("against", &Candidate::against, "", "measurements that contradict it").or_absent()});
  return record;
}

const Record& record_of(const Evidence*) {
  static const Record record("evidence", {{"file", &Evidence::file, "", "where it was read"},
                                          {"line", &Evidence::line, "", "from 1; 0: not known"},
                                          {"text", &Evidence::text, "", "what was read"}});
  return record;
}

const Record& record_of(const Finding*) {
  static const Record record(
      "finding", {{"rule", &Finding::rule, "", "what kind of fault it is"},
                  {"severity", &Finding::severity, "", "fail, warn, note or unknown"},
                  {"part", &Finding::part, "", "a selector that --degrade takes; null: no part is named"},
                  {"candidates", &Finding::candidates, "", "parts that explain it, most likely first"},
                  {"evidence", &Finding::evidence, "", "what proves it"},
                  {"explanation", &Finding::explanation, "", "one sentence for people"},
                  {"fix", &Finding::fix, "", "what to do"},
                  Field("cost_percent", &Finding::cost_percent, "%", "how much time it costs").or_absent()});
  return record;
}

}  // namespace busbar::questions
