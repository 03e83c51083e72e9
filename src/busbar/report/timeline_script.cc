#include "busbar/report/internal/timeline_script.h"

namespace busbar::report {

std::string_view timeline_script() {
  return R"js(//<![CDATA[
'use strict';
const lights = [];  // one per timeline: shows the part of the step that has a colour; -1: all
for (const figure of document.querySelectorAll('figure.explore')) {
  const data = JSON.parse(figure.querySelector('script').textContent);
  const LANE = 28, GROUP = 24, AXIS = 24, LETTER = 7, COLUMN = 3;
  const spans = [], lanes = [];
  let rows = [], height = 0, folded = data.rows.length > 24;  // many rows: one of each group first
  for (const r of data.rows) {
    const row = {y: -1, title: r.n, name: r.n, group: r.g, spans: []};
    let at = 0;
    lanes.push(row);
    for (let i = 0; i < r.s.length; i += 2) {
      const [length, colour, name, limit, cause, kind] = data.kinds[r.s[i + 1]];
      const s = {row, from: at + r.s[i], colour, name: data.names[name], limit: limit < 0 ? '' : data.names[limit], cause, wait: kind & 1, critical: kind & 2};
      if (s.wait) row.divided = true;
      at = s.to = s.from + length;
      row.spans.push(s);
      spans.push(s);
    }
  }
  if (!lanes.some(r => r.divided)) for (const r of lanes) r.divided = true;
  const chief = lanes.filter((r, i) => r.divided && lanes.findIndex(o => o.group === r.group && o.divided) === i);
  const foldable = chief.length > 0 && chief.length < lanes.length && chief.every(r => r.group);
  folded = folded && foldable;
  const place = () => {  // the rows that are drawn, from top to bottom
    let y = AXIS, group = null;
    rows = [];
    for (const row of lanes) {
      row.y = -1;
      if (folded && !chief.includes(row)) continue;
      if (!folded && row.group !== group) { if (row.group) { rows.push({y, title: row.group, head: true}); y += GROUP; } group = row.group; }
      row.y = y;
      row.title = folded ? row.group : row.name;
      rows.push(row);
      y += LANE;
    }
    height = y + 4;
  };
  place();
  const wide = data.end - data.start, least = wide / 1e6;
  const gutter = Math.min(170, 24 + LETTER * Math.max(...lanes.map(r => Math.max(r.group.length, r.name.length))));
  let from = data.start, to = data.end, hovered = null, chosen = null, found = [], query = '', lit = -1, theme;

  const make = (tag, attributes, parent) => {
    const e = document.createElement(tag);
    for (const k in attributes) if (k in e) e[k] = attributes[k]; else e.setAttribute(k, attributes[k]);
    parent.append(e);
    return e;
  };
  const box = document.createElement('div');
  box.className = 'explorer';
  const bar = make('div', {className: 'tools'}, box);
  const button = (text, label, act) => make('button', {type: 'button', textContent: text, 'aria-label': label, onclick: act}, bar);
  button('\u2212', 'zoom out', () => zoom(2));
  button('+', 'zoom in', () => zoom(0.5));
  button('\u25c2', 'earlier', () => pan(-0.3));
  button('\u25b8', 'later', () => pan(0.3));
  button('whole step', 'show the whole step', () => show(data.start, data.end));
  const fold = () => { folded = !folded; place(); size(); folder.setAttribute('aria-pressed', folded); if (folded && chosen && chosen.row.y < 0) choose(null); redraw(); };
  const folder = foldable ? button('one row per stage', 'one row per stage, or all rows', fold) : null;
  if (folder) folder.setAttribute('aria-pressed', folded);
  const search = make('input', {type: 'search', placeholder: 'search spans', 'aria-label': 'search spans'}, bar);
  button('next', 'next match', () => next(1));
  const count = make('span', {className: 'count', role: 'status'}, bar);
  const canvas = make('canvas', {tabIndex: 0, role: 'application'}, box);
  canvas.setAttribute('aria-label', 'Timeline: arrow keys move, plus and minus zoom, comma and full stop go from span to ' +
    'span, c goes to the cause, f folds the rows, 0 shows the whole step');
  const map = make('canvas', {className: 'map', title: 'the whole step; click or drag to go there'}, box);
  map.setAttribute('aria-hidden', 'true');  // keys of the timeline do the same
  const tip = make('div', {className: 'tip', hidden: true}, box);
  const panel = make('div', {className: 'why', role: 'status'}, box);
  panel.textContent = 'Click a span to see why it started when it did. Drag to move; pinch, or turn the wheel with Ctrl, to zoom.';
  figure.querySelector('.timeline').replaceWith(box);
  for (const note of figure.querySelectorAll('.gathered')) note.remove();

  const time = t => {
    const s = t * data.unit;
    for (const [unit, size] of [['s', 1], ['ms', 1e-3], ['us', 1e-6]])
      if (Math.abs(s) >= 0.99995 * size) return String(+(s / size).toPrecision(Math.abs(s) >= 10 ? 5 : 4)) + ' ' + unit;
    return Math.round(s * 1e9) + ' ns';
  };
  const about = s => s.name + ', ' + time(s.to - s.from) + ' from ' + (s.from * data.unit * 1e3).toFixed(3) + ' ms' + (s.limit ? ', ' + s.limit : '');
  const width = () => canvas.clientWidth - gutter;
  const x = t => gutter + (t - from) / (to - from) * width();
  const first = (row, t) => {  // the first span that ends after t
    let low = 0, high = row.spans.length;
    while (low < high) { const m = (low + high) >> 1; if (row.spans[m].to > t) high = m; else low = m + 1; }
    return low;
  };
  const before = s => {  // the span whose end let this one start
    if (s.cause < 0) return null;
    const t = s.wait ? s.to : s.from;  // what a wait waits for ends with it
    const row = lanes[s.cause], found = row.spans[first(row, t - 1)];
    return found && found !== s && found.to === t ? found : null;
  };
  const show = (a, b) => {
    const length = Math.min(wide, Math.max(least, b - a));
    from = Math.min(Math.max(data.start, a), data.end - length);
    to = from + length;
    redraw();
  };
  const zoom = (factor, middle = (from + to) / 2) => show(middle - (middle - from) * factor, middle + (to - middle) * factor);
  const pan = share => show(from + share * (to - from), to + share * (to - from));
  let waiting = false;
  const redraw = () => { if (!waiting) { waiting = true; requestAnimationFrame(() => { waiting = false; draw(); }); } };
  // Strokes of a colour besides its tone, for prints without colours; as .k1 ... of the style sheet.
  const hatched = (colour, i, ink) => {
    const lines = {1: 'M-1 9L9 -1', 2: 'M-1 -1L9 9', 3: 'M0 2H8M0 6H8', 5: 'M2 0V8M6 0V8', 14: 'M0 4H8', 15: 'M4 0V8'}[i];
    if (!lines) return colour;
    const tile = document.createElement('canvas');
    tile.width = tile.height = 8;
    const g = tile.getContext('2d');
    g.fillStyle = colour;
    g.fillRect(0, 0, 8, 8);
    g.strokeStyle = ink;
    g.stroke(new Path2D(lines));
    return g.createPattern(tile, 'repeat');
  };
  const thickness = () => Math.max(1, Math.min(6, 40 / rows.filter(r => !r.head).length));
  const size = () => {  // at once, so that what stands below does not move when the picture is drawn
    canvas.style.height = height + 'px';
    map.style.height = rows.filter(r => !r.head).length * thickness() + 4 + 'px';
  };
  size();
  const read = () => {
    const style = getComputedStyle(document.documentElement), v = n => style.getPropertyValue(n).trim();
    theme = {ink: v('--ink'), muted: v('--muted'), rule: v('--rule'), soft: v('--soft'), bg: v('--bg'),
             fill: [...Array(19).keys()].map(i => hatched(v('--c' + i), i, v('--hatch'))), on: [...Array(19).keys()].map(i => v('--t' + i))};
    redraw();
  };
  const isLit = s => s.colour === lit && s.row.divided;  // waits divide the time of their row as the bar is divided
  const rect = (g, s, a, b) => g.fillRect(a, s.row.y + 3, Math.max(b - a, 1), LANE - 6);
  const draw = () => {
    const scale = window.devicePixelRatio || 1, w = canvas.clientWidth;
    canvas.width = w * scale;
    canvas.height = height * scale;
    const g = canvas.getContext('2d');
    g.scale(scale, scale);
    g.font = '12px system-ui, sans-serif';
    g.textBaseline = 'middle';
    const raw = (to - from) * data.unit / Math.max(2, width() / 110), power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map(k => k * power).find(k => k >= raw) / data.unit;
    g.strokeStyle = theme.rule;
    g.fillStyle = theme.muted;
    g.textAlign = 'center';
    for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
      g.beginPath(); g.moveTo(x(t), AXIS); g.lineTo(x(t), height); g.stroke();
      if (x(t) > gutter + 20 && x(t) < w - 24) g.fillText(time(Math.round(t)), x(t), AXIS / 2);
    }
    g.textAlign = 'left';
    for (const row of rows) {
      g.fillStyle = row.head ? theme.ink : theme.muted;
      g.fillText(row.title, row.head ? 0 : 8, row.y + (row.head ? GROUP : LANE) / 2);
      if (row.head) continue;
      g.fillStyle = theme.soft;
      g.fillRect(gutter, row.y + 3, width(), LANE - 6);
      const shares = new Map();  // of columns full of short spans: colour and share of the time
      for (let i = first(row, from); i < row.spans.length && row.spans[i].from < to; ++i) {
        const s = row.spans[i], a = Math.max(gutter, x(s.from)), b = Math.min(w, x(s.to)), faint = lit < 0 ? query && !s.match : !isLit(s);
        if (b - a < COLUMN) {
          const column = Math.floor((a + b) / 2 / COLUMN), key = column * 64 + s.colour * 2 + (faint ? 1 : 0);
          shares.set(key, (shares.get(key) || 0) + (b - a) / COLUMN);
          continue;
        }
        g.globalAlpha = faint ? 0.25 : 1;
        g.fillStyle = theme.fill[s.colour];
        rect(g, s, a, b - (b - a > 5 ? 1 : 0));
        if (s.critical) { g.fillStyle = theme.ink; g.fillRect(a, s.row.y + LANE - 3, b - a, 2); }
        if (b - a > LETTER * 4) {
          const room = Math.floor((b - a - 8) / LETTER);
          g.fillStyle = theme.on[s.colour];
          g.fillText(s.name.length > room ? s.name.slice(0, room - 1) + '\u2026' : s.name, a + 4, s.row.y + LANE / 2);
        }
      }
      const filled = new Map();
      for (const key of [...shares.keys()].sort((a, b) => a - b)) {
        const column = Math.floor(key / 64), low = filled.get(column) || 0, high = Math.min(1, low + shares.get(key));
        filled.set(column, high);
        g.globalAlpha = key % 2 ? 0.25 : 1;
        g.fillStyle = theme.fill[Math.floor(key % 64 / 2)];
        g.fillRect(column * COLUMN, row.y + LANE - 3 - high * (LANE - 6), COLUMN, (high - low) * (LANE - 6));
      }
      g.globalAlpha = 1;
    }
    drawMap();
    for (const s of [hovered, chosen]) if (s && s.row.y >= 0) {
      g.strokeStyle = theme.ink;
      g.lineWidth = s === chosen ? 2.5 : 1.5;
      const a = Math.max(gutter, x(s.from)), b = Math.min(w, x(s.to));
      if (b >= gutter) g.strokeRect(a, s.row.y + 2, Math.max(2, b - a), LANE - 4);
    }
  };
  // The whole step, one line a row, and the part that is shown.
  const drawMap = () => {
    const shown = rows.filter(r => !r.head), scale = window.devicePixelRatio || 1, w = map.clientWidth, thick = thickness();
    map.width = w * scale;
    map.height = (shown.length * thick + 4) * scale;
    const g = map.getContext('2d'), place = t => gutter + (t - data.start) / wide * (w - gutter);
    g.scale(scale, scale);
    shown.forEach((row, n) => {
      let column = -1, most = 0, colour = -1;
      for (const s of row.spans) {
        const a = place(s.from), b = place(s.to);
        if (Math.floor(a) !== column) { column = Math.floor(a); most = 0; }
        if (b - a < 1 && b - a <= most) continue;  // of short ones in a pixel, the longest
        most = b - a;
        colour = s.colour;
        g.fillStyle = theme.fill[colour];
        g.fillRect(a, 2 + n * thick, Math.max(1, b - a), thick);
      }
    });
    g.strokeStyle = theme.ink;
    g.lineWidth = 2;
    g.strokeRect(place(from) + 1, 1, Math.max(2, place(to) - place(from) - 2), shown.length * thick + 2);
  };
  map.onpointerdown = map.onpointermove = e => {
    if (e.type === 'pointermove' && !e.buttons) return;
    map.setPointerCapture(e.pointerId);
    const t = data.start + (e.clientX - map.getBoundingClientRect().left - gutter) / (map.clientWidth - gutter) * wide;
    show(t - (to - from) / 2, t + (to - from) / 2);
  };
  const at = event => {
    const r = canvas.getBoundingClientRect(), px = event.clientX - r.left, py = event.clientY - r.top;
    const row = rows.find(o => !o.head && py >= o.y && py < o.y + LANE);
    if (!row || px < gutter) return null;
    const t = from + (px - gutter) / width() * (to - from), near = 3 / width() * (to - from);
    const s = row.spans[first(row, t - near)];
    return s && s.from <= t + near ? s : null;
  };
  const choose = (s, bring) => {
    if (s && s.row.y < 0) { folded = false; place(); folder.setAttribute('aria-pressed', false); }
    chosen = s;
    panel.replaceChildren();
    if (!s) return redraw();
    make('strong', {textContent: s.row.title + ': ' + about(s)}, panel);
    let cause = before(s), last = s, n = 0;
    const list = make('ol', {}, panel);
    for (; cause && n < 6; last = cause, cause = before(cause), ++n) {
      const target = cause, item = make('li', {}, list);
      item.append(n ? 'that waited for ' : 'it waited for the end of ');
      make('button', {type: 'button', textContent: target.row.title + ': ' + about(target), onclick: () => choose(target, true)}, item);
    }
    const it = n ? 'that ' : 'it ';
    if (!cause && last.cause < -1)
      make('li', {textContent: it + 'waited for ' + data.names[-2 - last.cause] + ', which is too short for this picture'}, list);
    else if (!cause) make('li', {textContent: it + (last.from > data.start ? 'waited for something before this picture' : 'began with this picture')}, list);
    if (bring && (s.to < from || s.from > to || (s.to - s.from) / (to - from) < 0.01)) {
      const half = Math.max((s.to - s.from) * 8, least);
      show((s.from + s.to) / 2 - half, (s.from + s.to) / 2 + half);
    }
    redraw();
  };
  const next = way => {
    if (!found.length) return;
    const here = found.indexOf(chosen);
    choose(found[((here < 0 && way < 0 ? 0 : here) + way + found.length) % found.length], true);
  };
  search.oninput = () => {
    query = search.value.trim().toLowerCase();
    for (const s of spans) s.match = query && (s.name + ' ' + s.limit).toLowerCase().includes(query);
    found = query ? spans.filter(s => s.match) : [];
    tell();
  };
  const tell = () => {
    const shown = lit < 0 ? found : spans.filter(isLit);
    const total = shown.reduce((sum, s) => sum + s.to - s.from, 0);
    count.textContent = query || lit >= 0 ? shown.length + ' spans, ' + time(total) : '';
    redraw();
  };
  lights.push(colour => { lit = colour; tell(); });
  search.onkeydown = e => { if (e.key === 'Enter') next(e.shiftKey ? -1 : 1); };
  canvas.onkeydown = e => {
    const beside = k => { if (chosen) { const l = chosen.row.spans; choose(l[l.indexOf(chosen) + k] || chosen, true); } else
      choose(spans.find(s => s.to > from && s.row.y >= 0), true); };
    const keys = {ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2), '+': () => zoom(0.5), '=': () => zoom(0.5),
      '-': () => zoom(2), '0': () => show(data.start, data.end), ',': () => beside(-1), '.': () => beside(1),
      c: () => { if (chosen && before(chosen)) choose(before(chosen), true); },
      n: () => next(1), N: () => next(-1), f: () => folder && fold(), Escape: () => choose(null)};
    if (!keys[e.key] || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    keys[e.key]();
  };
  canvas.addEventListener('wheel', e => {
    if (!e.ctrlKey) return;
    e.preventDefault();
    const r = canvas.getBoundingClientRect();
    zoom(Math.exp(e.deltaY * 0.002), from + (e.clientX - r.left - gutter) / width() * (to - from));
  }, {passive: false});
  const held = new Map();
  let moved = 0;
  canvas.onpointerdown = e => { held.set(e.pointerId, e.clientX); moved = 0; canvas.setPointerCapture(e.pointerId); };
  canvas.onpointermove = e => {
    if (!held.has(e.pointerId)) {
      hovered = at(e);
      tip.hidden = !hovered;
      if (hovered) {
        tip.textContent = about(hovered);
        const r = box.getBoundingClientRect();
        tip.style.left = Math.max(0, Math.min(e.clientX - r.left + 12, r.width - tip.offsetWidth - 4)) + 'px';
        tip.style.top = e.clientY - r.top + 18 + 'px';
      }
      return redraw();
    }
    const old = [...held.values()], dx = e.clientX - held.get(e.pointerId);
    held.set(e.pointerId, e.clientX);
    moved += Math.abs(dx);
    const now = [...held.values()];
    if (now.length === 1) pan(-dx / width());
    else if (now.length === 2) zoom((Math.abs(old[0] - old[1]) + 1) / (Math.abs(now[0] - now[1]) + 1));
  };
  canvas.onpointerup = canvas.onpointercancel = e => {
    held.delete(e.pointerId);
    if (e.type === 'pointerup' && moved < 4) choose(at(e), false);
  };
  canvas.onpointerleave = () => { hovered = null; tip.hidden = true; redraw(); };
  new ResizeObserver(redraw).observe(canvas);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', read);
  read();
}
const point = (e, colour) => {
  e.onpointerenter = e.onfocus = () => { for (const light of lights) light(colour); };
  e.onpointerleave = e.onblur = () => { for (const light of lights) light(-1); };
};
const colourOf = e => Number(/[ck](\d+)/.exec(e.getAttribute('class'))[1]);
for (const part of document.querySelectorAll('figure.lights rect')) point(part, colourOf(part));
for (const swatch of document.querySelectorAll('figure.lights .sw, figure.explore .legend .sw')) {
  const item = swatch.parentElement, button = document.createElement('button');
  Object.assign(button, {type: 'button', className: 'part', title: 'show it in the timeline'});
  button.append(...item.childNodes);
  item.append(button);
  point(button, colourOf(swatch));
}
//]]>)js";
}

std::string_view timeline_script_hash() { return "sha256-bzmOeMGhprXU1/b1Qt4aarBz+8StAD6tmWhRmiK5d+c="; }

}  // namespace busbar::report
