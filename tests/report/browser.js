// SPDX-License-Identifier: PostgreSQL
// Each text of a page, with its contrast to what it lies on: the nearest ground that is painted, of an ancestor or, within a
// picture, of the last shape drawn before whose box holds the text's middle. What cannot be seen is left out, and so is
// what has no plain colour below.
() => {
  const colour = text => {
    const found = /^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/.exec(text);
    return found && [+found[1], +found[2], +found[3], found[4] === undefined ? 1 : +found[4]];
  };
  const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const ground = element => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const found = colour(getComputedStyle(at).backgroundColor);
      if (found && found[3] > 0) layers.push(found);
      if (found && found[3] === 1) break;
    }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const shapes = new Map();
  const painted = svg => {
    if (!shapes.has(svg)) {
      shapes.set(svg, [...svg.querySelectorAll('rect, circle, ellipse, path, polygon, image')].flatMap(at => {
        const style = getComputedStyle(at), fill = colour(style.fill), box = at.getBoundingClientRect();
        const isSolid = fill && fill[3] > 0.9 && +style.fillOpacity > 0.9 && +style.opacity > 0.9;
        const isUnknown = at.tagName === 'image' || style.fill.startsWith('url');
        return box.width && (isSolid || isUnknown) && !at.closest('defs') ? [{ at, box, fill: isUnknown ? null : fill }] : [];
      }));
    }
    return shapes.get(svg);
  };
  const shape = (text, box) => {
    const x = box.x + box.width / 2, y = box.y + box.height / 2;
    const svg = [...(function* () { for (let s = text.ownerSVGElement; s; s = s.ownerSVGElement) yield s; })()].pop();
    const below = painted(svg).filter(({ at, box: b }) => b.left <= x && x <= b.right && b.top <= y && y <= b.bottom &&
      at.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING);
    return below.length ? below[below.length - 1].fill : ground(svg.parentElement);
  };
  const luminance = c => {
    const [r, g, b] = c.map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, two) => {
    const [high, low] = [luminance(one), luminance(two)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const element = walk.currentNode.parentElement, said = walk.currentNode.data.trim();
    if (!said || !element.checkVisibility({ visibilityProperty: true })) continue;
    if (['STYLE', 'SCRIPT', 'title', 'desc', 'metadata'].includes(element.tagName)) continue;
    const range = document.createRange();
    range.selectNodeContents(walk.currentNode);
    const box = range.getBoundingClientRect();
    if (!box.width) continue;
    const style = getComputedStyle(element), isDrawn = element instanceof SVGElement;
    const ink = colour(isDrawn ? style.fill : style.color);
    const below = isDrawn ? shape(element, box) : ground(element);
    if (!ink || !below) continue;
    found.push({ text: said.slice(0, 60), contrast: contrast(over(ink, below), below) });
  }
  return found;
}
