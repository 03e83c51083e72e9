#include "busbar/cli/explore_page.h"

namespace busbar::cli {

std::string_view explore_script() {
  return R"js('use strict';
const find = id => document.getElementById(id);
const make = (tag, attributes, parent) => {
  const e = document.createElement(tag);
  for (const k in attributes) if (k in e && k !== 'list') e[k] = attributes[k]; else e.setAttribute(k, attributes[k]);
  parent.append(e);
  return e;
};
const fields = new Map();  // key -> {get, set}

for (const f of facts.fields) {
  const row = make('div', {}, find('fields'));
  make('label', {htmlFor: f.key, textContent: f.label, title: f.help}, row);
  if (f.list) {
    const select = make('select', {id: f.key, onchange: () => changed(f.key)}, row);
    const add = v => make('option', {value: v, textContent: v || f.blank}, select);
    f.values.forEach(add);
    fields.set(f.key, {get: () => select.value, set: v => { if (!f.values.includes(v)) add(v); select.value = v; }});
  } else {
    const steps = f.values.map(Number);
    const nearest = v => steps.reduce((best, s, i) => Math.abs(Math.log(s / v)) < Math.abs(Math.log(steps[best] / v)) ? i : best, 0);
    const slider = make('input', {type: 'range', min: 0, max: steps.length - 1, step: 1, 'aria-label': f.label}, row);
    const number = make('input', {type: 'number', id: f.key, min: 1, step: 1}, row);
    const show = () => slider.setAttribute('aria-valuetext', number.value);
    slider.oninput = () => { number.value = steps[slider.value]; show(); changed(f.key); };
    number.oninput = () => { slider.value = nearest(Number(number.value) || 1); show(); changed(f.key); };
    fields.set(f.key, {get: () => number.value, set: v => { number.value = v; slider.value = nearest(Number(v) || 1); show(); }});
  }
}
find('fields').onsubmit = event => event.preventDefault();

const query = (other = '', value = '') => new URLSearchParams(  // of the fields, or with another value in one of them
  [...fields].map(([key, f]) => [key, key === other ? value : f.get()]).filter(([, v]) => v !== '')).toString();
const read = () => {  // the state is the part of the address after '#'
  const given = new URLSearchParams(location.hash.slice(1));
  for (const f of facts.fields) fields.get(f.key).set(given.size && given.has(f.key) ? given.get(f.key) : f.first);
};
const digits = (v, n = 3) => Number(v.toPrecision(n)).toLocaleString('en-US', {maximumSignificantDigits: n});
const time = s => { for (const [unit, size] of [['s', 1], ['ms', 1e-3], ['us', 1e-6]]) if (s >= size || unit === 'us') return digits(s / size) + ' ' + unit; };
const money = v => '$' + digits(v, 2);

const bar = (id, parts, values, whole, words) => {
  const box = find(id), legend = find(id + '-legend');
  box.replaceChildren();
  legend.replaceChildren();
  for (const p of parts) {
    const v = values[p.key] || 0;
    if (!(v > 0)) continue;
    const text = p.name + ' ' + words(v);
    make('i', {className: 'k' + p.colour, title: text}, box).style.width = 100 * v / whole + '%';
    const item = make('li', {}, legend);
    make('span', {className: 'sw k' + p.colour}, item);
    item.append(text);
  }
};
const list = items => {
  find('facts').replaceChildren();
  for (const [name, value] of items) {
    const item = make('div', {}, find('facts'));
    make('dt', {textContent: name}, item);
    make('dd', {textContent: value}, item);
  }
};
const draw = r => {
  const m = r.memory_bytes, l = r.layout, b = r.breakdown_s, step = r.step_time_s, cost = r.cost_usd;
  const waits = Object.keys(b).filter(k => k.startsWith('exposed_') || k === 'bubble').reduce((sum, k) => sum + b[k], 0) / step;
  const items = [['step time', time(step)], ['likely', r.likely_step_s.map(time).join(' to ')],
    ['MFU', digits(100 * r.mfu) + ' %'], ['tokens', digits(r.tokens_per_s_per_gpu) + ' /s per GPU'],
    ['GPUs', r.gpus.toLocaleString('en-US')], ['data parallel (DP)', l.dp + ', ' + l.micro_batches + ' micro-batches'],
    ['memory per GPU', digits(m.total / 1e9) + ' of ' + digits(m.capacity / 1e9) + ' GB']];
  if (cost.per_day > 0) items.push(['cost', money(cost.per_day) + ' a day, ' + money(cost.per_day * waits) + ' of it waiting'],
    ['tokens for money', money(cost.per_million_tokens) + ' per million']);
  list(items);
  bar('step', facts.step, b, step, v => time(v) + ' (' + (v < 0.01 * step ? 'below 1' : Math.round(100 * v / step)) + ' %)');
  bar('memory', facts.memory, m, Math.max(m.total, m.capacity), v => digits(v / 1e9, 2) + ' GB');
  find('memory-title').textContent = 'Memory per GPU at its peak (stage ' + m.stage + '); the whole bar is ' +
    digits(Math.max(m.total, m.capacity) / 1e9) + ' GB' + (m.total > m.capacity ? ', more than the GPU has' : '');
};

const known = new Map();  // state -> answer, the last 200
const keep = (state, answer) => {
  known.set(state, answer);
  if (known.size > 200) known.delete(known.keys().next().value);
  return answer;
};
let asked = null, running = null, early = null, moved = 'tp';
// While nothing else runs, the page asks for the states that are one move away; those of the field used last come first.
const near = () => {
  const states = [];
  for (const key of new Set([moved, 'tp', 'pp', 'micro_batch', 'global_batch', 'zero', 'recompute', 'vpp', 'precision', 'seq'])) {
    const values = facts.fields.find(f => f.key === key).values, at = values.indexOf(fields.get(key).get());
    for (const next of at < 0 ? [] : [at + 1, at - 1])
      if (next in values) states.push(query(key, values[next]));
  }
  return states;
};
const askAhead = async () => {
  const mine = early = new AbortController();
  for (const state of near()) {
    if (mine.signal.aborted || document.hidden || job) return;
    if (known.has(state)) continue;
    try { keep(state, await (await fetch('answer?' + state, {signal: mine.signal})).json()); } catch { return; }
  }
};
const changed = key => {
  if (key) moved = key;
  if (early) early.abort();
  asked = query();
  history.replaceState(null, '', '#' + asked);
  later();
  if (running) running.abort();  // the server stops that run
  else ask();
};
const ask = async () => {  // one request at a time; of several changes meanwhile, the last counts
  document.querySelector('main').setAttribute('aria-busy', 'true');
  const begin = performance.now(), late = setTimeout(() => find('verdict').classList.add('late'), 300);
  let answer = null;
  while (!answer) {
    const mine = asked;
    answer = known.get(mine);
    running = new AbortController();
    if (!answer) try { answer = keep(mine, await (await fetch('answer?' + mine, {signal: running.signal})).json()); }
    catch { if (!running.signal.aborted) answer = {status: 2, message: 'busbar explore has ended, or does not answer; start it again.'}; }
    if (asked !== mine) answer = null;
  }
  running = null;
  clearTimeout(late);
  const r = answer.result;
  find('verdict').classList.remove('late');
  find('verdict').textContent = r ? r.verdict : answer.message;
  find('verdict').classList.toggle('bad', answer.status !== 0);
  for (const figure of document.querySelectorAll('figure')) figure.hidden = !r;
  if (r) draw(r); else list([]);
  find('command').textContent = answer.command || '';
  find('copy').hidden = !answer.command;
  find('save').hidden = !r;
  find('time').textContent = 'answered in ' + Math.round(performance.now() - begin) + ' ms';
  document.querySelector('main').removeAttribute('aria-busy');
  if (r) later(asked); else askAhead();
};

// The rest of the report follows when nothing has changed for a while.
const frame = find('frame');
let waiting = 0;
const later = state => {
  clearTimeout(waiting);
  find('frame-note').textContent = '';
  if (!state) { frame.classList.add('late'); if (frame.dataset.busy) { delete frame.dataset.busy; frame.src = 'about:blank'; frame.hidden = true; } return; }
  waiting = setTimeout(() => {
    find('frame-note').textContent = 'Timeline, changes and scaling follow \u2026';
    frame.dataset.busy = 1;
    frame.src = 'details?' + state;
  }, 700);
};
frame.onload = () => {
  const page = frame.contentDocument;
  if (!frame.dataset.busy || !page || page.location.protocol === 'about:') return;
  delete frame.dataset.busy;
  frame.classList.remove('late');
  find('frame-note').textContent = '';
  for (const e of page.querySelectorAll('header, nav, footer, .highlight, figure.brief')) e.hidden = true;  // they stand above
  for (const e of page.querySelectorAll('details'))
    if (e.firstElementChild.textContent === 'Scaling') e.open = true;
  page.querySelector('.page').style.cssText = 'max-width:none;padding:0';
  frame.hidden = false;
  new ResizeObserver(() => { frame.style.height = page.querySelector('.page').scrollHeight + 8 + 'px'; })
    .observe(page.querySelector('.page'));
  askAhead();
};

// Searches and comparisons: lines of JSON, progress first.
const layout = l => ['tp', 'pp', 'vpp', 'dp', 'cp', 'ep'].filter(k => l[k] > 1 || k === 'tp' || k === 'pp' || k === 'dp')
  .map(k => k.toUpperCase() + ' ' + l[k]).join(', ') + ', ZeRO-' + l.zero;
const use = l => {
  for (const k of ['tp', 'pp', 'vpp', 'cp', 'ep', 'micro_batch', 'zero', 'recompute']) fields.get(k).set(String(l[k]));
  fields.get('schedule').set(l.schedule === '1f1b' ? '' : l.schedule);
  changed();
};
const rows = (head, body) => {
  const table = find('long-table');
  table.replaceChildren();
  const top = make('tr', {}, make('thead', {}, table)), rest = make('tbody', {}, table);
  for (const h of head) make('th', {scope: 'col', textContent: h}, top);
  for (const cells of body) {
    const row = make('tr', {}, rest);
    for (const c of cells) {
      const cell = make('td', {textContent: typeof c === 'string' ? c : ''}, row);
      if (typeof c !== 'string') make('button', {type: 'button', textContent: 'Use', onclick: c}, cell);
    }
  }
};
const percent = v => (v > 0 ? '+' : '') + digits(v, 2) + ' %';
const gigabytes = b => digits(b / 1e9) + ' GB';
const show = {
  plan: r => {
    rows(['layout', 'micro-batch', 'recompute', 'schedule', 'step', 'MFU', 'memory', ''], r.layouts.slice(0, 8).map(l => [layout(l.layout),
      String(l.layout.micro_batch), l.layout.recompute, l.layout.schedule, time(l.step_time_s), digits(100 * l.mfu) + ' %',
      gigabytes(l.memory_bytes), () => use(l.layout)]));
    find('long-note').textContent = r.searched.toLocaleString('en-US') + ' layouts, ' + r.timed + ' of them timed; ' +
      (r.complete ? 'none is faster than the first row.' : 'none is more than ' + digits(r.gap_percent, 2) + ' % faster than the first row.');
  },
  compare: r => {
    rows(['', 'step', 'against the first', 'MFU', 'waiting', '$ per million tokens, rented', 'power'], r.rows.map(w => [
      [w.machine, w.fabric, w.change].filter(x => x).join(' '), time(w.step_time_s) + (w.fits ? '' : ' (does not fit)'),
      percent(w.time_percent_more), digits(100 * w.mfu) + ' %', digits(w.exposed_percent, 2) + ' %',
      w.rent_usd_per_million_tokens ? digits(w.rent_usd_per_million_tokens, 2) : '\u2013', digits(w.power_w / 1e3) + ' kW']));
    find('long-note').textContent = 'Differences within the range of a prediction\u2019s error need a measurement.';
  },
};
let job = null;
const start = async kind => {
  if (job) job.abort();
  if (early) early.abort();
  const mine = job = new AbortController(), begin = performance.now();
  const since = () => Math.round((performance.now() - begin) / 1000) + ' s';
  find('cancel').hidden = false;
  find('long').hidden = true;
  find('progress').textContent = 'begun';
  let text = '';
  try {
    const reader = (await fetch(kind + '?' + query(), {signal: mine.signal})).body.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      text += part.value;
      const lines = text.split('\n');
      text = lines.pop();
      for (const line of lines) {
        const news = JSON.parse(line);
        if ('done' in news) {
          find('progress').textContent = news.done.toLocaleString('en-US') +
            (kind === 'plan' ? '' : ' of ' + news.total) + ' ' + news.what + ', ' + since();
          continue;
        }
        find('progress').textContent = news.status ? news.message : 'in ' + since();
        find('long').hidden = !news.result;
        find('long-command').textContent = news.command;
        if (news.result) show[kind === 'plan' ? 'plan' : 'compare'](news.result);
      }
    }
  } catch { find('progress').textContent = mine.signal.aborted ? 'cancelled' : 'busbar explore does not answer'; }
  if (job === mine) { job = null; find('cancel').hidden = true; }
};
for (const kind of ['plan', 'machines', 'fabrics']) find(kind).onclick = () => start(kind);
find('cancel').onclick = () => job && job.abort();
find('copy').onclick = () => navigator.clipboard.writeText(find('command').textContent)
  .then(() => { find('time').textContent = 'copied'; }, () => { find('time').textContent = 'the browser refuses; select the line instead'; });
find('save').onclick = () => { location.href = 'report?' + query(); };
addEventListener('hashchange', () => { read(); changed(); });
read();
changed();
)js";
}

}  // namespace busbar::cli
