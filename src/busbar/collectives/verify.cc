#include "busbar/collectives/verify.h"

#include <fmt/core.h>

#include <bit>

#include "busbar/base/check.h"
#include "busbar/base/id.h"

namespace busbar::collectives {
namespace {

const char* name_of(Buffer b) { return b == Buffer::kInput ? "input" : b == Buffer::kOutput ? "output" : "scratch"; }

}  // namespace

std::string describe(const Move& m) {
  const std::string added = m.reduce ? fmt::format(", added to {}", name_of(m.operand)) : "";
  return fmt::format("{} -> {}, chunks [{}, {}), {} -> {}{}", m.src, m.dst, m.first_chunk,
                     m.first_chunk + m.chunk_count, name_of(m.src_buffer), name_of(m.dst_buffer), added);
}

Verifier::Verifier(const Schedule& schedule)
    : schedule_(schedule),
      demand_(schedule),
      words_((schedule.ranks + 63) / 64),
      chunk_channel_(schedule.chunks, kNone32),
      rounds_done_(schedule.channels, 0) {
  const std::uint32_t actors = schedule_.ranks + schedule_.reducers;
  slots_.resize(std::size_t{actors} * 3 * schedule_.chunks);
  content_.assign(slots_.size() * words_, 0);
  for (std::uint32_t a = 0; a < schedule_.ranks; ++a)
    for (std::uint32_t c = 0; c < schedule_.chunks; ++c) {
      if (!demand_.has_input(a, c)) continue;
      for (const Buffer b : {Buffer::kInput, Buffer::kOutput})
        content_[slot(a, b, c) * words_ + a / 64] |= Word{1} << (a % 64);
    }
}

std::size_t Verifier::slot(std::uint32_t actor, Buffer buffer, std::uint32_t chunk) const {
  return (std::size_t{actor} * 3 + static_cast<std::size_t>(buffer)) * schedule_.chunks + chunk;
}

std::string Verifier::shape_error(std::uint32_t channel, const Move& m) {
  const std::uint32_t actors = schedule_.ranks + schedule_.reducers;
  if (m.src >= actors || m.dst >= actors) return fmt::format("there are only {} actors", actors);
  if (m.src == m.dst) return "a move to itself";
  if (m.chunk_count == 0) return "moves nothing";
  if (std::uint64_t{m.first_chunk} + m.chunk_count > schedule_.chunks)
    return fmt::format("there are only {} chunks", schedule_.chunks);
  if (m.dst_buffer == Buffer::kInput) return "writes to an input";
  for (std::uint32_t c = m.first_chunk; c < m.first_chunk + m.chunk_count; ++c) {
    std::uint32_t& channel_of = chunk_channel_[c];
    if (channel_of == kNone32) channel_of = channel;
    if (channel_of != channel) return fmt::format("chunk {} belongs to channel {}", c, channel_of);
    if (m.src_buffer == Buffer::kOutput && !demand_.has_output(m.src, c))
      return fmt::format("rank {} has no output chunk {}", m.src, c);
    if (m.dst_buffer == Buffer::kOutput && !demand_.has_output(m.dst, c))
      return fmt::format("rank {} has no output chunk {}", m.dst, c);
  }
  return {};
}

std::string Verifier::read(const Move& m) {
  for (std::uint32_t c = m.first_chunk; c < m.first_chunk + m.chunk_count; ++c) {
    const std::size_t from = slot(m.src, m.src_buffer, c);
    Word any = 0;
    for (std::size_t w = 0; w < words_; ++w) {
      in_flight_.push_back(content_[from * words_ + w]);
      any |= in_flight_.back();
    }
    if (any == 0 && !schedule_.sends_nothing) return fmt::format("sends chunk {}, which {} does not hold", c, m.src);
    slots_[from].read = now_;
  }
  return {};
}

std::string Verifier::write(const Move& m, const Word* values) {
  for (std::uint32_t c = m.first_chunk; c < m.first_chunk + m.chunk_count; ++c, values += words_) {
    const std::size_t to = slot(m.dst, m.dst_buffer, c);
    Slot& s = slots_[to];
    if (s.read == now_) return fmt::format("writes chunk {} while {} sends it", c, m.dst);
    const bool adds = m.reduce && m.operand == m.dst_buffer;
    if (s.written == now_ && !adds) return fmt::format("a second write to chunk {} of {}", c, m.dst);
    s.written = now_;
    Word* held = &content_[to * words_];
    const Word* own = &content_[slot(m.dst, m.operand, c) * words_];
    for (std::size_t w = 0; w < words_; ++w) {
      if (const Word twice = own[w] & values[w]; m.reduce && twice != 0)
        return fmt::format("counts rank {} twice in chunk {} of {}", w * 64 + std::countr_zero(twice), c, m.dst);
      held[w] = m.reduce ? own[w] | values[w] : values[w];
    }
  }
  return {};
}

Status Verifier::round(std::uint32_t channel, std::span<const Move> moves) {
  if (channel >= schedule_.channels)
    return invalid(fmt::format("channel {} of a schedule with {}", channel, schedule_.channels));
  ++now_;
  const std::uint32_t number = rounds_done_[channel]++;
  const auto blame = [&](const Move& m, const std::string& what) {
    return invalid(fmt::format("{} {}: channel {}, round {}: {}: {}", schedule_.algorithm,
                               busbar::collectives::name_of(schedule_.op), channel, number, describe(m), what));
  };
  in_flight_.clear();
  for (const Move& m : moves) {
    if (const std::string e = shape_error(channel, m); !e.empty()) return blame(m, e);
    if (const std::string e = read(m); !e.empty()) return blame(m, e);
  }
  const Word* values = in_flight_.data();
  for (const Move& m : moves) {
    if (const std::string e = write(m, values); !e.empty()) return blame(m, e);
    values += m.chunk_count * words_;
  }
  return {};
}

Status Verifier::finish() const {
  for (std::uint32_t a = 0; a < schedule_.ranks; ++a)
    for (std::uint32_t c = 0; c < schedule_.chunks; ++c) {
      if (!demand_.has_output(a, c)) continue;
      for (std::uint32_t r = 0; r < schedule_.ranks; ++r) {
        const bool held = content_[slot(a, Buffer::kOutput, c) * words_ + r / 64] >> (r % 64) & 1;
        if (held != demand_.demands(r, c))
          return invalid(fmt::format("{} {}: at the end chunk {} of rank {} {} the input of rank {}",
                                     schedule_.algorithm, busbar::collectives::name_of(schedule_.op), c, a,
                                     held ? "wrongly holds" : "lacks", r));
      }
    }
  return {};
}

Status verify(const Schedule& schedule) {
  Verifier verifier(schedule);
  std::vector<Move> moves;
  for (const Phase& phase : schedule.phases) {
    const std::uint32_t n = rounds(schedule, phase);
    for (std::uint32_t r = 0; r < n; ++r) {
      moves.clear();
      for_each_move(schedule, phase, r, [&](const Move& m) { moves.push_back(m); });
      BUSBAR_RETURN_IF_ERROR(verifier.round(phase.channel, moves));
    }
  }
  return verifier.finish();
}

}  // namespace busbar::collectives
