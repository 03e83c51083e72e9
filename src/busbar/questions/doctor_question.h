// What is wrong with a machine, from logs and outputs of tools.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "busbar/questions/context.h"
#include "busbar/questions/fault_findings.h"
#include "busbar/questions/finding.h"
#include "busbar/spec/cluster.h"

namespace busbar::questions {

struct DoctorRequest {
  std::vector<std::string> files;  ///< or the name of a machine
  bool live = false;               ///< read this host
  std::string root = "/";          ///< or copies of its folders sys and proc
  std::string bundle;              ///< the archive to write; empty: none
  bool bundle_full = false;        ///< with all lines
  bool verbose = false;            ///< in views: lists rules that could not be judged
  std::string fail_on = "fail", cluster, collective;
  spec::Overrides machine;
};
const Record& record_of(const DoctorRequest*);

struct DoctorFinding {
  std::string rule, title, severity;
  bool symptom = false;
  std::optional<std::string> part;
  std::vector<Candidate> candidates;
  std::vector<Evidence> evidence;
  std::uint64_t evidence_lines = 0;
  std::string explanation;
  std::vector<std::string> fix;
  std::optional<double> cost_percent;
  std::optional<std::string> cost_of;
  std::vector<std::string> selectors;
  std::optional<std::string> flags, follows_from;
  std::vector<std::string> references;
  std::string page;
};
const Record& record_of(const DoctorFinding*);

struct OpenRule {
  std::string rule, title, missing, ask;
};
const Record& record_of(const OpenRule*);

struct ReadFile {
  std::string file;
  std::uint64_t lines = 0, lines_with_facts = 0;
  std::vector<std::string> kinds;
  std::optional<std::string> stopped;
};
const Record& record_of(const ReadFile*);

struct DifferenceOfLog {
  std::string what, logged, expected, cause;
  std::optional<double> cost_percent, cost_at_most_percent;
  std::string cost_of;
};
const Record& record_of(const DifferenceOfLog*);

struct LogOnMachine {
  std::string file;
  std::int64_t line = 0;
  std::uint32_t ranks = 0, nodes = 0, other_communicators = 0;
  std::string library;
  std::vector<std::string> settings, settings_without_effect, agrees;
  std::vector<DifferenceOfLog> differences;
  std::optional<std::string> refused;
};
const Record& record_of(const LogOnMachine*);

/// A table of nccl-tests, judged as `expect` judges it.
struct TableOnMachine {
  std::string file;
  std::optional<std::string> cluster;
  bool cluster_proposed = false;
  std::optional<std::string> refused;
  std::optional<std::string> collective, verdict, why;
  std::optional<double> slower_percent, threshold_percent;
  std::vector<std::string> assumed;
  FaultFindings faults;
  // For views only:
  std::uint64_t plateau_from_bytes = 0;
  int first_line = 0;  ///< of its rows; 0: not known
};
const Record& record_of(const TableOnMachine*);

/// The earliest line of several ranks that states a failure.
struct FirstFailed {
  std::string who, time, file;
  std::int64_t line = 0;
  std::string text;
};
const Record& record_of(const FirstFailed*);

struct DoctorResult {
  std::vector<DoctorFinding> findings;
  std::optional<FirstFailed> first_failure;  ///< empty: times of several ranks are not known
  std::vector<OpenRule> unknown;
  std::vector<std::string> ok;
  std::vector<ReadFile> inputs;
  // Empty if a signal ended the reading:
  std::optional<std::vector<LogOnMachine>> logs_against_machine;
  std::optional<std::vector<TableOnMachine>> tables;
  std::optional<std::optional<std::string>> bundle;
  std::string inputs_hash;
  int exit_status = 0;
  // For views only:
  std::string machine;  ///< next to which logs were compared
};
const Record& record_of(const DoctorResult*);

/// Writes the bundle.
Result<DoctorResult> answer(const DoctorRequest& request, const Context& context = {});

}  // namespace busbar::questions
