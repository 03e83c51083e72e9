// For tests: sample files of other programs.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace busbar::formats {

inline std::string fixture(const std::filesystem::path& name) {
  const std::filesystem::path path = std::filesystem::path("tests/fixtures") / name;
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace busbar::formats
