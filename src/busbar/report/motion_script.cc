#include "busbar/report/internal/motion_script.h"

namespace busbar::report {

std::string_view motion_script() {
  return R"js(//<![CDATA[
'use strict';
for (const figure of document.querySelectorAll('figure.motion')) {
  const data = JSON.parse(figure.querySelector('script').textContent), SVG = 'http://www.w3.org/2000/svg';
  const stage = figure.querySelector('.stage'), still = stage.querySelector('.scroll');
  const calm = matchMedia('(prefers-reduced-motion: reduce)'), whole = Math.max(...data.panes.map(p => p.end));
  const make = (tag, attributes, parent) => {
    const e = document.createElement(tag);
    for (const k in attributes) if (k in e) e[k] = attributes[k]; else e.setAttribute(k, attributes[k]);
    parent.append(e);
    return e;
  };
  const draw = (tag, attributes, parent) => {
    const e = document.createElementNS(SVG, tag);
    for (const k in attributes) e.setAttribute(k, attributes[k]);
    parent.append(e);
    return e;
  };
  const time = t => {
    const s = t * data.unit;
    for (const [unit, size] of [['s', 1], ['ms', 1e-3], ['us', 1e-6]])
      if (whole * data.unit >= 2 * size) return (s / size).toFixed(s / size >= 99.95 ? 0 : s / size >= 9.995 ? 1 : 2) + ' ' + unit;
    return Math.round(s * 1e9) + ' ns';
  };
  const amount = bytes => {
    for (const [unit, size] of [['GB', 1e9], ['MB', 1e6], ['kB', 1e3]])
      if (bytes >= size) return (bytes / size).toPrecision(3) + ' ' + unit;
    return Math.round(bytes) + ' B';
  };
  for (const p of data.panes) {
    const list = [];
    let at = 0;
    p.total = 0;
    p.most = 0;
    p.need = new Map();
    for (const path of p.paths) {
      path.at = [0];
      for (let i = 2; i < path.p.length; i += 2)
        path.at.push(path.at[path.at.length - 1] + Math.hypot(path.p[i] - path.p[i - 2], path.p[i + 1] - path.p[i - 1]));
    }
    for (let i = 0; i < p.trips.length; i += 7) {
      const [start, length, delay, bytes, path, colour, label] = p.trips.slice(i, i + 7), a = at += start;
      list.push({a, b: a + length, c: a + length + delay, bytes, path: p.paths[path], colour, label});
      const to = p.paths[path].to;
      if (to !== undefined) p.need.set(to, (p.need.get(to) || 0) + bytes);
      p.total += bytes;
      p.most = Math.max(p.most, bytes);
    }
    p.trips = list;
  }
  const starts = [...new Set(data.panes.flatMap(p => p.trips.map(t => t.a)))].sort((a, b) => a - b);
  let now = 0, begun = false, playing = false, span = 12, last = 0;
  const shown = [];

  const tools = make('div', {className: 'tools'}, figure);
  stage.before(tools);
  const button = (text, label, act) => make('button', {type: 'button', textContent: text, 'aria-label': label, onclick: act}, tools);
  const play = button('\u25b6 Play', 'play', () => toggle());
  const scrub = make('input', {type: 'range', min: 0, max: 1000, step: 1, value: 0, 'aria-label': 'time'}, tools);
  const clock = make('output', {className: 'clock'}, tools);
  button('\u2212', 'slower', () => { span = Math.min(96, span * 2); });
  button('+', 'faster', () => { span = Math.max(1.5, span / 2); });

  const pane = (number, label) => {
    const box = make('section', {className: 'pane', 'aria-label': label}, stage);
    const head = make('label', {textContent: label + ' '}, box), select = make('select', {}, head);
    if (number > 0) make('option', {value: -1, textContent: 'none'}, select);
    data.panes.forEach((p, i) => make('option', {value: i, textContent: p.name + ', ' + p.time}, select));
    const law = make('p', {className: 'law'}, box), facts = make('p', {className: 'left'}, box);
    const scroll = still.cloneNode(true);
    scroll.setAttribute('aria-label', label + ': the machine');
    box.append(scroll);
    const note = make('p', {className: 'note'}, box);
    const svg = scroll.querySelector('svg'), dots = draw('g', {'class': 'dots'}, svg);
    const lines = [...svg.querySelectorAll('[data-line]')], fills = [...svg.querySelectorAll('[data-box]')];
    const view = {box, select, law, facts, lines, fills, dots, note, pool: [], pieces: [], spent: []};
    select.value = number < data.panes.length ? number : -1;
    select.onchange = () => { choose(view); show(now); };
    for (const f of fills) f.full = +f.getAttribute('width');
    shown.push(view);
    choose(view);
  };
  const choose = v => {
    const p = v.pane = data.panes[v.select.value];
    v.box.classList.toggle('none', !p);
    v.law.replaceChildren();
    v.note.textContent = p ? p.note : '';
    v.pieces = [];
    if (!p) return;
    v.law.append('T = ');
    for (const f of p.formula) {
      const e = make('span', {textContent: f.t}, v.law);
      if (f.k >= 0) v.pieces.push([e, f.k]);
    }
    const list = make('span', {className: 'terms'}, v.law);
    v.spent = p.terms.map((text, k) => {
      const e = make('span', {}, list);
      v.pieces.push([e, k]);
      return [e, text];
    });
  };
  const place = (path, share) => {
    const target = share * path.at[path.at.length - 1];
    let i = 1;
    while (i < path.at.length - 1 && path.at[i] < target) ++i;
    const part = (target - path.at[i - 1]) / (path.at[i] - path.at[i - 1] || 1), k = 2 * i;
    const dx = path.p[k] - path.p[k - 2], dy = path.p[k + 1] - path.p[k - 1], long = Math.hypot(dx, dy) || 1;
    return [path.p[k - 2] + dx * part - dy / long * 5, path.p[k - 1] + dy * part + dx / long * 5];
  };
  const dot = (v, n, t, share, many) => {
    const d = v.pool[n] = v.pool[n] || (() => {
      const g = draw('g', {}, v.dots);
      return {g, circle: draw('circle', {}, g), text: draw('text', {'text-anchor': 'middle', dy: '.36em', 'font-size': 12}, g)};
    })();
    const [x, y] = place(t.path, share), named = t.label >= 0 && !many;
    d.g.setAttribute('transform', 'translate(' + x.toFixed(1) + ' ' + y.toFixed(1) + ')');
    d.g.removeAttribute('visibility');
    d.circle.setAttribute('r', named ? 9 : 2.5 + 2.5 * Math.sqrt(t.bytes / v.pane.most));
    d.circle.setAttribute('class', 'c' + t.colour);
    d.text.setAttribute('class', 't' + t.colour);
    d.text.textContent = named ? t.label : '';
  };
  const paint = v => {
    const p = v.pane;
    if (!p) return;
    const t = Math.min(now, p.end), load = new Float64Array(data.rates.length), got = new Map();
    const moving = [];
    let arrived = 0, n = 0;
    for (const trip of p.trips) {
      if (trip.a > t) break;
      const share = t >= trip.c ? 1 : (t - trip.a) / (trip.c - trip.a);
      arrived += trip.bytes * share;
      const to = trip.path.to;
      if (to !== undefined) got.set(to, (got.get(to) || 0) + trip.bytes * share);
      if (begun && t < trip.b)
        for (let i = 0; i < trip.path.l.length; i += 2) load[trip.path.l[i]] += trip.bytes * trip.path.l[i + 1] / (trip.b - trip.a);
      if (begun && t < trip.c) moving.push([trip, calm.matches ? 0.5 : share]);
    }
    for (const [trip, share] of moving) dot(v, n++, trip, share, moving.length > 24);
    for (let i = n; i < v.pool.length; ++i) { v.pool[i].g.setAttribute('visibility', 'hidden'); v.pool[i].text.textContent = ''; }
    if (!begun)
      for (const trip of p.trips)
        for (let i = 0; i < trip.path.l.length; i += 2) load[trip.path.l[i]] += trip.bytes * trip.path.l[i + 1] / p.end;
    for (const line of v.lines) {
      const k = 2 * line.dataset.line, full = d => data.rates[d] > 0 ? load[d] / data.rates[d] : 0;
      line.setAttribute('class', 'n h' + Math.min(9, Math.floor(10 * Math.max(full(k), full(k + 1)) + 1e-6)));
    }
    for (const f of v.fills) {
      const need = p.need.get(+f.dataset.box) || 0;
      f.setAttribute('width', need > 0 && begun ? f.full * Math.min(1, (got.get(+f.dataset.box) || 0) / need) : 0);
    }
    const spent = p.terms.map(() => 0), all = p.terms.map(() => 0);
    let lit = -1;
    for (let i = 0; i < p.parts.length; i += 3) {
      const [term, from, to] = p.parts.slice(i, i + 3);
      all[term] += to - from;
      spent[term] += Math.max(0, Math.min(t, to) - from);
      if (begun && from <= t && t < to) lit = term;
    }
    for (const [e, k] of v.pieces) e.classList.toggle('lit', k === lit);
    v.spent.forEach(([e, text], k) => { e.textContent = text + ' ' + (begun ? time(spent[k]) + ' of ' : '') + time(all[k]); });
    const left = Math.max(0, p.total - arrived), done = begun && now >= p.end;
    v.facts.textContent = !begun ? amount(p.total) + ' to send; colours: mean load' :
      done ? 'done after ' + p.time + ', 0 B left' : amount(left) + ' of ' + amount(p.total) + ' left';
    v.facts.classList.toggle('done', done);
  };
  const show = t => {
    now = Math.min(whole, Math.max(0, t));
    scrub.value = Math.round(1000 * now / whole);
    clock.textContent = time(now) + ' of ' + time(whole);
    scrub.setAttribute('aria-valuetext', clock.textContent);
    for (const v of shown) paint(v);
  };
  const go = t => { begun = true; show(t); };
  const toggle = (on = !playing) => {
    playing = on;
    play.textContent = on ? '\u275a\u275a Pause' : '\u25b6 Play';
    play.setAttribute('aria-label', on ? 'pause' : 'play');
    if (!on) return;
    if (now >= whole) now = 0;
    last = performance.now();
    requestAnimationFrame(tick);
  };
  const tick = at => {
    if (!playing) return;
    const seconds = (at - last) / 1e3;
    if (!calm.matches || seconds * 24 >= span) {  // without motion: 24 still pictures
      last = at;
      go(now + Math.max(0, seconds) / span * whole);
    }
    if (now >= whole) toggle(false); else requestAnimationFrame(tick);
  };
  scrub.oninput = () => { toggle(false); go(scrub.value / 1000 * whole); };
  const jump = way => {
    const found = way > 0 ? starts.find(s => s > now) : starts.filter(s => s < now).pop();
    go(found === undefined ? way > 0 ? whole : 0 : found);
  };
  figure.onkeydown = e => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target.tagName === 'SELECT') return;
    const keys = {' ': () => toggle(), ArrowLeft: () => go(now - whole / 100), ArrowRight: () => go(now + whole / 100),
      Home: () => go(0), End: () => go(whole), ',': () => jump(-1), '.': () => jump(1)};
    if (!keys[e.key] || (e.key === ' ' && e.target.tagName === 'BUTTON')) return;
    e.preventDefault();
    if (e.key !== ' ') toggle(false);
    keys[e.key]();
  };
  figure.tabIndex = 0;
  figure.setAttribute('aria-label', 'Animation: space plays and pauses, left and right arrow move in time, Home and End go to ' +
    'the ends, comma and full stop go from send to send');
  still.remove();
  pane(0, 'Algorithm');
  if (data.panes.length > 1) pane(1, 'Next to it');
  show(0);
}
//]]>)js";
}

std::string_view motion_script_hash() { return "sha256-m6oIQwcm4VCEMHOl2MYEEU1owuTLqqKGJGj4Iu+MVkc="; }

}  // namespace busbar::report
