// Facts about a machine, each with the line of the file that states it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace busbar::doctor {

/// One statement of a file: "port.rate of mlx5_0 on node1 is 200".
struct Fact {
  std::string name;     ///< "port.rate"; the tables of catalog/evidence define them
  std::string subject;  ///< the part: "mlx5_0", "0000:17:00.0", the name of a variable; empty: the whole host
  std::string value;    ///< as written
  std::string host;     ///< from the line's prefix, otherwise empty
  int file = 0;         ///< index in Evidence::files()
  int line = 0;         ///< of the first occurrence, 1-based
  std::string text;     ///< that line, shortened
  std::uint64_t count = 1;
  std::vector<std::uint32_t> with{};  ///< of a kWarningFact: the other facts of its line, as indices into facts()
  std::string time{};                 ///< of the first occurrence, as a logger wrote it; empty: it did not
};

inline constexpr std::string_view kWarningFact = "nccl.warning";    ///< a line that NCCL prints as a warning
inline constexpr std::string_view kHarmlessFact = "nccl.harmless";  ///< a warning that sound jobs print, too
inline constexpr std::string_view kErrorFact = "text.error";        ///< a line that speaks of an error, of any program
inline constexpr std::string_view kProgressFact = "job.progress";   ///< a line that only a job at work prints
inline constexpr std::string_view kFailureFact = "job.failed";      ///< a line that shows that the job has ended early

/// One input and how much of it was read.
struct EvidenceFile {
  std::string name;
  std::uint64_t lines = 0;         ///< read
  std::uint64_t stated = 0;        ///< with at least one fact
  std::vector<std::string> kinds;  ///< kinds of text that it contains, by name in catalog/evidence
  std::string stopped;             ///< why reading ended before the end; empty: it did not
  std::string archive;             ///< that holds the file; empty: none
};

/// All facts of all inputs. Equal facts of one file are kept once, with a count.
/// Space: at most kMostValues facts of each name; further ones are counted in dropped().
class Evidence {
 public:
  static constexpr std::size_t kMostValues = 20'000;
  static constexpr std::size_t kLongestText = 200;

  int add_file(std::string name);
  EvidenceFile& file(int index) { return files_[static_cast<std::size_t>(index)]; }
  const std::vector<EvidenceFile>& files() const { return files_; }

  /// `text` is shortened and its bytes that are not printable are replaced. `fact.file` must exist. Returns its index
  /// in facts(), or that of the equal one that is known; kDropped: it is one too many.
  std::uint32_t add(Fact fact);
  static constexpr std::uint32_t kDropped = UINT32_MAX;
  const std::vector<Fact>& facts() const { return facts_; }
  /// Says that these facts stand in one line. Keeps them for those of the name kWarningFact.
  void join(const std::vector<std::uint32_t>& line);
  /// Indices into facts(), in order of addition; empty for an unknown name.
  const std::vector<std::uint32_t>& named(std::string_view name) const;
  std::uint64_t dropped() const { return dropped_; }

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::vector<EvidenceFile> files_;
  std::vector<Fact> facts_;
  std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> place_;  ///< for look-up only
  std::map<std::string, std::vector<std::uint32_t>, std::less<>> by_name_;
  std::string key_;
  std::uint64_t dropped_ = 0;
};

/// The first number in a value: "x16" and "16x" are 16, "8GT/s" is 8.
std::optional<double> number_in(std::string_view value);

}  // namespace busbar::doctor
