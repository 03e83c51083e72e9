#include "busbar/questions/packet_courses.h"

#include <algorithm>

namespace busbar::questions {
namespace {

constexpr Duration kUsualInterval = Duration::us(10);

}  // namespace

void PacketCourses::watch(packet::PacketOptions& options) {
  if (options.series.every <= Duration()) options.series.every = kUsualInterval;
  options.series.look = [this, before = options.series.look](SimTime now, auto links, auto flows) {
    if (before) before(now, links, flows);
    take(now, links, flows);
  };
}

void PacketCourses::take(SimTime now, std::span<const packet::PacketLinkSample> links,
                         std::span<const packet::PacketFlowSample> flows) {
  if (seen_++ % every_ != 0) return;
  if (samples_.size() >= kMostSamples || entries_ > kMostEntries) thin();
  links_.resize(links.size());
  sent_.resize(links.size());
  Sample sample;
  sample.s = now.since_start().in_s();
  sample.length_s = sample.s - last_s_;
  last_s_ = sample.s;
  for (std::size_t l = 0; l < links.size(); ++l) {
    links_[l] = links[l].link;
    sample.sent.push_back(links[l].sent_bytes - sent_[l]);
    sample.queue.push_back(links[l].queue_bytes);
    sent_[l] = links[l].sent_bytes;
  }
  for (const packet::PacketFlowSample& f : flows) sample.windows.emplace_back(f.flow, f.window_bytes);
  std::sort(sample.windows.begin(), sample.windows.end());
  entries_ += 2 * links.size() + flows.size();
  samples_.push_back(std::move(sample));
}

/// Joins samples in pairs: the sum of what was sent, the state of the second.
void PacketCourses::thin() {
  std::vector<Sample> kept;
  entries_ = 0;
  for (std::size_t i = 0; i + 1 < samples_.size(); i += 2) {
    Sample& a = samples_[i];
    Sample& b = samples_[i + 1];
    for (std::size_t l = 0; l < a.sent.size(); ++l) {
      b.sent[l] += a.sent[l];
      b.queue[l] = std::max(a.queue[l], b.queue[l]);
    }
    b.length_s += a.length_s;
    entries_ += 2 * b.sent.size() + b.windows.size();
    kept.push_back(std::move(b));
  }
  samples_ = std::move(kept);
  every_ *= 2;
}

}  // namespace busbar::questions
