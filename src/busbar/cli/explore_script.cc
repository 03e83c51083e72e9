#include "busbar/cli/explore_page.h"

namespace busbar {

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
    const select = make('select', {id: f.key, onchange: () => changed()}, row);
    const add = v => make('option', {value: v, textContent: v || 'the machine\u2019s own'}, select);
    f.values.forEach(add);
    fields.set(f.key, {get: () => select.value, set: v => { if (!f.values.includes(v)) add(v); select.value = v; }});
  } else {
    const steps = f.values.map(Number);
    const nearest = v => steps.reduce((best, s, i) => Math.abs(Math.log(s / v)) < Math.abs(Math.log(steps[best] / v)) ? i : best, 0);
    const slider = make('input', {type: 'range', min: 0, max: steps.length - 1, step: 1, 'aria-label': f.label}, row);
    const number = make('input', {type: 'number', id: f.key, min: 1, step: 1}, row);
    const show = () => slider.setAttribute('aria-valuetext', number.value);
    slider.oninput = () => { number.value = steps[slider.value]; show(); changed(); };
    number.oninput = () => { slider.value = nearest(Number(number.value) || 1); show(); changed(); };
    fields.set(f.key, {get: () => number.value, set: v => { number.value = v; slider.value = nearest(Number(v) || 1); show(); }});
  }
}
find('fields').onsubmit = event => event.preventDefault();

const query = () => new URLSearchParams([...fields].map(([key, f]) => [key, f.get()]).filter(([, v]) => v !== '')).toString();
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

let asked = null, running = false;
const changed = () => {
  asked = query();
  history.replaceState(null, '', '#' + asked);
  ask();
};
const ask = async () => {  // one request at a time; of several changes meanwhile, the last counts
  if (running) return;
  running = true;
  document.querySelector('main').setAttribute('aria-busy', 'true');
  while (asked !== null) {
    const mine = asked, begin = performance.now();
    asked = null;
    const late = setTimeout(() => find('verdict').classList.add('late'), 300);
    let answer;
    try { answer = await (await fetch('answer?' + mine)).json(); }
    catch { answer = {status: 2, message: 'busbar explore has ended, or does not answer; start it again.'}; }
    clearTimeout(late);
    find('verdict').classList.remove('late');
    const r = answer.result;
    find('verdict').textContent = answer.status ? answer.message : r.verdict;
    find('verdict').classList.toggle('bad', answer.status !== 0);
    for (const figure of document.querySelectorAll('figure')) figure.hidden = !r;
    if (r) draw(r); else list([]);
    find('command').textContent = answer.command || '';
    find('copy').hidden = !answer.command;
    find('save').hidden = !r;
    find('time').textContent = 'answered in ' + Math.round(performance.now() - begin) + ' ms';
  }
  running = false;
  document.querySelector('main').removeAttribute('aria-busy');
};
find('copy').onclick = () => navigator.clipboard.writeText(find('command').textContent)
  .then(() => { find('time').textContent = 'copied'; }, () => { find('time').textContent = 'the browser refuses; select the line instead'; });
find('save').onclick = () => { location.href = 'report?' + query(); };
addEventListener('hashchange', () => { read(); changed(); });
read();
changed();
)js";
}

}  // namespace busbar
