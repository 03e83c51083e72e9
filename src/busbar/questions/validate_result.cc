// The fields of a result of `validate`.
#include "busbar/questions/validate_question.h"

namespace busbar::accuracy {

const Record& record_of(const ErrorSummary*) {
  using E = ErrorSummary;
  static const Record record("errors",
                             {{"configurations", &E::configurations, "", "each counts as the median of its rows"},
                              {"rows", &E::rows, "", "of these configurations"},
                              {"median_percent", &E::median_percent, "%", "above 0: predictions are too long"},
                              {"median_abs_percent", &E::median_abs_percent, "%", "without sign"},
                              {"mean_abs_percent", &E::mean_abs_percent, "%", "without sign"},
                              {"p90_abs_percent", &E::p90_abs_percent, "%", "9 of 10 are at most this far off"},
                              {"max_abs_percent", &E::max_abs_percent, "%", "the farthest"}});
  return record;
}

const Record& record_of(const BandSummary*) {
  using B = BandSummary;
  static const Record record(
      "bands",
      {{"configurations", &B::configurations, "", "with a predicted band"},
       {"rows", &B::rows, "", "of these configurations"},
       {"coverage_percent", &B::coverage_percent, "%", "measured inside the band"},
       {"held_percent", &B::held_percent, "%", "inside when each source in turn is left out of fits and bands"},
       {"median_width_percent", &B::median_width_percent, "%", "from lower to upper end, of the prediction"},
       {"p90_percent", &B::p90_percent, "%", "of |measured / predicted - 1|"}});
  return record;
}

const Record& record_of(const TwinSpread*) {
  static const Record record("twins", {{"pairs", &TwinSpread::pairs, "", "of equal configurations"},
                                       {"median_percent", &TwinSpread::median_percent, "%", "slower / faster - 1"}});
  return record;
}

const Record& record_of(const OwnTableLine*) {
  using L = OwnTableLine;
  static const Record record(
      "own table", {{"left_out", &L::left_out, "", "what was predicted from the machine's other tables"},
                    {"sizes", &L::sizes, "", "of the predicted calls"},
                    {"before_percent", &L::before_percent, "%", "median |error| without own tables"},
                    {"after_percent", &L::after_percent, "%", "with the machine's other tables"},
                    {"own_percent", &L::own_percent, "%", "with its own table, a quarter of which is left out in turn"},
                    {"moved_percent", &L::moved_percent, "%", "pairs whose error changes by more than 0.1 points"},
                    {"worse_percent", &L::worse_percent, "%", "pairs whose error grows by more than 2 points"},
                    {"in_band_percent", &L::in_band_percent, "%", "measured times inside the band afterwards"},
                    {"pairs", &L::pairs, "", "of machine and operation"},
                    {"machines", &L::machines, "", "that they are of"}});
  return record;
}

}  // namespace busbar::accuracy

namespace busbar::questions {

const Record& record_of(const OwnTablesResult*) {
  using R = OwnTablesResult;
  static const Record record(
      "own tables", {{"lines", &R::lines, "", "by what is left out, and size"},
                     {"carry_over_as_learnt", &R::carry_over_as_learnt, "",
                      "whether these rows give the same choice of how far measurements carry over as is in use"}});
  return record;
}

const Record& record_of(const ValidatedRow*) {
  using R = ValidatedRow;
  static const Record record(
      "row",
      {Field("source_id", &R::source_id, "", "the row's source in the table").or_absent(),
       Field("row_id", &R::row_id, "", "the row's number in the table").or_absent(),
       {"size_bytes", &R::size_bytes, "bytes", "null: the row has no size"},
       {"predicted", &R::predicted, "", "in unit"},
       {"measured", &R::measured, "", "in unit"},
       {"error_percent", &R::error_percent, "%", "predicted / measured - 1"},
       {"unit", &R::unit, "", "us, s, GB/s, ..."},
       {"node", &R::node, "", "the board"},
       {"gpu", &R::gpu, "", "its name in the catalogue"},
       {"several_nodes", &R::several_nodes, "", "ranks are in more than one node"},
       {"fabric", &R::fabric, "", "between nodes"},
       {"kind", &R::kind, "", "the collective, the path, or the framework"},
       {"scored", &R::scored, "", "it counts in the summary"},
       {"how", &R::how, "", "the predicted variant"},
       {"bound_by", &R::bound_by, "", "in words"},
       {"memory_share", &R::memory_share, "", "predicted peak memory, of the GPU's"},
       {"library", &R::library, "", "whose rules chose"},
       Field("kernels", &R::kernels, "", "where other kernels may have run").or_absent(),
       Field("command", &R::command, "", "that gives the same prediction").or_absent(),
       Field("joined", &R::joined, "", "links between the GPUs: switch, mesh or pcie").or_absent(),
       Field("p2p", &R::p2p, "", "GPUs reach each other's memory").or_absent(),
       Field("model", &R::model, "", "that is trained").or_absent(),
       Field("layers", &R::layers, "", "dense or experts").or_absent(),
       Field("band_percent", &R::band_percent, "%", "ends of the predicted band").or_absent(),
       Field("band_class", &R::band_class, "", "of training steps, by which bands are judged").or_absent(),
       Field("without_source", &R::without_source, "", "predicted if its source were in no fit, in unit").or_absent()});
  return record;
}

const Record& record_of(const RightOrder*) {
  static const Record record("order", {{"pairs", &RightOrder::pairs, "", "measured more than 15 % apart"},
                                       {"right", &RightOrder::right, "", "predicted in the right order"},
                                       {"right_percent", &RightOrder::right_percent, "%", "of all pairs"}});
  return record;
}

const Record& record_of(const FoundFastest*) {
  static const Record record(
      "sweeps", {{"sweeps", &FoundFastest::sweeps, "", "with three or more layouts of one job"},
                 {"found", &FoundFastest::found, "", "whose layout predicted fastest is measured within 5 %"},
                 {"found_percent", &FoundFastest::found_percent, "%", "of all sweeps"}});
  return record;
}

const Record& record_of(const TiesOfJobs*) {
  using T = TiesOfJobs;
  static const Record record(
      "ties", {{"jobs", &T::jobs, "", "with two or more layouts"},
               {"sources", &T::sources, "", "of these jobs"},
               {"percent", &T::percent, "%", "slower than the best prediction, that a tie holds"},
               {"held_percent", &T::held_percent, "%", "of jobs of a source left out: named, or tied, within 3 %"},
               {"tied", &T::tied, "", "median of the layouts in a tie"}});
  return record;
}

const Record& record_of(const LayoutRatios*) {
  static const Record record("layouts",
                             {{"jobs", &LayoutRatios::jobs, "", "that count equally"},
                              {"pairs", &LayoutRatios::pairs, "", "of layouts of one job"},
                              {"p90_percent", &LayoutRatios::p90_percent, "%", "of measured over predicted ratios"}});
  return record;
}

const Record& record_of(const AfterOneStep*) {
  using A = AfterOneStep;
  static const Record record(
      "after_one_step",
      {{"jobs", &A::jobs, "", "that count equally"},
       {"pairs", &A::pairs, "", "of a measured layout and another one of the job"},
       {"before_percent", &A::before_percent, "%", "mean error of the other layout, its source left out"},
       {"after_percent", &A::after_percent, "%", "the same, kernels fitted to the first"},
       {"p90_percent", &A::p90_percent, "%", "nine tenths are below, fitted"}});
  return record;
}

const Record& record_of(const ErrorsOfTable*) {
  using E = ErrorsOfTable;
  static const Record record(
      "summary", {{"by_band", &E::by_band, "", "errors by size"},
                  {"bands", &E::bands, "", "predicted bands by size, of steps by layers and links"},
                  {"twins", &E::twins, "", "spread between equal configurations by size"},
                  {"by_node", &E::by_node, "", "errors by board"},
                  {"by_fabric", &E::by_fabric, "", "errors by fabric"},
                  {"by_kind", &E::by_kind, "", "errors by kind"},
                  {"by_layers", &E::by_layers, "", "errors of dense models and of models with experts"},
                  {"by_model", &E::by_model, "", "errors by model"},
                  {"by_node_and_band", &E::by_node_and_band, "", "errors by board, then by size"},
                  {"order", &E::order, "", "which of two is faster"},
                  {"sweeps", &E::sweeps, "", "which layout of many is fastest"},
                  {"layouts", &E::layouts, "", "by how much layouts differ"},
                  {"after_one_step", &E::after_one_step, "", "with --leave-out: other layouts, after one was measured"},
                  {"ties", &E::ties, "", "how near the best prediction the fastest layout is"}});
  return record;
}

const Record& record_of(const FarthestRow*) {
  static const Record record(
      "worst", {{"configuration", &FarthestRow::configuration, "", "rows of one configuration count as their median"},
                {"band", &FarthestRow::band, "", "of sizes"},
                {"error_percent", &FarthestRow::error_percent, "%", "predicted / measured - 1"},
                {"how", &FarthestRow::how, "", "the predicted variant"},
                {"bound_by", &FarthestRow::bound_by, "", "in words"}});
  return record;
}

const Record& record_of(const ModelLeftOut*) {
  static const Record record("model", {{"model", &ModelLeftOut::model, "", "its name"},
                                       {"with", &ModelLeftOut::with, "", "with the catalogue's constant"},
                                       {"launch_us", &ModelLeftOut::launch_us, "us", "best for all other rows"},
                                       {"without", &ModelLeftOut::without, "", "with that"}});
  return record;
}

const Record& record_of(const PartLeftOut*) {
  static const Record record("part", {{"name", &PartLeftOut::name, "", "of the part"},
                                      {"with", &PartLeftOut::with, "", "with the catalogue's constants"},
                                      {"without", &PartLeftOut::without, "", "with those of all other rows"}});
  return record;
}

const Record& record_of(const PartsLeftOut*) {
  static const Record record(
      "parts", {{"parts", &PartsLeftOut::parts, "", "by name"},
                {"all", &PartsLeftOut::all, "", "every configuration with the constants of the others"},
                {"measured_percent", &PartsLeftOut::measured_percent, "%", "nine tenths of measured / predicted - 1"}});
  return record;
}

const Record& record_of(const FittedTo*) {
  static const Record record("constant", {{"constant", &FittedTo::constant, "", "held_share or kernel_time"},
                                          {"of", &FittedTo::of, "", "a generation of GPUs, or a framework"},
                                          {"catalog", &FittedTo::catalog, "", "in the catalogue"},
                                          {"fitted", &FittedTo::fitted, "", "least mean error over all rows"}});
  return record;
}

const Record& record_of(const LeftOutResult*) {
  using L = LeftOutResult;
  static const Record record("left out",
                             {Field("models", &L::models, "", "each model with experts").or_absent(),
                              Field("all", &L::all, "", "every configuration with experts").or_absent(),
                              Field("gpus", &L::gpus, "", "each GPU").or_absent(),
                              Field("generations", &L::generations, "", "each generation of GPUs").or_absent(),
                              Field("frameworks", &L::frameworks, "", "each framework").or_absent(),
                              Field("series", &L::series, "", "each series").or_absent(),
                              Field("constants", &L::constants, "", "of dense rows").or_absent(),
                              Field("never_fitted", &L::never_fitted, "", "rows that are in no fit").or_absent()});
  return record;
}

const Record& record_of(const ValidateResult*) {
  using V = ValidateResult;
  static const Record record(
      "validate",
      {{"file", &V::file, "", "the table"},
       {"engine", &V::engine, "", "that predicted"},
       {"complete", &V::complete, "", "false: interrupted"},
       {"rows", &V::rows, "", "that have a prediction, in the table's order"},
       {"unsupported", &V::unsupported, "", "number of rows without a prediction, by reason"},
       {"libraries", &V::libraries, "", "number of rows by the library whose rules chose"},
       {"summary", &V::summary, "", "over the rows that count"},
       {"worst", &V::worst, "", "farthest off, worst first"},
       Field("left_out", &V::left_out, "", "with leave_out: errors without a part in the fits").or_absent(),
       Field("own_tables", &V::own_tables, "", "with own_table: errors of other answers for the same machine")
           .or_absent()});
  return record;
}

}  // namespace busbar::questions
