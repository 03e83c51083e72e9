#include "busbar/runtime/internal/proof.h"

#include <gtest/gtest.h>

namespace busbar::runtime {
namespace {

// Appendix A of the paper: key 00 01 ... 0f, text 00 01 ... 0e.
TEST(Proof, TheHashIsThatOfThePaper) {
  const Key key = parse_key("000102030405060708090a0b0c0d0e0F").value();
  std::array<std::byte, 15> text;
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<std::byte>(i);
  EXPECT_EQ(keyed_hash(key, text), 0xa129'ca61'49be'45e5u);
}

TEST(Proof, AKeyIsThirtyTwoDigitsAndARefusalDoesNotShowIt) {
  for (const char* bad : {"", "hunter2", "000102030405060708090a0b0c0d0e0", "000102030405060708090a0b0c0d0e0g"}) {
    const auto key = parse_key(bad);
    ASSERT_FALSE(key.ok()) << bad;
    if (*bad != 0) EXPECT_EQ(key.error().text().find(bad), std::string::npos);
  }
}

}  // namespace
}  // namespace busbar::runtime
