#include "busbar/cli/explore_page.h"

namespace busbar::cli {

// What the page of `busbar explore` draws: estimate, answer, comparison with A, searches.
std::string_view explore_drawing_script() {
  return R"js(
const digits = (v, n = 3) => Number(v.toPrecision(n)).toLocaleString('en-US', {maximumSignificantDigits: n});
const time = s => { for (const [unit, size] of [['s', 1], ['ms', 1e-3], ['us', 1e-6]]) if (s >= size || unit === 'us') return digits(s / size) + ' ' + unit; };
const money = v => '$' + digits(v, 2);
const percent = v => (v > 0 ? '+' : '') + digits(v, 2) + ' %';
const gigabytes = b => digits(b / 1e9) + ' GB';
const bytes = v => { for (const [unit, size] of [['GiB', 1 << 30], ['MiB', 1 << 20], ['KiB', 1024]]) if (v >= size) return digits(v / size) + ' ' + unit; return v + ' B'; };

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
  for (const [name, value, struck] of items) {
    const item = make('div', {}, find('facts'));
    make('dt', {textContent: name}, item);
    make(struck ? 's' : 'span', {textContent: value}, make('dd', {}, item));
  }
};
const table = (id, head, body) => {
  const t = find(id);
  t.replaceChildren();
  const top = make('tr', {}, make('thead', {}, t)), rest = make('tbody', {}, t);
  for (const h of head) if (h) make('th', {scope: 'col', textContent: h}, top); else make('td', {}, top);
  for (const cells of body) {
    const row = make('tr', {}, rest);
    for (const c of cells) {
      const cell = make('td', {textContent: typeof c === 'string' ? c : ''}, row);
      if (typeof c === 'function') make('button', {type: 'button', textContent: 'Use', onclick: c}, cell);
    }
  }
};

// Figures of an answer: name, value, words, whether more is better; for the list and for the comparison of A and B.
const stepFigures = r => {
  const m = r.memory_bytes, l = r.layout, b = r.breakdown_s, cost = r.cost_usd, bad = !r.fits;
  const waits = Object.keys(b).filter(k => k.startsWith('exposed_') || k === 'bubble').reduce((sum, k) => sum + b[k], 0);
  const out = [['step time', r.step_time_s, time, -1, bad], ['likely', 0, () => r.likely_step_s.map(time).join(' to '), 0, bad],
    ['MFU', 100 * r.mfu, v => digits(v) + ' %', 1, bad], ['tokens per GPU', r.tokens_per_s_per_gpu, v => digits(v) + ' /s', 1, bad],
    ['GPUs', r.gpus, v => v.toLocaleString('en-US'), 0], ['data parallel (DP)', 0, () => l.dp + ', ' + l.micro_batches + ' micro-batches', 0],
    ['memory per GPU', m.total, v => digits(v / 1e9) + ' of ' + digits(m.capacity / 1e9) + ' GB', -1]];
  if (cost.per_day > 0) out.push(
    ['rent a day', cost.per_day, v => money(v) + ', ' + money(v * waits / r.step_time_s) + ' of it waiting', 0, bad],
    ['rent per million tokens', cost.per_million_tokens, v => money(v) + ', at $' + digits(cost.per_gpu_hour) + ' per GPU-hour', -1, bad]);
  for (const p of facts.step) if (b[p.key] > 0) out.push([p.name, b[p.key], time, -1, bad, true]);
  return out;
};
const collectiveFigures = r => {
  const x = r.results[0];
  const out = [['time', x.time_us * 1e-6, time, -1], ['bus bandwidth', x.busbw_GBps, v => digits(v) + ' GB/s', 1],
    ['bytes over time', x.algbw_GBps, v => digits(v) + ' GB/s', 1], ['algorithm', 0, () => x.algorithm, 0], ['protocol', 0, () => x.protocol + ', ' + x.channels + ' channels', 0],
    ['no schedule is below', x.floor_us * 1e-6, time, -1], ['GPUs', r.gpus, v => v.toLocaleString('en-US'), 0]];
  if (x.band_percent) out.push(['likely', 0, () => x.band_percent.map(p => time(x.time_us * 1e-6 * (1 + p / 100))).join(' to '), 0]);
  return out;
};
const figures = a => 'results' in a.result ? collectiveFigures(a.result) : stepFigures(a.result);
const collectiveVerdict = r => {
  const x = r.results[0], by = x.bound_by;
  return r.collective + ' of ' + bytes(x.size_bytes) + ' over ' + r.gpus + ' GPUs takes ' + time(x.time_us * 1e-6) + ', ' + digits(x.busbw_GBps) +
    ' GB/s of bus bandwidth' + (by ? '; bound by ' + by.kind + (by.link ? ' of ' + by.link : '') : '') + '.';
};
const drawStep = r => {
  const m = r.memory_bytes, b = r.breakdown_s, step = r.step_time_s;
  bar('step', facts.step, b, step, v => time(v) + ' (' + (v < 0.01 * step ? 'below 1' : Math.round(100 * v / step)) + ' %)');
  bar('memory', facts.memory, m, Math.max(m.total, m.capacity), v => digits(v / 1e9, 2) + ' GB');
  find('step-title').textContent = r.fits ? 'Where the time goes' : 'Where the time would go';
  find('memory-title').textContent = 'Memory per GPU at its peak (stage ' + m.stage + '); the whole bar is ' +
    digits(Math.max(m.total, m.capacity) / 1e9) + ' GB' + (m.total > m.capacity ? ', more than the GPU has' : '');
};

// Flags such as "--tp 4 --set nodes=32" as a choice; nothing if the page has no field for one of them.
const choice = (flags, r) => {
  const out = {}, words = flags.split(' ');
  for (let i = 0; i < words.length; i += 2) {
    const nodes = words[i] === '--set' && /^nodes=(\d+)$/.exec(words[i + 1] || '');
    const f = facts.fields.find(f => f.flag === words[i]);
    if (nodes) out.gpus = String(nodes[1] * r.gpus / facts.nodes(r));
    else if (f) out[f.key] = words[i + 1];
    else if (words[i] !== '--dp') return null;
  }
  return out;
};
facts.nodes = r => Number(/:(\d+)$/.exec(r.cluster)?.[1] || 1);
const drawFits = r => {
  const fits = !r.would_fit;
  find('fits').hidden = fits;
  if (fits) return;
  table('fits-table', ['What would make it fit', 'step', 'memory per GPU', 'how', ''], r.would_fit.map(c => {
    const to = choice(c.flags, r);
    return [c.what, time(c.step_time_s), gigabytes(c.memory_bytes) + ' of ' + gigabytes(c.capacity_bytes), c.flags, to ? () => {
      for (const k in to) fields.get(k).set(to[k]);
      changed('', true);
    } : ''];
  }));
  find('fits-note').textContent = r.would_fit.length ? 'Each was tried.' : 'No change that was tried is enough: keys of the layout, more servers, GPUs with more memory.';
};

// A quick estimate: a lower bound, times what the last answer was above its own.
let above = 1.1, bound = {};
const estimate = said => {
  if (!said.bound_s || tab !== 'step') return;
  bound = {state: new URLSearchParams(said.values).toString(), s: said.bound_s};
  const first = find('facts').querySelector('dd');
  find('about').hidden = false;
  find('about').textContent = 'About ' + time(said.bound_s * above) + ' a step, ' + gigabytes(said.memory_bytes) + ' of ' + gigabytes(said.capacity_bytes) +
    (said.fits ? '' : ', does not fit') + ': a quick estimate; the exact answer follows.';
  find('about').dataset.count = 1 + Number(find('about').dataset.count || 0);
  find('verdict').classList.add('late');
  if (first) find('facts').classList.add('late');
};
const mended = (changes, why) => {
  find('mended').textContent = (changes.length ? 'Changed, so that it can run: ' + changes.join(', ') + (why ? ' (' + why + ')' : '') : why) +
    (changes.length || why ? '.' : '');
};

let shown = null, pinned = null;
const answered = (answer, soon) => {
  const r = answer.result, step = r && !('results' in r);
  shown = answer;
  find('about').hidden = true;
  for (const id of ['verdict', 'facts']) find(id).classList.remove('late');
  find('verdict').replaceChildren();
  if (!r) find('verdict').textContent = answer.message;
  else if (!step) find('verdict').textContent = collectiveVerdict(r);
  else if (r.fits) find('verdict').textContent = r.verdict;
  else {
    make('strong', {textContent: 'Does not fit. '}, find('verdict'));
    const m = r.memory_bytes;
    find('verdict').append('It needs ' + gigabytes(m.total) + ' per GPU and has ' + gigabytes(m.capacity) + '. ');
    make('s', {textContent: time(r.step_time_s) + ' per step, ' + digits(100 * r.mfu, 2) + ' % MFU'}, find('verdict'));
  }
  find('verdict').classList.toggle('bad', answer.status !== 0);
  for (const figure of document.querySelectorAll('main > figure')) figure.hidden = !step;
  list(r ? figures(answer).filter(f => !f[5]).map(([name, v, words, , struck]) => [name, words(v), struck]) : []);
  if (step) { drawStep(r); drawFits(r); } else find('fits').hidden = true;
  if (step && bound.s) above = Math.min(3, Math.max(1, r.step_time_s / bound.s));
  compare();
  find('command').textContent = answer.command || '';
  find('copy').hidden = !answer.command;
  find('save').hidden = find('pin').hidden = !r;
  find('time').textContent = 'answered in ' + Math.round(performance.now() - begun) + ' ms';
  if (soon) return;
  document.querySelector('main').removeAttribute('aria-busy');
  if (r) later(query()); else askAhead();
};
const compare = () => {
  const same = pinned && shown && shown.result && ('results' in pinned.answer.result) === ('results' in shown.result);
  find('versus').hidden = !same;
  if (!same) return;
  const a = figures(pinned.answer), b = new Map(figures(shown).map(f => [f[0], f]));
  const t = find('versus-table');
  table('versus-table', ['', 'A', 'B, now', 'difference'], a.filter(f => b.has(f[0])).map(([name, v, words]) => {
    const now = b.get(name);
    return [name, words(v), now[2](now[1]), v > 0 && now[1] > 0 ? v === now[1] ? 'the same' : percent(100 * (now[1] / v - 1)) : ''];
  }));
  for (const row of t.tBodies[0].rows) {
    const [, v, , better] = b.get(row.cells[0].textContent), before = a.find(f => f[0] === row.cells[0].textContent)[1];
    if (better && v !== before && before > 0) row.cells[3].className = (v - before) * better > 0 ? 'better' : 'worse';
  }
  find('versus-note').textContent = 'A: ' + pinned.answer.command;
};
find('pin').onclick = () => { pinned = {answer: shown, hash: address()}; compare(); };
find('unpin').onclick = () => { pinned = null; compare(); };
find('back').onclick = () => { const to = pinned.hash; history.pushState(null, '', settled = to); read(); changed('', true); };

// Searches and comparisons: lines of JSON, progress first.
const layout = l => ['tp', 'pp', 'vpp', 'dp', 'cp', 'ep'].filter(k => l[k] > 1 || k === 'tp' || k === 'pp' || k === 'dp')
  .map(k => k.toUpperCase() + ' ' + l[k]).join(', ') + ', ZeRO-' + l.zero;
const use = l => {
  for (const k of ['tp', 'pp', 'vpp', 'cp', 'ep', 'micro_batch', 'zero', 'recompute']) fields.get(k).set(String(l[k]));
  fields.get('schedule').set(l.schedule === '1f1b' ? '' : l.schedule);
  changed('', true);
};
const show = {
  plan: r => {
    table('long-table', ['layout', 'micro-batch', 'recompute', 'schedule', 'step', 'MFU', 'memory', ''], r.layouts.slice(0, 8).map(l => [layout(l.layout),
      String(l.layout.micro_batch), l.layout.recompute, l.layout.schedule, time(l.step_time_s), digits(100 * l.mfu) + ' %',
      gigabytes(l.memory_bytes), () => use(l.layout)]));
    find('long-note').textContent = r.searched.toLocaleString('en-US') + ' layouts, ' + r.timed + ' of them timed; ' +
      (r.complete ? 'none is faster than the first row.' : 'none is more than ' + digits(r.gap_percent, 2) + ' % faster than the first row.');
  },
  compare: r => {
    table('long-table', ['', 'step', 'against the first', 'MFU', 'waiting', '$ per million tokens, rented', 'bought', 'power'], r.rows.map(w => [
      [w.machine, w.fabric, w.change].filter(x => x).join(' '), time(w.step_time_s) + (w.fits ? '' : ' (does not fit)'),
      percent(w.time_percent_more), digits(100 * w.mfu) + ' %', digits(w.exposed_percent, 2) + ' %',
      w.rent_usd_per_million_tokens ? digits(w.rent_usd_per_million_tokens, 2) : '\u2013',
      w.usd_per_million_tokens_low ? digits(w.usd_per_million_tokens_low, 2) + ' to ' + digits(w.usd_per_million_tokens_high, 2) : '\u2013', digits(w.power_w / 1e3) + ' kW']));
    find('long-note').textContent = 'Differences within the range of a prediction\u2019s error need a measurement.';
  },
};
let job = null;
const start = async kind => {
  if (job) job.abort();
  if (early) early.abort();
  const mine = job = new AbortController(), first = performance.now();
  const since = () => Math.round((performance.now() - first) / 1000) + ' s';
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
addEventListener('popstate', () => { settled = location.hash; read(); changed('', true); });
read();
history.replaceState(null, '', address());
settled = address();
changed('', true);
)js";
}

}  // namespace busbar::cli
