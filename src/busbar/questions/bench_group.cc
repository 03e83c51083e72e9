#include "busbar/questions/bench_group.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <thread>
#include <utility>

#include "busbar/base/input.h"
#include "busbar/base/text.h"
#include "busbar/formats/lines.h"
#include "busbar/questions/bench_programs.h"
#include "busbar/study/pmix_job.h"

namespace busbar::questions {
namespace {

constexpr const char* kSecretVariable = "BUSBAR_SECRET";

std::string from_environment(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

std::optional<std::uint32_t> number_from_environment(const char* name) {
  std::uint32_t out = 0;
  return is_number(from_environment(name), out) ? std::optional(out) : std::nullopt;
}

Result<std::string> secret_of(const BenchRequest& q) {
  if (q.secret_file.empty()) {
    const std::string secret = from_environment(kSecretVariable);
    if (!secret.empty()) return secret;
    return invalid(fmt::format("ranks on several hosts need a secret, so that no other process joins them: put 32 "
                               "hexadecimal digits (openssl rand -hex 16) into {}, or into a file that all read with "
                               "--secret-file",
                               kSecretVariable),
                   field_of("hosts"));
  }
  BUSBAR_ASSIGN(const std::string text, read_text(q.secret_file, 1 << 10));
  return std::string(formats::trimmed(split_at(text, '\n').front()));
}

/// Where other hosts reach this one: BUSBAR_ADDRESS, or what its name means.
std::string own_address(std::uint32_t port) {
  std::string host = from_environment("BUSBAR_ADDRESS");
  char name[256] = "";
  if (host.empty() && gethostname(name, sizeof name - 1) == 0) host = name;
  return fmt::format("{}:{}", host, port);
}

runtime::HostRun run_of(const BenchRequest& q, const std::string& words, runtime::Transport transport,
                        const busbar::Context& context) {
  runtime::HostRun run;
  run.transport = transport;
  run.run = words;
  run.sockets = q.sockets;
  run.timeout_s = q.timeout_s;
  run.stop = context.stop;
  return run;
}

Result<BenchGroup> group_of(runtime::Listener listener, const runtime::HostRun& run) {
  BenchGroup out;
  BUSBAR_ASSIGN(out.hosts, runtime::HostGroup::join(std::move(listener), run));
  return out;
}

Result<BenchGroup> meet_by_file(const BenchRequest& q, runtime::HostRun run) {
  BUSBAR_ASSIGN(const std::string text, read_text(q.hosts));
  BUSBAR_ASSIGN(run.addresses, parse_hosts(text, q.hosts));
  BUSBAR_ASSIGN(run.secret, secret_of(q));
  if (!q.rank)
    return invalid(fmt::format("this process is one of {} ranks: say which with --rank, 0 to {}", run.addresses.size(),
                               run.addresses.size() - 1),
                   field_of("rank"));
  if (*q.rank < 0 || static_cast<std::uint64_t>(*q.rank) >= run.addresses.size())
    return invalid(fmt::format("{} has {} ranks, from 0 on", q.hosts, run.addresses.size()), field_of("rank"));
  run.rank = static_cast<std::uint32_t>(*q.rank);
  BUSBAR_ASSIGN(runtime::Listener listener, runtime::Listener::open(run.addresses[run.rank]));
  return group_of(std::move(listener), run);
}

/// Waits for a message of one rank.
Result<std::string> hear(study::Peers& mpi, double timeout_s, const busbar::Context& context, int* from) {
  for (double waited = 0; waited < timeout_s && !context.stopped(); waited += 1e-3) {
    BUSBAR_ASSIGN(std::optional<study::PeerMessage> m, mpi.next());
    if (m) {
      if (from != nullptr) *from = m->from;
      return std::move(m->text);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return Error{ErrorCode::kIo, fmt::format("a rank of mpirun said nothing for {:g} s (--timeout)", timeout_s), {}};
}

/// Ranks tell rank 0 their addresses, and hear those of all with the secret of the run, over MPI.
Result<BenchGroup> meet_by_mpi(std::unique_ptr<study::Peers> mpi, runtime::HostRun run,
                               const busbar::Context& context) {
  const auto ranks = static_cast<std::size_t>(mpi->size());
  run.rank = static_cast<std::uint32_t>(mpi->rank());
  BUSBAR_ASSIGN(runtime::Listener listener, runtime::Listener::open(own_address(0)));
  const std::string own = own_address(listener.port());
  if (run.rank == 0) {
    BUSBAR_ASSIGN(run.secret, runtime::new_secret());
    run.addresses.assign(ranks, own);
    for (std::size_t i = 1; i < ranks; ++i) {
      int from = 0;
      BUSBAR_ASSIGN(const std::string address, hear(*mpi, run.timeout_s, context, &from));
      run.addresses[static_cast<std::size_t>(from)] = address;
    }
    for (std::size_t r = 1; r < ranks; ++r)
      BUSBAR_RETURN_IF_ERROR(
          mpi->send(static_cast<int>(r), fmt::format("{} {}", run.secret, fmt::join(run.addresses, " "))));
  } else {
    BUSBAR_RETURN_IF_ERROR(mpi->send(0, own));
    BUSBAR_ASSIGN(const std::string all, hear(*mpi, run.timeout_s, context, nullptr));
    const auto words = split_at(all, ' ');
    run.secret = words.front();
    run.addresses.assign(words.begin() + 1, words.end());
  }
  BUSBAR_ASSIGN(BenchGroup out, group_of(std::move(listener), run));
  out.mpi = std::move(mpi);
  return out;
}

/// The same over PMIx.
Result<BenchGroup> meet_by_pmix(std::unique_ptr<study::PmixJob> job, runtime::HostRun run) {
  run.rank = job->rank();
  BUSBAR_ASSIGN(runtime::Listener listener, runtime::Listener::open(own_address(0)));
  std::string own = own_address(listener.port());
  if (run.rank == 0) {
    BUSBAR_ASSIGN(const std::string secret, runtime::new_secret());
    own += ' ' + secret;
  }
  BUSBAR_ASSIGN(run.addresses, job->exchange(own, run.timeout_s));
  std::string& first = run.addresses.front();
  run.secret = first.substr(first.find(' ') + 1);
  first.resize(first.find(' '));
  job.reset();
  return group_of(std::move(listener), run);
}

/// Slurm says which nodes there are and how many tasks each has; ports follow from the number of the job.
Result<BenchGroup> meet_by_slurm(const BenchRequest& q, runtime::HostRun run) {
  BUSBAR_ASSIGN(run.secret, secret_of(q));
  run.rank = number_from_environment("SLURM_PROCID").value_or(0);
  BUSBAR_ASSIGN(const auto nodes, expand_nodes(from_environment("SLURM_STEP_NODELIST")));
  BUSBAR_ASSIGN(const auto tasks, expand_tasks(from_environment("SLURM_STEP_TASKS_PER_NODE")));
  const std::uint32_t job = number_from_environment("SLURM_JOB_ID").value_or(0);
  constexpr std::uint32_t kFirstPort = 20000, kPorts = 10000;  // below those that the system gives away (32768)
  for (std::size_t n = 0; n < std::min(nodes.size(), tasks.size()); ++n)
    for (std::uint32_t t = 0; t < tasks[n]; ++t)
      run.addresses.push_back(fmt::format("{}:{}", nodes[n], kFirstPort + (job * 131 + t) % kPorts));
  if (run.rank >= run.addresses.size())
    return invalid(
        "srun spread the tasks in a way that its variables do not say; use --distribution=block, or --hosts");
  BUSBAR_ASSIGN(runtime::Listener listener, runtime::Listener::open(run.addresses[run.rank]));
  return group_of(std::move(listener), run);
}

/// By whom the processes of this run were started, and how they meet: the first of these that knows them.
struct BenchLauncher {
  std::unique_ptr<study::Peers> mpi;
  std::unique_ptr<study::PmixJob> pmix;
  bool slurm = false;
};

/// Errors: of MPI or PMIx, where nothing after it knows the processes either. Slurm's variables need a secret.
Result<BenchLauncher> find_launcher(const BenchRequest& q) {
  BenchLauncher out;
  Result<std::unique_ptr<study::Peers>> mpi = study::Peers::join("run by itself; name the hosts with --hosts");
  if (mpi.ok() && *mpi) {
    out.mpi = std::move(*mpi);
    return out;
  }
  Result<std::unique_ptr<study::PmixJob>> pmix = study::PmixJob::join();
  if (pmix.ok() && *pmix) {
    out.pmix = std::move(*pmix);
    return out;
  }
  out.slurm = number_from_environment("SLURM_STEP_NUM_TASKS").value_or(1) > 1;
  const bool may_meet = out.slurm && (pmix.ok() || secret_of(q).ok());
  if (!pmix.ok() && !may_meet) return pmix.error();
  if (!mpi.ok() && !may_meet) return mpi.error();
  return out;
}

}  // namespace

Result<BenchGroup> meet_bench_group(const BenchRequest& q, const std::string& words, const busbar::Context& context) {
  if (q.hosts.empty() && q.rank) return invalid("needs --hosts", field_of("rank"));
  BenchLauncher by;
  if (q.hosts.empty()) {
    BUSBAR_ASSIGN(by, find_launcher(q));
    if (!by.mpi && !by.pmix && !by.slurm) return BenchGroup();
  }
  BUSBAR_ASSIGN(const runtime::Transport transport, bench_transport(q, true));
  const runtime::HostRun run = run_of(q, words, transport, context);
  if (!q.hosts.empty()) return meet_by_file(q, run);
  if (by.mpi) return meet_by_mpi(std::move(by.mpi), run, context);
  return by.pmix ? meet_by_pmix(std::move(by.pmix), run) : meet_by_slurm(q, run);
}

Result<std::vector<std::string>> parse_hosts(const std::string& text, const std::string& file) {
  std::vector<std::string> out;
  int number = 0;
  for (const auto& whole : split_at(text, '\n')) {
    ++number;
    const std::string line(formats::trimmed(whole.substr(0, whole.find('#'))));
    if (line.empty()) continue;
    const std::size_t colon = line.rfind(':');
    std::uint16_t port = 0;
    if (colon == std::string::npos || colon == 0 || !is_number(line.substr(colon + 1), port) || port == 0 ||
        line.find(' ') != std::string::npos)
      return invalid(fmt::format("'{}' is not an address such as 10.0.0.1:7000", line), {file, number, 0, ""});
    if (std::find(out.begin(), out.end(), line) != out.end())
      return invalid(fmt::format("'{}' is there twice; each rank has a port of its own", line), {file, number, 0, ""});
    out.push_back(line);
  }
  if (out.size() < 2) return invalid("needs two lines or more, an address per rank", {file, 0, 0, ""});
  return out;
}

namespace {

/// Splits at commas outside brackets.
std::vector<std::string> at_commas(const std::string& text) {
  std::vector<std::string> out(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth == 0)
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

}  // namespace

Result<std::vector<std::string>> expand_nodes(const std::string& names) {
  constexpr std::size_t kMost = 65536;
  std::vector<std::string> out;
  for (const std::string& part : at_commas(names)) {
    const std::size_t open = part.find('['), close = part.find(']');
    if (open == std::string::npos) {
      if (!part.empty()) out.push_back(part);
      continue;
    }
    const Error bad = invalid(fmt::format("'{}' is no list of nodes", names));
    if (close == std::string::npos || close < open) return bad;
    const std::string before = part.substr(0, open), after = part.substr(close + 1);
    const std::string ranges = part.substr(open + 1, close - open - 1);
    for (const auto& range : split_at(ranges, ',')) {
      const std::string first(range.substr(0, range.find('-'))),
          last(range.find('-') == std::string::npos ? first : std::string(range.substr(range.find('-') + 1)));
      std::uint32_t from = 0, to = 0;
      if (!is_number(first, from) || !is_number(last, to) || to < from || to - from > kMost) return bad;
      for (std::uint32_t i = from; i <= to; ++i)
        out.push_back(fmt::format("{}{:0{}}{}", before, i, first.size(), after));
    }
  }
  if (out.empty() || out.size() > kMost) return invalid(fmt::format("'{}' is no list of nodes", names));
  return out;
}

Result<std::vector<std::uint32_t>> expand_tasks(const std::string& tasks) {
  constexpr std::uint32_t kMost = 65536;
  std::vector<std::uint32_t> out;
  for (const auto& part : split_at(tasks, ',')) {
    const std::size_t open = part.find("(x");
    std::uint32_t n = 0, times = 1;
    const bool ok = is_number(part.substr(0, open), n) &&
                    (open == std::string::npos ||
                     (part.back() == ')' && is_number(part.substr(open + 2, part.size() - open - 3), times)));
    if (!ok || times > kMost) return invalid(fmt::format("'{}' is no list of tasks per node", tasks));
    out.insert(out.end(), times, n);
  }
  return out;
}

}  // namespace busbar::questions
