"""Expressions that look at an open page and name what is hard to read."""
WIDTHS = (1400, 800, 390)

# Letters as they appear on the screen, in px, of all texts that are drawn.
SMALLEST = """(() => {
  let least = [99, ''];
  const walk = document.createTreeWalker(document.body || document, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement, text = walk.currentNode.textContent.trim();
    if (!text || ['SCRIPT', 'STYLE', 'title', 'desc'].includes(e.tagName) || !e.checkVisibility() ||
        !(r => r.width > 1 && r.height > 1)(e.getBoundingClientRect())) continue;
    let size = parseFloat(getComputedStyle(e).fontSize);
    if (e.ownerSVGElement) size *= e.ownerSVGElement.getScreenCTM().d;
    if (size < least[0]) least = [size, text];
  }
  return least;
})()"""
# Pairs of texts of one picture that cover each other by more than 3 px in both directions.
OVERLAPS = """(() => {
  const out = [];
  for (const svg of document.querySelectorAll('svg')) {
    const texts = [...svg.querySelectorAll('text')].filter(t => t.checkVisibility())
      .map(t => [t.getBoundingClientRect(), t.textContent]);
    for (let i = 0; i < texts.length; ++i) for (let j = 0; j < i; ++j) {
      const a = texts[i][0], b = texts[j][0];
      const w = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const h = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (w > 3 && h > 3) out.push(texts[j][1] + ' / ' + texts[i][1]);
    }
  }
  return out;
})()"""
# Shapes and texts of drawings that leave their picture by more than 1 px.
OUTSIDE = """(() => {
  const out = [];
  for (const svg of document.querySelectorAll('.drawing svg')) {
    const box = svg.getBoundingClientRect();
    for (const e of svg.querySelectorAll('text, rect, circle, line, path, polygon')) {
      const r = e.getBoundingClientRect();
      if (r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1)
        out.push(e.tagName + ' ' + e.textContent);
    }
  }
  return out;
})()"""
# Texts of the page, not of pictures, whose contrast to what is behind them is below AA.
CONTRAST = """(() => {
  const parse = c => (c.match(/[0-9.]+/g) || []).map(Number);
  const light = c => { const [r, g, b] = parse(c).map(v => { v /= 255; return v <= 0.04045 ? v / 12.92 :
    ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const out = new Set(), walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement;
    if (!walk.currentNode.textContent.trim() || e.ownerSVGElement || !e.checkVisibility() ||
        !(r => r.width > 1 && r.height > 1)(e.getBoundingClientRect())) continue;
    let back = e;
    while (back.parentElement && parse(getComputedStyle(back).backgroundColor)[3] === 0) back = back.parentElement;
    const a = light(getComputedStyle(e).color), b = light(getComputedStyle(back).backgroundColor);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), large = parseFloat(getComputedStyle(e).fontSize) >= 24;
    if (ratio < (large ? 3 : 4.5)) out.add(ratio.toFixed(1) + ' ' + e.tagName + ' ' + walk.currentNode.textContent.trim());
  }
  return [...out];
})()"""
OPEN_ALL = "for (const d of document.querySelectorAll('details')) d.open = true"

