#include "busbar/cli/explore_page.h"

#include <fmt/core.h>

#include "busbar/base/json.h"
#include "busbar/cli/explore_fields.h"
#include "busbar/cli/explore_server.h"
#include "busbar/report/style.h"
#include "busbar/views/step_parts.h"
#include "busbar/workload/memory.h"

namespace busbar::cli {
namespace {

constexpr std::string_view kStyle = R"(.page{max-width:1320px;padding-top:24px}
.both{display:grid;grid-template-columns:minmax(300px,380px) minmax(0,1fr);gap:0 40px;align-items:start}
@media(max-width:860px){.both{grid-template-columns:minmax(0,1fr)}.page{padding:16px}}
form div{display:grid;grid-template-columns:9.5rem minmax(0,1fr) 5.5rem;gap:0 10px;align-items:center;min-height:36px}
form label{font-size:.875rem;line-height:1.25}
select,input[type=number]{font:inherit;font-size:.875rem;color:var(--ink);background:var(--bg);border:1px solid var(--muted);border-radius:4px;padding:3px 6px;width:100%;min-width:0}
select{grid-column:2/4}input[type=range]{width:100%;min-width:0;accent-color:var(--accent)}
button{font:inherit;font-size:.875rem;color:var(--ink);background:var(--soft);border:1px solid var(--muted);border-radius:4px;padding:4px 12px;cursor:pointer}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
.late{opacity:.55}
#about{margin:0 0 12px;font-weight:550;border-left:4px dashed var(--muted);padding-left:16px}
#mended:empty,#version:empty,#frame-note:empty{display:none}
form .wide{display:block;min-height:30px;text-align:right}.file{color:var(--accent);cursor:pointer;text-decoration:underline;position:relative}
.file input{position:absolute;inset:0;opacity:0;width:100%;cursor:pointer;font-size:16px}.file:focus-within{outline:3px solid var(--accent);outline-offset:2px}
form div[hidden],.buttons[hidden],.file[hidden]{display:none}
[aria-pressed=true]{background:var(--accent);color:var(--bg);border-color:var(--accent)}
dd s{color:var(--muted)}
.bar{position:relative;display:flex;height:34px;border:1px solid var(--rule);border-radius:3px;overflow:hidden;background:var(--soft)}
.bar i{flex:none;height:100%}
button[hidden]{display:none}
main td{min-width:0;padding-right:18px}td button{padding:1px 10px}
#frame{width:100%;border:0;display:block;margin-top:8px}
.buttons{display:flex;flex-wrap:wrap;gap:10px;align-items:center;margin:0 0 12px}.line{margin:0 0 12px}
)";

/// `text` for a script element: without "<", nothing in it ends the element.
std::string for_script(std::string text) {
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at))
    text.replace(at, 1, "\\u003c");
  return text;
}

Json step_parts_json() {
  Json out = Json::array();
  for (const views::StepPart& p : views::step_parts())
    out.push_back({{"key", p.key}, {"name", p.words}, {"colour", p.colour}});
  return out;
}

Json memory_parts_json() {
  Json out = Json::array();
  for (const workload::MemoryPart& p : workload::memory_parts({}))
    out.push_back({{"key", p.name}, {"name", p.name}, {"colour", views::memory_colours()[out.size()]}});
  return out;
}

}  // namespace

std::string explore_policy(std::string_view nonce) {
  return fmt::format(
      "default-src 'none'; script-src 'nonce-{0}'; style-src 'nonce-{0}'; connect-src 'self'; frame-src 'self'; "
      "img-src data:; base-uri "
      "'none'; "
      "form-action 'none'; frame-ancestors 'none'",
      nonce);
}

std::string explore_page(std::string_view nonce) {
  const Json facts{{"fields", explore_fields()},
                   {"step", step_parts_json()},
                   {"memory", memory_parts_json()},
                   {"version", BUSBAR_VERSION},
                   {"longest_file", LocalServer::kLongestBody}};
  return fmt::format(R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/>
<link rel="icon" href="data:,"/>
<title>busbar explore</title>
<style nonce="{0}">
{1}{2}{3}</style>
</head>
<body>
<div class="page">
<header><h1>Explore</h1>
<div class="buttons"><button type="button" data-choose="step" aria-pressed="true">Training step</button>
<button type="button" data-choose="collective" aria-pressed="false">Collective</button></div>
<p class="note" id="version" role="status"></p></header>
<div class="both">
<form id="fields" aria-label="machine, model and layout"></form>
<main>
<p class="note" id="mended" role="status"></p>
<p id="about" hidden></p>
<p class="highlight" id="verdict" role="status">Computing.</p>
<div id="fits" class="block scroll" tabindex="0" role="region" aria-label="what would make it fit" hidden>
<table id="fits-table"></table><p class="note" id="fits-note"></p></div>
<div class="facts"><dl id="facts"></dl></div>
<figure class="brief"><figcaption id="step-title">Where the time goes</figcaption><div class="bar" id="step"></div>
<ul class="legend" id="step-legend"></ul></figure>
<figure class="brief"><figcaption id="memory-title">Memory per GPU</figcaption><div class="bar" id="memory"></div>
<ul class="legend" id="memory-legend"></ul></figure>
<p class="command line"><code id="command"></code></p>
<div id="versus" class="block scroll" tabindex="0" role="region" aria-label="A against B" hidden>
<table id="versus-table"></table><p class="note" id="versus-note"></p>
<div class="buttons"><button type="button" id="back">Back to A</button><button type="button" id="unpin">Unpin</button></div></div>
<div class="buttons"><button type="button" id="pin">Pin as A</button><button type="button" id="copy">Copy the command</button>
<button type="button" id="save">Save the report</button><span class="note" id="time" role="status"></span></div>
<div class="buttons" data-tab="step"><button type="button" id="plan">Find the fastest layout</button>
<button type="button" id="machines">Compare machines</button><button type="button" id="fabrics">Compare fabrics</button>
<button type="button" id="cancel" hidden>Cancel</button><span class="note" id="progress" role="status"></span></div>
<div id="long" hidden><p class="command line"><code id="long-command"></code></p>
<div class="block scroll" tabindex="0" role="region" aria-label="result"><table id="long-table"></table></div>
<p class="note" id="long-note"></p></div>
</main>
</div>
<section aria-label="the rest of the report"><p class="note" id="frame-note"></p>
<iframe id="frame" title="Timeline, changes, links and scaling of this step" hidden></iframe></section>
<noscript><p>This page needs its script. The command busbar train answers without a browser.</p></noscript>
</div>
<script nonce="{0}">const facts = {4};
{5}{6}</script>
</body>
</html>
)",
                     nonce, report::palette_css(":root"), report::page_css(), kStyle, for_script(facts.dump()),
                     explore_script(), explore_drawing_script());
}

}  // namespace busbar::cli
