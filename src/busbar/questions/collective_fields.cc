// The fields of a request about a collective, and of its results.
#include <algorithm>
#include <iterator>
#include <utility>

#include "busbar/questions/collective_question.h"
#include "busbar/questions/machine_request.h"
#include "busbar/questions/predict_request.h"

namespace busbar::questions {
namespace {

bool is_collective(const std::string& word) { return collectives::parse_collective(word).ok(); }

Field operation_field() {
  return Field("collective", &CollectiveRequest::collective, "",
               "all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, all_to_allv, gather, scatter or "
               "send_recv; the names of nccl-tests also work")
      .takes("OP")
      .as_word()
      .known_by(is_collective);
}

std::vector<Field> fields_of_sweep() {
  using Q = CollectiveRequest;
  const auto sweep = [](Field f, const char* value) { return std::move(f).of("Sweep").takes(value); };
  const auto choice = [](Field f, const char* value) { return std::move(f).of("Algorithm").takes(value); };
  return {
      sweep(Field("min_bytes", &Q::min_bytes, "", "smallest size S; K, M, G are binary (default 8)")
                .spelled("-b,--minbytes"),
            "SIZE"),
      sweep(Field("max_bytes", &Q::max_bytes, "", "largest size (default 16G)").spelled("-e,--maxbytes"), "SIZE"),
      sweep(Field("step_factor", &Q::step_factor, "", "factor between sizes (default 2)").spelled("-f,--stepfactor"),
            "X"),
      sweep({"ranks", &Q::ranks, "",
             "instead of -g: the ranks of a group, such as 0,1,4 or 0:512:8; several groups (repeat the flag, or "
             "0:8+8x64) run at the same time"},
            "LIST"),
      choice({"algorithm", &Q::algorithm, "",
              "auto (NCCL's choice), fastest, all (one row each), synthesized (made for this machine), ring, tree, "
              "...; or FILE.conf: picks of NCCL's tuner plugin"},
             "NAME"),
      choice({"chunks", &Q::chunks, "", "number of pieces in the pipeline (default: from the machine's chunk size)"},
             "N"),
      choice(Field("protocol", &Q::protocol, "", "auto (chosen with the algorithm), simple, ll128, ll")
                 .among({"auto", "simple", "ll128", "ll"}),
             "NAME"),
      choice({"schedule", &Q::schedule, "",
              "time the schedule in this file (MSCCL XML, MSCCL++ plan) and compare it with ours"},
             "FILE"),
      sweep(Field("pairs", &Q::pairs, "",
                  "all_to_allv: CSV of src,dst,bytes; -b and -e scale it by the bytes of the rank that sends most")
                .formerly("--matrix"),
            "FILE"),
      choice({"out", &Q::out, "",
              "write the schedule of the largest size: .xml (MSCCL), .json (MSCCL++), .goal, .et (Chakra), .csv "
              "(flows); or .conf: picks for NCCL's tuner"},
             "FILE"),
      choice({"channels", &Q::channels, "",
              "number of channels, each with its own NICs (default: enough to use every NIC)"},
             "N"),
      sweep({"jobs", &Q::jobs, "", "run the collective as N jobs of -g GPUs at the same time (default 1)"}, "N"),
      sweep({"placement", &Q::placement, "",
             "packed (GPUs in order), or random or random:SEED (from the whole machine; default seed 0)"},
            "NAME"),
      Field("jitter", &Q::jitter, "", "some messages over these links are delayed, e.g. node3.nic2=1%x50us")
          .takes("SELECTOR=P%xDELAY")
          .of("Machine"),
      sweep({"seed", &Q::seed, "", "seed of the paths that packets take (default: the cluster's)"}, "N"),
      choice(
          Field("root", &Q::root, "", "root of broadcast, reduce, gather and scatter (default 0)").spelled("-r,--root"),
          "RANK"),
      Field("compute_jitter", &Q::compute_jitter, "", "each rank starts late by an exponential time with this mean")
          .takes("TIME")
          .of("Packets")
          .with("engine=packet")};
}

/// A schedule from a file fixes these itself.
std::vector<Field> without_schedule(std::vector<Field> fields) {
  static constexpr const char* kOwn[] = {"algorithm", "protocol", "channels", "jobs",    "placement",
                                         "jitter",    "seed",     "root",     "pairs",   "out",
                                         "transport", "lb",       "op",       "datatype"};
  for (Field& f : fields)
    if (std::find(std::begin(kOwn), std::end(kOwn), f.name) != std::end(kOwn)) f.useless_with = {"schedule"};
  return fields;
}

}  // namespace

const Record& record_of(const CollectiveRequest*) {
  using Q = CollectiveRequest;
  static const Record record(
      "collective request",
      without_schedule(joined({fields_of_sweep(),
                               fields_inside(&Q::nccl_tests),
                               fields_inside(&Q::packets),
                               predict_fields(&Q::predict, "as the machine's file says"),
                               fields_inside(&Q::extras),
                               {cluster_field(&Q::cluster), operation_field(), engine_field(&Q::engine, Engines::kAll)},
                               fields_inside(&Q::machine),
                               {explain_field(&Q::explain)}})));
  return record;
}

const Record& record_of(const CollectiveResult*) {
  using R = CollectiveResult;
  static const Record record(
      "collective", joined({{{"cluster", &R::cluster, "", "name of the machine"},
                             {"gpus", &R::gpus, "", "ranks of a group"},
                             {"groups", &R::groups, "", "that run at the same time"},
                             {"jobs", &R::jobs, "", "that run at the same time"},
                             {"collective", &R::collective, "", "all_reduce, ..."},
                             {"engine", &R::engine, "", "analytic, flow or packet"},
                             {"algorithm_choice", &R::algorithm_choice, "", "nccl, rccl, fastest, all, given or tuner"},
                             {"algorithm_choice_note", &R::algorithm_choice_note, "", "the same in words"},
                             {"inputs_hash", &R::inputs_hash, "", "of everything that the result depends on"},
                             {"results", &R::results, "", "one row per size, or per size and algorithm"}},
                            fields_inside(&R::policy),
                            {{"bound_by", &R::bound_by, "", "of the largest size"},
                             {"band_percent", &R::band_percent, "%", "measured times are within: low, high"},
                             {"band_basis", &R::band_basis, "", "what the band was measured on"},
                             Field("assumptions", &R::assumptions, "", "about the machine").or_absent(),
                             Field("penalty", &R::penalty, "", "of a transport").or_absent(),
                             {"complete", &R::complete, "", "all sizes are there"},
                             Field("shortcuts", &R::shortcuts, "", "that the answer took").or_absent()}}));
  return record;
}

const Record& record_of(const ScheduleFile*) {
  static const Record record(
      "schedule", {{"file", &ScheduleFile::file, "", "where it was read"},
                   {"name", &ScheduleFile::name, "", "its own"},
                   {"proved", &ScheduleFile::proved, "", "it does what the collective asks"},
                   {"sends", &ScheduleFile::sends, "", "number of sends"},
                   {"longest_chain_of_sends", &ScheduleFile::longest_chain_of_sends, "", "one after another"}});
  return record;
}

const Record& record_of(const ScheduleResult*) {
  using R = ScheduleResult;
  static const Record record("schedule from a file",
                             joined({{{"cluster", &R::cluster, "", "name of the machine"},
                                      {"gpus", &R::gpus, "", "ranks of the schedule"},
                                      {"collective", &R::collective, "", "all_reduce, ..."},
                                      {"engine", &R::engine, "", "flow"},
                                      {"algorithm_choice", &R::algorithm_choice, "", "file"},
                                      {"schedule", &R::schedule, "", "what was read"},
                                      {"inputs_hash", &R::inputs_hash, "", "of everything that the result depends on"},
                                      {"results", &R::results, "", "one row per size"}},
                                     fields_inside(&R::policy),
                                     {{"bound_by", &R::bound_by, "", "of the largest size"},
                                      {"band_percent", &R::band_percent, "%", "measured times are within: low, high"},
                                      {"band_basis", &R::band_basis, "", "what the band was measured on"},
                                      {"notes", &R::notes, "", "what was assumed"},
                                      {"complete", &R::complete, "", "all sizes are there"}}}));
  return record;
}

}  // namespace busbar::questions
