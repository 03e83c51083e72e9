#include "busbar/report/style.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace busbar::report {
namespace {

constexpr std::array kThemes{Theme::kLight, Theme::kDark};
constexpr std::array kSeries{colour::kCompute, colour::kTp,        colour::kDp,   colour::kPp,
                             colour::kIdle,    colour::kOptimizer, colour::kOther};

using Vector = std::array<double, 3>;
using Matrix = std::array<Vector, 3>;

Vector linear(std::string_view hex) {
  Vector out{};
  for (std::size_t i = 0; i < 3; ++i) {
    const double c = std::stoi(std::string(hex.substr(1 + 2 * i, 2)), nullptr, 16) / 255.0;
    out[i] = c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  }
  return out;
}

Vector times(const Matrix& m, const Vector& v) {
  Vector out{};
  for (std::size_t r = 0; r < 3; ++r) {
    out[r] = std::clamp(m[r][0] * v[0] + m[r][1] * v[1] + m[r][2] * v[2], 0.0, 1.0);
  }
  return out;
}

/// CIE 1976 L*a*b*, D65.
Vector lab(const Vector& rgb) {
  const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  const double x = f((0.4124 * rgb[0] + 0.3576 * rgb[1] + 0.1805 * rgb[2]) / 0.95047);
  const double y = f(0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]);
  const double z = f((0.0193 * rgb[0] + 0.1192 * rgb[1] + 0.9505 * rgb[2]) / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

// Machado, Oliveira, Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency", 2009,
// severity 1.
constexpr Matrix kNormal{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
constexpr Matrix kProtan{
    {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}};
constexpr Matrix kDeutan{
    {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}};
constexpr Matrix kTritan{
    {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}};

double distance(std::string_view a, std::string_view b, const Matrix& sight) {
  const Vector p = lab(times(sight, linear(a))), q = lab(times(sight, linear(b)));
  return std::hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
}

TEST(Style, ContrastAgreesWithKnownPairs) {
  EXPECT_NEAR(contrast("#000000", "#ffffff"), 21.0, 1e-9);
  EXPECT_NEAR(contrast("#767676", "#ffffff"), 4.54, 0.005);  // the lightest grey that passes AA on white
  EXPECT_EQ(contrast("#123456", "#123456"), 1.0);
}

TEST(Style, TextReadsOnThePageAndOnItsFrames) {
  for (const Theme t : kThemes) {
    for (const int text : {colour::kInk, colour::kMuted}) {
      EXPECT_GE(contrast(ink(text).fill(t), page_colour(t)), 4.5) << text;
      EXPECT_GE(contrast(ink(text).fill(t), ink(colour::kFrame).fill(t)), 4.5) << text;
    }
    EXPECT_GE(contrast(ink(colour::kCompute).fill(t), page_colour(t)), 4.5) << "links have this colour";
  }
}

TEST(Style, LabelsReadOnTheirColour) {
  for (const Theme t : kThemes) {
    for (int i = 0; i < colour::kInk; ++i) EXPECT_GE(contrast(letters_on(i, t), ink(i).fill(t)), 4.5) << i;
    for (int i = colour::kGpu; i <= colour::kSpine; ++i) EXPECT_GE(contrast(ink_colour(t), ink(i).fill(t)), 4.5) << i;
  }
}

TEST(Style, EverySeriesAndDeviceStandsOutFromThePageByFillOrOutline) {
  for (const Theme t : kThemes) {
    for (int i = 0; i < colour::kFrame; ++i) EXPECT_GE(contrast(ink(i).edge(t), page_colour(t)), 3.0) << i;
  }
}

TEST(Style, SeriesDifferForEveryKindOfColourVision) {
  for (const Theme t : kThemes) {
    for (const Matrix& sight : {kNormal, kProtan, kDeutan, kTritan}) {
      for (const int a : kSeries) {
        for (const int b : kSeries) {
          if (a < b) EXPECT_GE(distance(ink(a).fill(t), ink(b).fill(t), sight), 14.0) << a << " " << b;
        }
      }
    }
  }
}

TEST(Style, TheHeatScaleMovesAwayFromThePageWithEveryStep) {
  for (const Theme t : kThemes) {
    for (int i = 0; i + 1 < kHeatSteps; ++i) {
      EXPECT_GT(contrast(heat_colour(i + 1, t), page_colour(t)), contrast(heat_colour(i, t), page_colour(t))) << i;
    }
    EXPECT_GE(contrast(heat_colour(kHeatSteps / 2, t), page_colour(t)), 3.0);
  }
}

TEST(Style, HeatStepsCoverTheLoadsAndSurviveNonsense) {
  EXPECT_EQ(heat_step(0), 0);
  EXPECT_EQ(heat_step(0.4), 4);
  EXPECT_EQ(heat_step(1), 9);
  EXPECT_EQ(heat_step(7), 9);
  EXPECT_EQ(heat_step(-1), 0);
  EXPECT_EQ(heat_step(std::nan("")), 0);
}

TEST(Style, AnUnknownColourIsOther) {
  EXPECT_EQ(known_colour(-1), colour::kOther);
  EXPECT_EQ(known_colour(99), colour::kOther);
  EXPECT_EQ(known_colour(colour::kEp), colour::kEp);
}

}  // namespace
}  // namespace busbar::report
