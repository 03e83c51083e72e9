// The fields of requests about measured results, and of their results.
#include <utility>

#include "busbar/questions/expect_question.h"
#include "busbar/questions/machine_request.h"
#include "busbar/questions/predict_request.h"

namespace busbar::questions {

namespace {

std::vector<Field> fields_of_measured() {
  using Q = MeasuredRequest;
  Field results = Field("results", &Q::results, "",
                        "output of nccl-tests, or a CSV with size_bytes and time_us; or a folder or an archive of them")
                      .takes("RESULTS")
                      .as_word();
  return joined({{std::move(results), cluster_field(&Q::cluster, false),
                  Field("collective", &Q::collective, "", "the measured collective (default: as in the file)")
                      .takes("OP")
                      .of("Machine"),
                  Field("gpus", &Q::gpus, "", "number of GPUs in the measurement, the first N (default all)")
                      .spelled("-g,--gpus")
                      .takes("N")
                      .of("Machine"),
                  Field("ranks", &Q::ranks, "", "instead of -g: the GPUs in the measurement, such as 0,1,8,9 or 0:32:8")
                      .takes("LIST")
                      .of("Machine")},
                 predict_fields(&Q::predict, "as in the file, or the machine's own"),
                 {engine_field(&Q::engine, Engines::kFluids)},
                 fields_inside(&Q::machine)});
}

}  // namespace

const Record& record_of(const MeasuredRequest*) {
  static const Record record("measured request", fields_of_measured());
  return record;
}

namespace {

/// Results are missing where thresholds are asked for. A comparison with other results predicts nothing.
std::vector<Field> useless_with_baseline(std::vector<Field> fields) {
  fields.front().required = false;
  for (Field& f : fields)
    if (f.category == "NCCL" || f.name == "shortcuts_off" || (f.category == "Machine" && f.name != "catalog"))
      f.useless_with.emplace_back("baseline");
  return fields;
}

Field of_rows(Field f, const char* value) { return std::move(f).of("Rows").takes(value); }

}  // namespace

const Record& record_of(const ExpectRequest*) {
  using Q = ExpectRequest;
  static const Record record(
      "expect request",
      joined({useless_with_baseline(fields_inside(&Q::measured)),
              {of_rows({"thresholds", &Q::thresholds, "",
                        "print the least acceptable bandwidth by collective and size, instead of results"},
                       ""),
               of_rows(Field("min_bytes", &Q::min_bytes, "", "smallest size (default 1M)")
                           .spelled("-b,--minbytes")
                           .with("thresholds"),
                       "SIZE"),
               of_rows(Field("max_bytes", &Q::max_bytes, "", "largest size (default 16G)")
                           .spelled("-e,--maxbytes")
                           .with("thresholds"),
                       "SIZE"),
               of_rows(Field("step_factor", &Q::step_factor, "", "factor between sizes (default 4)")
                           .spelled("-f,--stepfactor")
                           .with("thresholds"),
                       "F"),
               of_rows({"baseline", &Q::baseline, "", "compare with other results instead of a machine"}, "OLD"),
               of_rows(Field("tolerance", &Q::tolerance, "%", "ignore smaller changes (default 5)").with("baseline"),
                       "PERCENT")}}));
  return record;
}

const Record& record_of(const ExpectRow*) {
  using R = ExpectRow;
  static const Record record("row",
                             {{"size_bytes", &R::size_bytes, "bytes", "as nccl-tests counts"},
                              {"measured_us", &R::measured_us, "us", "the median if a size occurs several times"},
                              {"expected_us", &R::expected_us, "us", "the prediction"},
                              {"low_us", &R::low_us, "us", "the lower end of its band"},
                              {"high_us", &R::high_us, "us", "the upper end of its band"},
                              {"verdict", &R::verdict, "", "good, low, fast or suspicious"},
                              {"how", &R::how, "", "algorithm and protocol"},
                              {"bound_by", &R::bound_by, "", "what limits the prediction"}});
  return record;
}

const Record& record_of(const Plateau*) {
  static const Record record("plateau",
                             {{"from_bytes", &Plateau::from_bytes, "bytes", "smallest size of the plateau"},
                              {"slower_percent", &Plateau::slower_percent, "%", "median time above the expected one"},
                              {"threshold_percent", &Plateau::threshold_percent, "%", "from which a table is low"}});
  return record;
}

const Record& record_of(const ExpectFile*) {
  static const Record record("file", {{"file", &ExpectFile::file, "", "its name"},
                                      {"what", &ExpectFile::what, "", "what it is"},
                                      {"has_results", &ExpectFile::has_results, "", "whether it counts"}});
  return record;
}

const Record& record_of(const ExpectResult*) {
  using R = ExpectResult;
  static const Record record(
      "expect", joined({{{"cluster", &R::cluster, "", "the machine as named, or as proposed"},
                         {"collective", &R::collective, "", "all_reduce, ..."},
                         {"engine", &R::engine, "", "analytic or flow"},
                         {"gpus", &R::gpus, "", "ranks"},
                         {"rows", &R::rows, "", "one per size"},
                         {"verdict", &R::verdict, "", "of the table: good, low or suspicious"},
                         {"why", &R::why, "", "in words"},
                         {"plateau", &R::plateau, "", "the large sizes, which decide"},
                         {"cluster_proposed", &R::cluster_proposed, "", "the machine is taken from the file"}},
                        fields_inside(&R::faults),
                        fields_inside(&R::policy),
                        {{"unread", &R::unread, "", "lines that were not read"},
                         {"assumed", &R::assumed, "", "what the file does not say, such as units"},
                         Field("files", &R::read_files, "", "of a folder or an archive").or_absent(),
                         {"complete", &R::complete, "", "all sizes are there"},
                         {"inputs_hash", &R::inputs_hash, "", "of everything that the result depends on"}}}));
  return record;
}

const Record& record_of(const ThresholdRow*) {
  using R = ThresholdRow;
  static const Record record(
      "row", {{"collective", &R::collective, "", "all_reduce, ..."},
              {"size_bytes", &R::size_bytes, "bytes", "as nccl-tests counts"},
              {"least_busbw_GBps", &R::least_busbw_GBps, "GB/s", "what 95 of 100 healthy machines reach"},
              {"expected_busbw_GBps", &R::expected_busbw_GBps, "GB/s", "the prediction"},
              {"most_busbw_GBps", &R::most_busbw_GBps, "GB/s", "more is not credible"},
              {"expected_us", &R::expected_us, "us", "the prediction"},
              {"low_us", &R::low_us, "us", "less is not credible"},
              {"high_us", &R::high_us, "us", "more is too slow"},
              {"band_percent", &R::band_percent, "%", "of the time: low, high"},
              {"band_basis", &R::band_basis, "", "what the band was measured on"},
              {"how", &R::how, "", "algorithm and protocol"},
              {"bound_by", &R::bound_by, "", "what limits the prediction"}});
  return record;
}

const Record& record_of(const ThresholdsResult*) {
  using R = ThresholdsResult;
  static const Record record("thresholds",
                             joined({{{"cluster", &R::cluster, "", "the machine as named"},
                                      {"engine", &R::engine, "", "analytic or flow"},
                                      {"gpus", &R::gpus, "", "ranks"},
                                      {"rows", &R::rows, "", "by collective, then size"}},
                                     fields_inside(&R::policy),
                                     {{"inputs_hash", &R::inputs_hash, "", "of everything that the result depends on"},
                                      {"complete", &R::complete, "", "all rows are there"}}}));
  return record;
}

const Record& record_of(const BaselineRow*) {
  using R = BaselineRow;
  static const Record record("row", {{"size_bytes", &R::size_bytes, "bytes", "as nccl-tests counts"},
                                     {"measured_us", &R::measured_us, "us", "now"},
                                     {"baseline_us", &R::baseline_us, "us", "before"},
                                     {"change_percent", &R::change_percent, "%", "above 0: slower"},
                                     {"verdict", &R::verdict, "", "good, low or suspicious"}});
  return record;
}

const Record& record_of(const BaselineResult*) {
  using R = BaselineResult;
  static const Record record("baseline", {{"baseline", &R::baseline, "", "the earlier results"},
                                          {"tolerance_percent", &R::tolerance_percent, "%", "smaller changes are none"},
                                          {"rows", &R::rows, "", "sizes in both"},
                                          {"verdict", &R::verdict, "", "low if a size is slower; else good"}});
  return record;
}

}  // namespace busbar::questions
