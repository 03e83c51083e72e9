#include "busbar/cli/explore_page.h"

namespace busbar::cli {

// Fields, state and requests. What is drawn of an answer is in explore_drawing_script().
std::string_view explore_script() {
  return R"js('use strict';
const find = id => document.getElementById(id);
const make = (tag, attributes, parent) => {
  const e = document.createElement(tag);
  for (const k in attributes) if (k in e && k !== 'list') e[k] = attributes[k]; else e.setAttribute(k, attributes[k]);
  parent.append(e);
  return e;
};
const fields = new Map();  // key -> {get, set, allow}
let held = '';             // the slider that is being dragged
let tab = 'step';

const addList = (f, row) => {
  const select = make('select', {id: f.key, onchange: () => changed(f.key, true)}, row);
  const add = v => make('option', {value: v, textContent: v || f.blank}, select);
  f.values.forEach(add);
  return {get: () => select.value, allow: () => {}, next: by => select.options[select.selectedIndex + by]?.value, set: v => {
    if (![...select.options].some(o => o.value === v)) add(v);
    select.value = v;
  }};
};
// A slider over the legal values, and a number for any other. Without a first value the lowest stop is the machine's own.
const addSlider = (f, row) => {
  let stops = f.values;
  const slider = make('input', {type: 'range', min: 0, step: 1, 'aria-label': f.label}, row);
  const number = make('input', {type: 'number', id: f.key, min: 0, step: 'any', placeholder: f.first ? '' : 'own'}, row);
  const nearest = v => v === '' ? 0 : stops.reduce((best, s, i) => s === '' ? best :
    stops[best] === '' || Math.abs(Math.log(s / v)) < Math.abs(Math.log(stops[best] / v)) ? i : best, 0);
  const show = () => {
    slider.max = stops.length - 1;
    if (held !== f.key) slider.value = nearest(number.value);
    slider.disabled = stops.length < 2;
    slider.setAttribute('aria-valuetext', number.value || f.blank);
  };
  slider.onpointerdown = () => { held = f.key; };
  slider.oninput = () => { number.value = stops[slider.value]; show(); changed(f.key, !held); };
  slider.onchange = () => { held = ''; changed(f.key, true); };
  number.oninput = () => { show(); changed(f.key, false); };
  number.onchange = () => changed(f.key, true);
  return {get: () => number.value, set: v => { number.value = v; show(); },
    next: by => { const at = stops.indexOf(number.value); return at < 0 ? '' : stops[at + by]; },
    allow: list => { if (held === f.key || !list) return; stops = f.first ? list.map(String) : ['', ...list.map(String)]; show(); }};
};
for (const f of facts.fields) {
  const row = make('div', {}, find('fields'));
  row.dataset.tab = f.tab;
  make('label', {htmlFor: f.key, textContent: f.label, title: f.help}, row);
  fields.set(f.key, f.list ? addList(f, row) : addSlider(f, row));
  if (f.file) {
    const label = make('label', {className: 'file', textContent: 'own file \u2026'}, make('div', {className: 'wide'}, find('fields')));
    label.parentNode.dataset.tab = f.tab;
    make('input', {type: 'file', accept: '.yaml,.yml,.json,.xml', 'aria-label': f.label + ' from a file', onchange: e => upload(f, e.target)}, label);
  }
}
find('fields').onsubmit = event => event.preventDefault();
addEventListener('pointerup', () => { if (held) { const key = held; setTimeout(() => { if (held === key) { held = ''; changed(key, true); } }); } });
addEventListener('pointercancel', () => { held = ''; });

const upload = async (f, input) => {
  const file = input.files[0];
  if (!file) return;
  let said = {name: '', message: 'has more than 1 MiB'};
  if (file.size <= facts.longest_file) try {
    said = await (await fetch('file?' + new URLSearchParams({kind: f.file, name: file.name}), {method: 'POST', body: file})).json();
  } catch { said.message = 'busbar explore does not take it'; }
  input.value = '';
  if (!said.name) { mended([], file.name + ': ' + said.message); return; }
  fields.get(f.key).set(said.name);
  known.clear();  // the file may be another one under the same name
  changed(f.key, true);
};

const query = (other = '', value = '') => new URLSearchParams(  // of the fields, or with another value in one of them
  facts.fields.filter(f => !f.tab || f.tab === tab).map(f => [f.key, f.key === other ? value : fields.get(f.key).get()])
    .filter(([, v]) => v !== '')).toString();
// The state is the part of the address after '#', with the version that made the link.
const address = () => '#v=' + facts.version + '&tab=' + tab + '&' + query();
const read = () => {
  const given = new URLSearchParams(location.hash.slice(1));
  choose(given.get('tab') === 'collective' ? 'collective' : 'step');
  for (const f of facts.fields) fields.get(f.key).set(given.has('node') ? given.get(f.key) ?? '' : f.first);
  for (const f of facts.fields) if (f.first && !fields.get(f.key).get()) fields.get(f.key).set(f.first);
  const version = given.get('v');
  find('version').textContent = version && version !== facts.version ?
    'This link was made with Busbar ' + version + '; this is ' + facts.version + ', whose figures may differ.' : '';
};
const choose = name => {
  tab = name;
  for (const b of document.querySelectorAll('[data-choose]')) b.setAttribute('aria-pressed', b.dataset.choose === tab);
  for (const e of document.querySelectorAll('[data-tab]')) e.hidden = e.dataset.tab && e.dataset.tab !== tab;
};
for (const b of document.querySelectorAll('[data-choose]')) b.onclick = () => { choose(b.dataset.choose); changed('', true); };

const known = new Map();  // path and state -> answer, the last 200
const keep = (state, answer) => {
  known.set(state, answer);
  if (known.size > 200) known.delete(known.keys().next().value);
  return answer;
};
const path = () => tab === 'step' ? 'answer?' : 'collective?';
const gone = {status: 2, result: null, message: 'busbar explore has ended, or does not answer; start it again.'};
let moved = 'tp', looking = false, wanted = null, asking = null, early = null, begun = 0, settled = '', moving = false;

// A change: first a look, which mends what cannot run and estimates; then the answer. Of several changes meanwhile, the
// last one counts. `final`: the user has let go.
const changed = (key, final) => {
  if (key) moved = key;
  if (early) early.abort();
  begun = performance.now();
  const state = address();
  if (state !== settled && !moving) history.pushState(null, '', state);  // the back button returns to where a drag began
  else history.replaceState(null, '', state);
  moving = !final && state !== settled;
  if (!moving) settled = state;
  document.querySelector('main').setAttribute('aria-busy', 'true');
  later();
  const seen = known.get(path() + query());
  if (seen && !key) { answered(seen); return; }
  if (seen) answered(seen, true);
  wanted = {state: query(), moved: key || '', tab};
  if (!looking) look();
};
const look = async () => {
  looking = true;
  while (wanted) {
    const mine = wanted;
    wanted = null;
    let said = {values: {}, stops: {}, mended: [], message: ''};
    if (mine.tab === 'step' || mine.moved === 'node' || mine.moved === 'gpus' || !mine.moved)
      try { said = await (await fetch('look?' + mine.state + '&moved=' + mine.moved)).json(); } catch { wanted = null; answered(gone); break; }
    if (wanted) { estimate(said); continue; }
    for (const key in said.values) if (fields.has(key) && (said.mended.length || key !== held)) fields.get(key).set(said.values[key]);
    for (const [key, f] of fields) f.allow(said.stops[key]);
    mended(said.mended, said.message);
    if (said.mended.length) history.replaceState(null, '', address());
    if (!moving) settled = address();
    estimate(said);
    ask();
  }
  looking = false;
};
const ask = async () => {
  const mine = path() + query();
  if (asking && asking.state === mine) return;
  if (asking) asking.abort();  // the server stops that run
  const run = asking = new AbortController();
  run.state = mine;
  let answer = known.get(mine);
  if (!answer) try { answer = keep(mine, await (await fetch(mine, {signal: run.signal})).json()); }
  catch { answer = run.signal.aborted ? null : gone; }
  if (asking === run) asking = null;
  if (answer && mine === path() + query() && !wanted) answered(answer);
};

// While nothing else runs, the page asks for the states that are one move away; those of the field used last come first.
const near = () => {
  const states = [];
  for (const key of new Set([moved, 'tp', 'pp', 'micro_batch', 'global_batch', 'zero', 'recompute', 'vpp', 'precision', 'seq'])) {
    if (!fields.has(key) || key === 'node') continue;
    for (const next of [1, -1]) {
      const value = fields.get(key).next?.(next);
      if (value) states.push('answer?' + query(key, value));
    }
  }
  return states;
};
const askAhead = async () => {
  if (tab !== 'step') return;
  const mine = early = new AbortController();
  for (const state of near()) {
    if (mine.signal.aborted || document.hidden || job) return;
    if (known.has(state)) continue;
    try { keep(state, await (await fetch(state, {signal: mine.signal})).json()); } catch { return; }
  }
};

// The rest of the report follows when nothing has changed for a while.
const frame = find('frame');
let waiting = 0;
const later = state => {
  clearTimeout(waiting);
  find('frame-note').textContent = '';
  if (!state) { frame.classList.add('late'); if (frame.dataset.busy) { delete frame.dataset.busy; frame.src = 'about:blank'; frame.hidden = true; } return; }
  waiting = setTimeout(() => {
    find('frame-note').textContent = tab === 'step' ? 'Timeline, changes and scaling follow \u2026' : 'The chunks on their way, and all sizes follow \u2026';
    frame.dataset.busy = 1;
    frame.src = (tab === 'step' ? 'details?' : 'sizes?') + state;
  }, 700);
};
frame.onload = () => {
  const page = frame.contentDocument;
  if (!frame.dataset.busy || !page || page.location.protocol === 'about:') return;
  delete frame.dataset.busy;
  frame.classList.remove('late');
  find('frame-note').textContent = page.querySelector('.page') ? '' : page.body.textContent;
  if (!page.querySelector('.page')) return;
  for (const e of page.querySelectorAll('header, nav, footer, .skip')) e.hidden = true;
  if (tab === 'step') {
    for (const e of page.querySelectorAll('.highlight, figure.brief')) e.hidden = true;  // they stand above
    for (const e of page.querySelectorAll('details')) if (e.firstElementChild.textContent === 'Scaling') e.open = true;
  }
  page.querySelector('.page').style.cssText = 'max-width:none;padding:0';
  frame.hidden = false;
  new ResizeObserver(() => { frame.style.height = page.querySelector('.page').scrollHeight + 8 + 'px'; })
    .observe(page.querySelector('.page'));
  askAhead();
};
)js";
}

}  // namespace busbar::cli
