// A collective message by message: which bytes go from where to where, and when. Pictures are made of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "busbar/collectives/textbook_law.h"
#include "busbar/engine/flow/message_run.h"
#include "busbar/predict/predictor.h"

namespace busbar::questions {

inline constexpr std::uint32_t kMostCourseRanks = 64;        ///< more are no picture
inline constexpr std::uint32_t kMostRanksOfOthers = 1024;    ///< each algorithm takes a prediction: seconds in all
inline constexpr std::size_t kMostCourseMessages = 150'000;  ///< some seconds

struct CourseSend {
  std::uint32_t way = 0;  ///< row of CollectiveCourse::ways
  std::uint32_t channel = 0;
  std::uint32_t piece = 0;  ///< of its channel, counted from 0; kNone32: on its way through a switch
  bool adds = false;        ///< the receiver adds it to its own
  double bytes = 0;
  double start_s = 0, sent_s = 0, done_s = 0;
};
/// The GPUs at the ends of a way; kNone: the switch next to the other end.
struct CourseEnds {
  topology::DeviceId from{}, to{};
};
/// A part of the longest chain of sends.
enum class CoursePartKind : std::uint8_t { kLaunch, kLatency, kTransfer };
struct CoursePart {
  CoursePartKind kind{};
  double begin_s = 0, end_s = 0;
};

/// The flow engine runs the call's messages one by one. The prediction counts them together, so the two times may
/// differ a little: times of sends are stretched to end when the prediction does.
struct CollectiveCourse {
  predict::Prediction row;
  double messages_s = 0;          ///< before the times were stretched
  std::vector<CourseSend> sends;  ///< by start
  Csr<engine::MessageLink> ways;
  std::vector<CourseEnds> ends;   ///< per way
  std::vector<CoursePart> chain;  ///< from the launch to the end
  collectives::TextbookLaw law;
  double latency_s = 0;    ///< the mean of all sends
  double bytes_per_s = 0;  ///< rate of a rank when the busiest link is full
  std::string busiest;     ///< name of that link
};

/// Errors: kUnsupported for several groups, more than kMostCourseRanks, more than `most_messages`, and reductions in
/// switches of the fabric.
Result<CollectiveCourse> course_of(const predict::Prediction& row, const predict::Predictor& machine,
                                   std::size_t most_messages = kMostCourseMessages);

/// The rows of one size and the other legal algorithms at that size, message by message: the rows first, then by time.
/// The size is the largest of `rows` that can be followed; empty if none can.
std::vector<CollectiveCourse> courses_of(const std::vector<predict::Prediction>& rows, predict::Predictor& machine);

/// Times of all legal algorithms for the call of `row`.
std::vector<predict::Prediction> others_at(const predict::Prediction& row, predict::Predictor& machine);
/// The same at up to a dozen sizes of `rows`; none for several groups and above kMostRanksOfOthers.
std::vector<predict::Prediction> others_of(const std::vector<predict::Prediction>& rows, predict::Predictor& machine);

/// The mean load of each directed link over the time of the row, 0..1.
Result<std::vector<double>> loads_of(const predict::Prediction& row, predict::Predictor& machine);

}  // namespace busbar::questions
