// A new cluster file and its picture.
#include <fmt/core.h>

#include "busbar/questions/new_question.h"
#include "busbar/report/chart.h"
#include "busbar/views/topology_drawing.h"
#include "busbar/views/view.h"

namespace busbar::views {
namespace {

using questions::NewRequest;
using questions::NewResult;

report::Document new_document(const NewRequest&, const NewResult& r) {
  report::Document d{"New cluster", {}, {}};
  d.add(report::Highlight{fmt::format("{}: {} {} of {}, {} GPUs. Picture: {}.", r.file, r.servers,
                                      r.servers == 1 ? "server" : "servers", r.board, r.gpus, r.picture)});
  d.add(report::Paragraph{fmt::format("Every key has a comment; change what differs. Then: busbar topo {}", r.file)});
  return d;
}

std::vector<questions::OutputFile> new_files(const NewRequest&, const NewResult& r) {
  const topology::Topology& t = r.cluster->topology;
  const report::Drawing picture = t.fabric_switches().empty() ? draw_node(t, topology::BlockId{0}) : draw_fabric(t);
  return {{r.picture, report::render_svg(picture)}};
}

}  // namespace

View new_view() {
  View out = make_view("new", new_document);
  out.add_files(new_files);
  return out;
}

}  // namespace busbar::views
