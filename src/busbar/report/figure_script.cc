#include "busbar/report/internal/figure_script.h"

namespace busbar::report {

std::string_view figure_script() {
  return R"js(//<![CDATA[
'use strict';
{
  const sheet = [...document.querySelectorAll('style')].map(s => s.textContent).join('\n');
  const tiles = document.querySelector('svg.tiles');
  // A picture as a file of its own: with the style of the page, its hatches, and a ground.
  const alone = (svg, width, height) => {
    const copy = svg.cloneNode(true);
    copy.setAttribute('width', width);
    copy.setAttribute('height', height);
    const make = (tag, parent) => parent.insertBefore(document.createElementNS(svg.namespaceURI, tag), parent.firstChild);
    const ground = make('rect', copy), box = svg.viewBox.baseVal;
    const [x, y, w, h] = box && box.width ? [box.x, box.y, box.width, box.height] : [0, 0, width, height];
    for (const [name, value] of Object.entries({x, y, width: w, height: h})) ground.setAttribute(name, value);
    ground.style.fill = 'var(--bg)';
    if (tiles) copy.insertBefore(tiles.firstChild.cloneNode(true), copy.firstChild);
    make('style', copy).textContent = sheet;
    const kind = svg.closest('.plot') ? 'plot' : svg.closest('figure').className;  // the rules below a figure's class
    const group = document.createElementNS(svg.namespaceURI, 'g');
    group.setAttribute('class', kind);
    group.append(...[...copy.childNodes].filter(e => e.nodeName !== 'style' && e.nodeName !== 'defs'));
    copy.append(group);
    return new XMLSerializer().serializeToString(copy);
  };
  const save = (name, url) => {
    const link = document.createElement('a');
    link.download = name;
    link.href = url;
    link.click();
  };
  const data = text => 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(text);
  for (const figure of document.querySelectorAll('figure')) {
    const svg = figure.querySelector('svg');
    if (!svg) continue;
    const title = figure.querySelector('figcaption')?.textContent || svg.querySelector('title')?.textContent || 'figure';
    const name = title.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '').slice(0, 60);
    let size = [1056, 400];
    const measured = () => {
      const r = svg.getBoundingClientRect();
      if (r.width > 1) size = [Math.ceil(r.width), Math.ceil(r.height)];
      return size;
    };
    const seen = svg.cloneNode(true);  // another script may take it away
    measured();
    const text = () => alone(svg.isConnected ? svg : (figure.append(seen), seen), ...measured());
    const bar = document.createElement('p');
    bar.className = 'save';
    const button = (kind, act) => {
      const b = document.createElement('button');
      Object.assign(b, {type: 'button', textContent: kind, onclick: act});
      b.setAttribute('aria-label', 'save ' + title + ' as ' + kind);
      bar.append(b);
    };
    button('SVG', () => { save(name + '.svg', data(text())); seen.remove(); });
    button('PNG', () => {
      const canvas = figure.querySelector('canvas');
      if (canvas) return save(name + '.png', canvas.toDataURL());
      const picture = new Image(), [w, h] = measured(), large = document.createElement('canvas');
      picture.onload = () => {
        large.width = 2 * w;
        large.height = 2 * h;
        large.getContext('2d').drawImage(picture, 0, 0, large.width, large.height);
        save(name + '.png', large.toDataURL());
      };
      picture.src = data(text());
    });
    figure.append(bar);
  }
}
//]]>)js";
}

std::string_view figure_script_hash() { return "sha256-bSDDpXcuwqcNRcZaWbeOoHp7aFxQZufCa21ShXAMn6M="; }

}  // namespace busbar::report
