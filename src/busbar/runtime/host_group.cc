#include "busbar/runtime/host_group.h"

#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "busbar/runtime/host_rates.h"
#include "busbar/runtime/internal/act.h"
#include "busbar/runtime/internal/host_session.h"
#include "busbar/runtime/internal/host_sockets.h"
#include "busbar/runtime/internal/library_wire.h"
#include "busbar/runtime/internal/watch.h"

namespace busbar::runtime {

/// Meetings and frames go on from one call of run_tasks() to the next.
struct HostGroup::State {
  State(Mesh m, const HostRun& r)
      : run(r),
        mesh(std::move(m)),
        wire(mesh, r.rank),
        memory(Board::bytes(mesh.actors()) / sizeof(Counter) + 1),
        // A process that waits for a network leaves the core to others.
        board(memory.data(), mesh.actors(), true) {
    wire.join(board);
  }
  Status open_library();
  Wire& data() { return library ? static_cast<Wire&>(*library) : wire; }
  /// Why a run did not go on, with what the others say.
  Error why(const std::string& own);

  HostRun run;
  Mesh mesh;
  TcpWire wire;
  std::vector<Counter> memory;
  Board board;
  std::unique_ptr<LibraryWire> library;  ///< null: data take the sockets
  std::uint32_t next_task = 1;
};

Status HostGroup::State::open_library() {
  if (run.transport == Transport::kTcp) return {};
  const std::string& own = run.addresses[run.rank];
  BUSBAR_ASSIGN(library, LibraryWire::open(run.transport, own.substr(0, own.rfind(':')), wire, run.rank, board));
  return {};
}

Error HostGroup::State::why(const std::string& own) {
  wire.tell_why(own);
  // Others that were at work tell what they waited for a moment later.
  for (int i = 0; i < 200; ++i) {
    wire.poll();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const auto name = [&](std::uint32_t r) { return fmt::format("rank {} ({})", r, run.addresses[r]); };
  std::string text, said = own;
  if (wire.lost()) text = name(*wire.lost()) + " has ended or cannot be reached any more; ";
  for (std::uint32_t r = 0; r < mesh.actors(); ++r) {
    if (!wire.why()[r].empty())
      said += "; " + wire.why()[r];
    else if (!wire.lost() && r != run.rank)
      text += name(r) + " says nothing: it is stopped, or busy outside of this run; ";
  }
  text += said;
  if (library && !wire.lost() && !library->failure().empty()) text += "; " + library->failure();
  return Error{ErrorCode::kIo, text, {}};
}

Result<std::unique_ptr<HostGroup>> HostGroup::join(Listener listener, const HostRun& run) {
  BUSBAR_ASSIGN(Mesh mesh, connect_hosts(listener, run));
  auto state = std::make_unique<State>(std::move(mesh), run);
  BUSBAR_RETURN_IF_ERROR(state->open_library());
  return std::unique_ptr<HostGroup>(new HostGroup(std::move(state)));
}

HostGroup::HostGroup(std::unique_ptr<State> state) : state_(std::move(state)) {}
HostGroup::~HostGroup() = default;
std::uint32_t HostGroup::rank() const { return state_->run.rank; }
std::uint32_t HostGroup::ranks() const { return state_->mesh.actors(); }

Result<std::string> HostGroup::share(const std::string& text) {
  State& s = *state_;
  for (std::uint32_t p = 1; p < ranks() && rank() == 0; ++p) s.wire.send_text(p, text);
  std::optional<std::string> got;
  if (rank() == 0) got = text;
  while (!got && !s.board.ended()) {
    got = s.wire.take_text(0);
    if (!got) s.board.idle(0);
  }
  if (!s.board.meet(rank()) || !got) return s.why(fmt::format("rank {} waited for the others", rank()));
  return *got;
}

namespace {

/// What each rank measured goes to rank 0.
bool collect(TcpWire& wire, Board& board, std::size_t tasks, const Arena& arena, std::uint32_t rank) {
  std::string own;
  for (std::size_t t = 0; t < tasks; ++t)
    own.append(reinterpret_cast<const char*>(&arena.measured(t, rank)), sizeof(Measured));
  if (rank != 0) wire.send_text(0, own);
  for (std::uint32_t p = 1; rank == 0 && p < board.actors(); ++p) {
    std::optional<std::string> text;
    while (!(text = wire.take_text(p)) && !board.ended()) board.idle(0);
    if (!text || text->size() != own.size()) return false;
    for (std::size_t t = 0; t < tasks; ++t)
      std::memcpy(&arena.measured(t, p), text->data() + t * sizeof(Measured), sizeof(Measured));
  }
  return board.meet(rank);
}

}  // namespace

Result<std::vector<TaskResult>> run_on_hosts(const std::vector<Task>& tasks, const SessionOptions& options) {
  HostGroup::State& s = options.hosts->state();
  const std::uint32_t rank = options.hosts->rank();
  BUSBAR_ASSIGN(const Arena arena, Arena::make(tasks, false));
  std::atomic<bool> over{false}, played{false};
  Status stands;
  {
    const std::jthread player([&] {
      played = act(rank, tasks, arena, s.board, &s.data(), s.next_task) &&
               collect(s.wire, s.board, tasks.size(), arena, rank);
      over = true;
    });
    Watch watch(tasks, s.board, options);
    while (!over) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (stands.ok() && !(stands = watch.look()).ok()) s.board.end_run();
    }
  }
  s.next_task += static_cast<std::uint32_t>(tasks.size());
  if (played) return results_of(tasks, arena);
  if (!stands.ok() && options.stop != nullptr && *options.stop != 0) return stands.error();
  const std::string waits = wait_of(rank, tasks, s.board);
  const std::string own =
      waits.empty() ? fmt::format("rank {} did not wait", rank) : fmt::format("rank {} waited for {}", rank, waits);
  return s.why(stands.ok() ? own : fmt::format("{} for {:g} s (--timeout)", own, options.timeout_s));
}

}  // namespace busbar::runtime
