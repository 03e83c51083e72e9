#include "busbar/formats/unpacking.h"

#include <fmt/core.h>

#include <utility>

namespace busbar {

UnpackingBuffer::UnpackingBuffer(std::unique_ptr<std::istream> packed, std::shared_ptr<UnpackFailure> failure,
                                 std::uint64_t most, std::size_t piece, Words words)
    : packed_(std::move(packed)), failure_(std::move(failure)), most_(most), words_(words), in_(piece), out_(piece) {}

UnpackingBuffer::int_type UnpackingBuffer::underflow() {
  while (!ended_) {
    const std::size_t got = unpack(out_);
    unpacked_ += got;
    if (!ended_ && unpacked_ > most_)
      fail(fmt::format("unpacks to more than {} bytes; unpack it with {} first", most_, words_.tool));
    if (ended_ || got == 0) continue;
    setg(out_.data(), out_.data(), out_.data() + got);
    return traits_type::to_int_type(out_[0]);
  }
  setg(nullptr, nullptr, nullptr);
  return traits_type::eof();
}

std::size_t UnpackingBuffer::read_packed() {
  packed_->read(in_.data(), static_cast<std::streamsize>(in_.size()));
  const auto got = static_cast<std::size_t>(packed_->gcount());
  read_ += got;
  return got;
}

void UnpackingBuffer::end(bool within) {
  if (within) fail(fmt::format("byte {}: the file ends within compressed data; copy it again", read_));
  ended_ = true;
}

void UnpackingBuffer::fail(std::string why) {
  ended_ = true;
  failure_->message = std::move(why);
}

void UnpackingBuffer::fail_broken(std::size_t left, const char* why) {
  fail(fmt::format("byte {}: is broken {} data: {}; copy the file again", read_ - left, words_.format, why));
}

Status status_of(const UnpackFailure& failure, const std::string& name) {
  if (failure.message.empty()) return {};
  return invalid(failure.message, {name, 0, 0, ""});
}

}  // namespace busbar
