#include "busbar/runtime/element.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "busbar/runtime/internal/small_floats.h"

namespace busbar::runtime {
namespace {

TEST(SmallFloats, EveryHalfComesBack) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float f = to_float(Half{static_cast<std::uint16_t>(bits)});
    if (std::isnan(f))
      EXPECT_TRUE(std::isnan(to_float(to_half(f)))) << bits;
    else
      ASSERT_EQ(to_half(f).bits, bits) << f;
  }
  EXPECT_EQ(to_float(Half{0x3c00}), 1.0f);
  EXPECT_EQ(to_float(Half{1}), 0x1p-24f);
}

TEST(SmallFloats, HalvesAreTheNearestOrTheEvenOne) {
  for (std::uint16_t bits = 0; bits < 0x7bff; ++bits) {
    const float low = to_float(Half{bits}), high = to_float(Half{static_cast<std::uint16_t>(bits + 1)});
    const float middle = (low + high) / 2;
    ASSERT_EQ(to_half(middle).bits, bits + bits % 2);
    ASSERT_EQ(to_half(std::nextafter(middle, high)).bits, bits + 1);
    ASSERT_EQ(to_half(std::nextafter(middle, low)).bits, bits);
  }
  EXPECT_EQ(to_half(65519.0f).bits, 0x7bff);
  EXPECT_EQ(to_half(65520.0f).bits, 0x7c00);
}

TEST(SmallFloats, Bfloat16KeepsEightDigits) {
  EXPECT_EQ(to_float(to_bfloat16(255.0f)), 255.0f);
  EXPECT_EQ(to_float(to_bfloat16(257.0f)), 256.0f);
  EXPECT_EQ(to_float(to_bfloat16(259.0f)), 260.0f);
  EXPECT_TRUE(std::isnan(to_float(to_bfloat16(NAN))));
}

TEST(Element, SumsOfIntegersWrap) {
  const std::int8_t a = 100, b = 100;
  std::int8_t sum = 0;
  combine_of(ElementType::kInt8, Reduction::kSum)(reinterpret_cast<std::byte*>(&sum),
                                                  reinterpret_cast<const std::byte*>(&a),
                                                  reinterpret_cast<const std::byte*>(&b), 1);
  EXPECT_EQ(sum, -56);
}

TEST(Element, NamesAreThoseOfNcclTests) {
  EXPECT_EQ(parse_element_type("bfloat16").value(), ElementType::kBfloat16);
  EXPECT_EQ(parse_reduction("avg").value(), Reduction::kAvg);
  EXPECT_EQ(parse_element_type("f8e4m3").error().message,
            "'f8e4m3' is not an element type that can run here; use one of int8, uint8, int32, uint32, int64, uint64, "
            "half, float, double, bfloat16");
}

}  // namespace
}  // namespace busbar::runtime
