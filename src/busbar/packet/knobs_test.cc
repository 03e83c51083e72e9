// Settings of packets: units, ranges, and that each does what it says.
#include "busbar/packet/knobs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "busbar/packet/default_settings.h"
#include "busbar/packet/internal/knobs.h"
#include "busbar/packet/internal/test_fabrics.h"

namespace busbar::packet {
namespace {

std::uint32_t knob_number(const std::string& key) {
  for (std::uint32_t k = 0; k < packet_knobs().size(); ++k)
    if (packet_knobs()[k].key == key) return k;
  ADD_FAILURE() << key;
  return 0;
}

PacketOptions options_with(PacketTransport t, PacketBalance b,
                           const std::vector<std::pair<std::string, std::string>>& words) {
  PacketOptions o{t, b, 1};
  for (const auto& [key, text] : words) {
    const auto setting = read_packet_setting(key, text);
    EXPECT_TRUE(setting.ok()) << key << (setting.ok() ? "" : setting.error().message);
    if (setting.ok()) o.settings.push_back(*setting);
  }
  return o;
}

LeafSpine small_incast() {
  LeafSpine n(2, 8, 4);
  for (std::uint32_t h = 1; h < 16; ++h) n.add(h, 0, 400'000);
  return n;
}

TEST(Knobs, HaveDifferentKeysRangesAndASource) {
  std::set<std::string> keys;
  for (const PacketKnob& knob : packet_knobs()) {
    EXPECT_TRUE(keys.insert(knob.key).second) << knob.key;
    EXPECT_LT(knob.least, knob.most) << knob.key;
    EXPECT_NE(std::string(knob.what).find('('), std::string::npos) << knob.key;
  }
}

TEST(Knobs, RefuseWordsUnitsAndRanges) {
  for (const auto& [key, text] : std::vector<std::pair<std::string, std::string>>{{"mtuu", "4160B"},
                                                                                  {"mtu", "4160"},
                                                                                  {"mtu", "100B"},
                                                                                  {"mark_most", "1.5"},
                                                                                  {"hash", "md5"},
                                                                                  {"timeout", "5"},
                                                                                  {"dcqcn.additive", "50"},
                                                                                  {"packets_per_ack", "many"},
                                                                                  {"entropies", "0"}})
    EXPECT_FALSE(read_packet_setting(key, text).ok()) << key << "=" << text;
  EXPECT_NE(read_packet_setting("mtuu", "1").error().message.find("mtu"), std::string::npos);
}

TEST(Knobs, ErrorsAreWhereTheUserWroteThem) {
  const Where line{"mine.yaml", 3, 8, ""};
  EXPECT_EQ(read_packet_setting("mtuu", "1", line).error().where.prefix(), "mine.yaml:3:8: ");
  EXPECT_EQ(read_packet_setting("mtu", "100B", line).error().where.prefix(), "mine.yaml:3:8: ");
  EXPECT_EQ(read_packet_setting("mtu", "100B").error().where.prefix(), "--set: ");
  const LeafSpine n = small_incast();
  PacketOptions o{PacketTransport::kNscc, PacketBalance::kEcmp, 1};
  o.settings = {read_packet_setting("buffer", "16MB", line).value()};  // NSCC does not use it
  EXPECT_EQ(run_packet_list(n.router, n.list, o).error().where.prefix(), "mine.yaml:3:8: ");
  o.settings = {read_packet_setting("mark_from", "2MB").value(), read_packet_setting("mark_to", "1MB", line).value()};
  EXPECT_EQ(run_packet_list(n.router, n.list, o).error().where.prefix(), "mine.yaml:3:8: ");
}

TEST(Knobs, RefuseWhatTheTransportDoesNotUseAndContradictions) {
  const LeafSpine n = small_incast();
  const auto error = [&](PacketTransport t, const std::vector<std::pair<std::string, std::string>>& words) {
    const auto r = run_packet_list(n.router, n.list, options_with(t, PacketBalance::kEcmp, words));
    return r.ok() ? std::string() : r.error().message;
  };
  EXPECT_NE(error(PacketTransport::kNscc, {{"buffer", "16MB"}}), "");
  EXPECT_NE(error(PacketTransport::kDcqcn, {{"queue", "1MB"}}), "");
  EXPECT_NE(error(PacketTransport::kDcqcn, {{"nscc.gamma", "0.5"}}), "");
  EXPECT_NE(error(PacketTransport::kNscc, {{"entropies", "16"}}), "") << "one path per flow";
  EXPECT_NE(error(PacketTransport::kDcqcn, {{"mark_from", "2MB"}, {"mark_to", "1MB"}}), "");
  EXPECT_NE(error(PacketTransport::kNscc, {{"queue", "2kB"}}), "");
  EXPECT_EQ(error(PacketTransport::kDcqcn, {{"mark_from", "100kB"}, {"mark_to", "400kB"}}), "");
}

/// Every knob of every transport: half the default (or the other word) is what the run then reports, and all still
/// arrives.
TEST(Knobs, EveryOneReachesTheRun) {
  const LeafSpine n = small_incast();
  std::set<std::string> reached;
  for (const PacketTransport t : {PacketTransport::kNscc, PacketTransport::kDcqcn, PacketTransport::kHpcc,
                                  PacketTransport::kRoce, PacketTransport::kSwift, PacketTransport::kIb,
                                  PacketTransport::kTcpCubic, PacketTransport::kDctcp, PacketTransport::kCredit}) {
    for (const PacketBalance b : {PacketBalance::kEcmp, PacketBalance::kSpray, PacketBalance::kFlowlet}) {
      const PacketResult usual = n.run({t, b, 1});
      for (std::uint32_t k = 0; k < packet_knobs().size(); ++k) {
        const double was = usual.settings[k];
        if (std::isnan(was) || reached.contains(packet_knobs()[k].key)) continue;
        const PacketKnob& knob = packet_knobs()[k];
        const bool word = knob.unit == PacketUnit::kWord;
        double now = word ? 1 - was : was / 2;
        if (was == 0 || was > knob.most) now = word ? now : std::min(knob.most, 1e6);
        if (std::string(knob.key) == "mark_to" || (!word && now < knob.least)) now = 2 * was;
        PacketOptions o{t, b, 1};
        o.settings = {{k, now}};
        const auto r = run_packet_list(n.router, n.list, o);
        ASSERT_TRUE(r.ok()) << knob.key << r.error().message;
        EXPECT_NEAR(r->settings[k], now, 1e-6 * now + 1) << knob.key;
        EXPECT_EQ(r->done, 15u) << knob.key;
        reached.insert(knob.key);
      }
    }
  }
  for (const PacketKnob& knob : packet_knobs())
    EXPECT_TRUE(reached.contains(knob.key) || std::string(knob.key) == "timeout_exponent") << knob.key;
}

/// 128 hosts at 400 Gb/s: what is listed is what a run has.
TEST(Knobs, DefaultsAreThoseOfARun) {
  LeafSpine n(8, 16, 16);
  n.add(0, 127, 100'000);
  for (const PacketTransport t : {PacketTransport::kNscc, PacketTransport::kDcqcn, PacketTransport::kIb,
                                  PacketTransport::kDctcp, PacketTransport::kCredit}) {
    const std::vector<double> listed = default_settings(t), ran = n.run({t, PacketBalance::kEcmp, 1}).settings;
    for (std::uint32_t k = 0; k < listed.size(); ++k)
      if (!std::isnan(ran[k])) EXPECT_EQ(listed[k], ran[k]) << packet_knobs()[k].key;
  }
}

TEST(Knobs, ATextCanBeGivenBack) {
  for (const PacketKnob& knob : packet_knobs()) {
    for (const double value : {knob.least, knob.most}) {
      const auto again = read_packet_setting(knob.key, setting_text(knob, value));
      ASSERT_TRUE(again.ok()) << knob.key << again.error().message;
      EXPECT_NEAR(again->value, value, 1e-6 * value) << knob.key;
    }
  }
}

TEST(Knobs, AnExponentIsATimeoutOfInfiniBand) {
  const PacketResult r =
      small_incast().run(options_with(PacketTransport::kIb, PacketBalance::kEcmp, {{"timeout_exponent", "14"}}));
  EXPECT_DOUBLE_EQ(r.settings[knob_number("timeout")], 4.096e6 * (1 << 14));
}

/// One flow of n packets of another size takes its closed form.
TEST(Knobs, AnMtuCountsItsHeaders) {
  LeafSpine n(8, 16, 16);
  n.add(0, 127, 100 * (1500 - 64));
  const PacketResult r = n.run(options_with(PacketTransport::kNscc, PacketBalance::kEcmp, {{"mtu", "1500B"}}));
  EXPECT_EQ(r.data, 100u);
  EXPECT_EQ(r.flows[0].fct.in_ps(), 20 * (100 * 1500 + 3 * 1500 + 4 * 64) + 8 * 500'000);
}

}  // namespace
}  // namespace busbar::packet
