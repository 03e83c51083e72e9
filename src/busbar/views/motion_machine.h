// A small machine drawn for things that move over it: its GPUs, and the switches, NICs and fabric that ways cross.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "busbar/engine/flow/message_run.h"
#include "busbar/questions/collective_course.h"
#include "busbar/report/document.h"

namespace busbar::views {

class MotionMachine {
 public:
  MotionMachine(const std::vector<questions::CollectiveCourse>& courses, const topology::Topology& topology);
  /// Adds frames, boxes and lines. No path may be asked for later.
  void write(report::Motion& out) const;
  /// What a way is in the drawing. Links inside a box and devices that are not drawn are left out.
  report::MotionPath path(const questions::CourseEnds& ends, std::span<const engine::MessageLink> links);

 private:
  using Device = topology::DeviceId;
  void find_used(const std::vector<questions::CollectiveCourse>& courses);
  void place_fabric_rows();
  void place_block(topology::BlockId id, bool framed);
  double place_ring(const std::vector<Device>& gpus, double left);
  double place_row(const std::vector<Device>& gpus, double left);
  void place_fabric();
  void add_gpu(Device d, double x, double y);
  std::uint32_t add_box(report::MotionBox box, const std::vector<Device>& devices);
  std::string switch_words(const std::vector<Device>& switches) const;
  std::uint32_t direction(std::uint32_t a, std::uint32_t b);

  const topology::Topology& t_;
  std::vector<bool> used_;             ///< per device
  std::vector<std::uint32_t> box_of_;  ///< per device
  std::vector<report::MotionBox> boxes_;
  std::vector<report::Shape> frames_;
  std::vector<report::MotionLine> lines_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> rates_;  ///< of all links between two boxes, from to
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> line_of_;
  std::map<std::uint8_t, std::vector<Device>> fabric_;  ///< used switches by tier
  double gpu_width_ = 40, gap_ = 6, nic_y_ = 0, gpu_y_ = 0, switch_y_ = 0, x_ = 0, bottom_ = 0;
};

}  // namespace busbar::views
