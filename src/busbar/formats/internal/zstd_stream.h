// Reads files compressed by zstd (RFC 8878) and unpacks them on the fly, if the system has its library.
#pragma once

#include <istream>
#include <memory>
#include <string_view>

#include "busbar/formats/unpacking.h"

namespace busbar {

bool looks_like_zstd(std::string_view head);

/// As unpack_gzip(). The library (libzstd.so.1) is loaded at the first use; without it the stream is empty and
/// `failure` says so.
std::unique_ptr<std::istream> unpack_zstd(std::unique_ptr<std::istream> packed, std::shared_ptr<UnpackFailure> failure,
                                          std::uint64_t most = kMostUnpacked, const char* library = "libzstd.so.1");

}  // namespace busbar
