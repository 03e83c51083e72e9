#include "busbar/report/style.h"

namespace busbar::report {

std::string_view page_css() {
  return R"(:root{--bad:#a3122a}@media screen and (prefers-color-scheme:dark){:root{--bad:#ff8a94}}
*{box-sizing:border-box}
html{color-scheme:light dark;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--bg);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;font-variant-numeric:tabular-nums}
.page{max-width:1120px;margin:0 auto;padding:40px 32px 64px}
h1{font-size:1.75rem;line-height:1.2;font-weight:650;letter-spacing:-.01em;margin:0 0 10px;overflow-wrap:anywhere}
h2{font-size:1.25rem;line-height:1.3;font-weight:650;margin:56px 0 16px;padding-top:20px;border-top:1px solid var(--rule)}
p{margin:0 0 16px;max-width:76ch;overflow-wrap:anywhere}
code{font:.85em/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.command{margin:0 0 28px;color:var(--muted);overflow-wrap:anywhere;max-width:none}
.highlight{margin:24px 0 28px;padding:16px 20px;border-left:4px solid var(--accent);background:var(--soft);border-radius:0 6px 6px 0;font-size:1.125rem;line-height:1.5;font-weight:500;max-width:none}
.bad{border-left-color:var(--bad)}.bad::before{content:"\2715";content:"\2715"/"";display:inline-block;width:1.6em;margin-right:.6em;border-radius:50%;background:var(--bad);color:var(--bg);line-height:1.6em;text-align:center;font-weight:700}.bad~figure.lights tspan[dx]{text-decoration:line-through;stroke:none}
.skip{position:absolute;left:-999px;top:8px;padding:8px 14px;background:var(--bg);color:var(--ink);border:1px solid var(--muted)}
.skip:focus{left:8px}
a{color:var(--accent)}
a:focus-visible,[tabindex]:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:4px 20px;margin:0 0 24px;padding:0;font-size:.9rem}
.facts{margin:0 0 28px}
.title{font-size:1rem;font-weight:600;margin:0 0 12px;line-height:1.35}
.facts dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(200px,1fr));gap:0 32px;margin:0}
.facts div{padding:10px 0;border-top:1px solid var(--rule)}
dt{color:var(--muted);font-size:.8125rem;line-height:1.35}
dd{margin:2px 0 0;font-size:1.0625rem;font-weight:550;line-height:1.35;overflow-wrap:anywhere}
.list dl{display:block;max-width:none}.list div{display:grid;grid-template-columns:11rem minmax(0,1fr);gap:0 16px;padding:7px 0}
.list dt{font-size:.875rem;line-height:1.5}.list dd{margin:0;font-size:.9375rem;font-weight:400;line-height:1.45;max-width:92ch}
.scroll{overflow-x:auto;max-width:100%}
.block{margin:0 0 36px}.n{white-space:nowrap}
table{border-collapse:collapse;font-size:.875rem;line-height:1.4;min-width:min(100%,420px)}
th,td{padding:5px 14px 5px 0;text-align:left;vertical-align:top;font-weight:400}
th.r,td.r{text-align:right;padding:5px 0 5px 22px;white-space:nowrap;min-width:0}
th.r+th:not(.r),td.r+td:not(.r),th.r+td:not(.r){padding-left:26px}
thead th{color:var(--muted);font-weight:600;font-size:.8125rem;border-bottom:1.5px solid var(--muted);vertical-align:bottom}thead th.r{white-space:normal}
tbody tr+tr>*{border-top:1px solid var(--rule)}
tbody tr:hover>*{background:var(--soft)}
.worse{color:var(--bad)}.better{color:#0a6b3d}@media(prefers-color-scheme:dark){.better{color:#5fd39a}}
.meter{display:inline-block;vertical-align:middle;width:84px;height:9px;margin-right:12px;border-radius:2px;background:var(--rule);overflow:hidden}
.meter i{display:block;height:100%}
.note{color:var(--muted);font-size:.8125rem;line-height:1.5;margin:10px 0 0;max-width:90ch}
figure{margin:0 0 40px}figure.brief{margin:0 0 20px}
details{border-top:1px solid var(--rule)}details:last-of-type{border-bottom:1px solid var(--rule)}
summary{padding:12px 0;font-weight:600;cursor:pointer}summary:focus-visible{outline:3px solid var(--accent);outline-offset:2px}details[open]>summary{margin-bottom:12px}
figcaption{font-size:1rem;font-weight:600;margin:0 0 12px}
svg{display:block}
.sw{display:inline-block;width:12px;height:12px;margin-right:8px;border-width:1px;border-style:solid;border-radius:2px;vertical-align:-1px}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:4px 20px;margin:10px 0 0;padding:0;font-size:.8125rem;color:var(--muted)}
.part{font:inherit;color:inherit;text-align:inherit;background:none;border:0;padding:2px 0;margin:-2px 0;cursor:pointer}.lights text{pointer-events:none}
.parts{margin-top:14px}.parts th{white-space:nowrap}
tbody th{min-width:6em}td:not(.r){min-width:10em}
.grid{stroke:var(--rule);stroke-width:1}.halo{stroke:var(--bg);stroke-width:4;opacity:.8}.mark{stroke:var(--ink);stroke-width:1.5;stroke-dasharray:4 3}
.over{paint-order:stroke;stroke:var(--bg);stroke-width:5px}.thin{stroke-width:1}.bars text{font-size:13px}.bars .tick{font-size:12px}
.a1,.a2{display:none}
.timeline{display:grid;grid-template-columns:max-content minmax(0,1fr);column-gap:14px}
.names{font-size:.75rem;line-height:20px;white-space:nowrap}
.names div{height:20px}.names .g{font-weight:600;height:26px;padding-top:6px}.names .s{color:var(--muted);padding-left:10px}
.plot{min-width:640px}
.plot svg{width:100%}
.plot rect{stroke:var(--bg);stroke-width:.7;vector-effect:non-scaling-stroke}
.plot .grid,.plot .mark{vector-effect:non-scaling-stroke}
.lane{fill:var(--soft)}.critical{fill:var(--ink)}
.ticks{position:relative;height:22px;font-size:.75rem;line-height:22px;color:var(--muted);overflow:hidden}
.ticks span{position:absolute;transform:translateX(-50%);white-space:nowrap}
.ticks .first{transform:none}.ticks .last{transform:translateX(-100%)}
.stage{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,var(--w)),1fr));gap:24px 32px}.pane{min-width:0}.pane.none .scroll{display:none}.pane select{font:inherit;font-size:.875rem;padding:4px 6px;min-height:32px;max-width:100%;color:var(--ink);background:var(--soft);border:1px solid var(--muted);border-radius:5px}
.pane label{font-size:.8125rem;color:var(--muted)}.pane p{margin:6px 0}.left{font-size:.875rem}.left.done{font-weight:650}.clock{font-size:.875rem;min-width:10rem}.law{font-size:1.0625rem;min-height:3.4em}.law span{border-radius:3px;padding:1px 2px}.terms{display:flex;flex-wrap:wrap;gap:2px 14px;font-size:.8125rem}.law .lit{background:var(--ink);color:var(--bg)}
.motion .tools input{flex:1 1 12rem;padding:0}.motion svg{margin:0 auto}.ways line{stroke-width:4}.dots circle{stroke:var(--bg);stroke-width:1.5}.room{fill:var(--bg)}.filled{fill:var(--c2)}.heat i{display:inline-block;width:14px;height:10px}
.tiles{position:absolute}figure{position:relative}figure:has(>.save)>figcaption{padding-right:104px}figcaption~.save{position:absolute;top:0;right:0}.save{margin:0;max-width:none;display:flex;gap:6px;justify-content:flex-end}.save button{font:inherit;font-size:.75rem;padding:2px 8px;min-height:24px;color:var(--muted);background:none;border:1px solid var(--rule);border-radius:4px;cursor:pointer}.hatch{fill:none;stroke:var(--hatch)}.map{margin-top:6px}.tools [aria-pressed=true]{background:var(--ink);color:var(--bg)}
.explorer{position:relative}.tools{display:flex;flex-wrap:wrap;gap:6px;margin:0 0 8px;align-items:center}
.tools button,.tools input{font:inherit;font-size:.875rem;padding:5px 11px;min-height:32px;color:var(--ink);background:var(--soft);border:1px solid var(--muted);border-radius:5px}.tools input{min-width:9rem;flex:0 1 14rem}
.count{color:var(--muted);font-size:.8125rem}
canvas{display:block;width:100%;touch-action:pan-y;cursor:grab}canvas.map{cursor:pointer;touch-action:none}canvas:active{cursor:grabbing}button:focus-visible,input:focus-visible,canvas:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
.tip{position:absolute;z-index:2;max-width:30rem;padding:5px 10px;font-size:.8125rem;background:var(--bg);border:1px solid var(--muted);border-radius:5px;pointer-events:none}
.why{margin:8px 0 0;font-size:.875rem;min-height:3em}.why ol{margin:4px 0 0;padding-left:20px}.why button{font:inherit;color:var(--accent);background:none;border:0;padding:2px 0;text-align:left;cursor:pointer;text-decoration:underline}
.drawing svg{width:100%;height:auto}
footer{margin-top:56px;padding-top:16px;border-top:1px solid var(--rule);color:var(--muted);font-size:.8125rem}
@media (min-width:640px){.a1{display:inline}.z1{display:none}}
@media (min-width:1000px){.a2{display:inline}.z2{display:none}}
@media (max-width:639px){.page{padding:24px 16px 48px}h1{font-size:1.375rem}h2{margin-top:40px}.facts dl{grid-template-columns:1fr 1fr;gap:0 20px}.list div{display:block}.names{font-size:.6875rem}.timeline{column-gap:8px}td:not(.r):last-child{min-width:17em}tbody th:not(.r):not(:last-child){min-width:12em}.parts tbody th{min-width:9em}}
@media print{details:not(.screen)::details-content{content-visibility:visible;display:block;height:auto}details.screen::details-content{display:none}details.screen>summary{margin:0;color:var(--muted)}details.screen>summary::after{content:": on the screen only";font-weight:400}h2.new{break-before:page}summary{list-style:none;padding:3px 0}details[open]>summary{margin-bottom:4px}@page{margin:11mm}body{font-size:9pt;line-height:1.35}details figure.bars>svg{display:none}h1{font-size:16pt}h2{font-size:12pt;padding-top:8px;margin:14px 0 8px}.highlight{margin:8px 0 10px;padding:8px 14px;font-size:10.5pt}.command{margin:0 0 8px}p{margin:0 0 8px}figure,figure.brief,.block,.facts{margin:0 0 10px}.title,figcaption{font-size:9.5pt;margin-bottom:4px;padding-bottom:3px}.list dl div{padding:2px 0}.list dd,.list dt{font-size:8pt}.tools,.save,.map,.why,.count,.note.gathered,.bars .also,.bars .note{display:none}footer{margin-top:14px}.page{max-width:none;padding:0}nav,.skip{display:none}.scroll{overflow:visible}.plot{min-width:0}h1,h2,.title,figcaption{break-after:avoid}tr,svg,.timeline,.facts div,.highlight{break-inside:avoid}.timeline{zoom:var(--fit)}p{orphans:3;widows:3}thead{display:table-header-group}table,thead th{font-size:8.5pt}th,td{padding:2px 8px 2px 0}th.r,td.r{padding:2px 0 2px 10px}th.r+th:not(.r),td.r+td:not(.r),th.r+td:not(.r){padding-left:14px}tbody th,td:not(.r),td:not(.r):last-child{min-width:0}td:not(.r),thead th{overflow-wrap:anywhere}svg,.sw,.meter,.meter i,.highlight{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
)";
}

}  // namespace busbar::report
