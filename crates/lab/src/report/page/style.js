// What tells series apart: colour and marker say which lock, dashes and the marker's filling say from which file.

/** As many as page.css has colours `--series-1` and so on, beside the flagship's. */
const COLOURS = 9;
/** Outlines in a square of 2 by 2 around 0. Their number has no divisor in common with that of the colours, so that 72
 *  styles differ. */
const MARKERS = [
  'M0,-0.9L0.95,0.75L-0.95,0.75Z',
  'M-0.8,-0.8H0.8V0.8H-0.8Z',
  'M0,-1.1L1.1,0L0,1.1L-1.1,0Z',
  'M0,0.9L0.95,-0.75L-0.95,-0.75Z',
  'M-0.35,-1H0.35V-0.35H1V0.35H0.35V1H-0.35V0.35H-1V-0.35H-0.35Z',
  'M-0.95,-0.5L-0.5,-0.95L0,-0.45L0.5,-0.95L0.95,-0.5L0.45,0L0.95,0.5L0.5,0.95L0,0.45L-0.5,0.95L-0.95,0.5L-0.45,0Z',
  'M0,-1L0.95,-0.31L0.59,0.81L-0.59,0.81L-0.95,-0.31Z',
  'M-0.5,-0.9H0.5L1,0L0.5,0.9H-0.5L-1,0Z',
];
const CIRCLE = 'M1,0A1,1,0,1,1,-1,0A1,1,0,1,1,1,0Z';
const DASHES = ['solid', [7, 4], [2, 3], [9, 3, 2, 3]];

function styleOf({ style, source }) {
  const flagship = style === 0;
  const dash = DASHES[source % DASHES.length];
  return {
    flagship,
    colour: flagship ? 'var(--flagship)' : `var(--series-${((style - 1) % COLOURS) + 1})`,
    marker: flagship ? CIRCLE : MARKERS[(style - 1) % MARKERS.length],
    width: flagship ? 3.5 : 2,
    size: flagship ? 9 : 8,
    dash,
    dashes: dash === 'solid' ? null : dash.join(' '),
    // Full, hollow, and then again: dashes go on telling them apart.
    filling: source % 2 === 0 ? null : 'var(--paper)',
  };
}

/** A small drawing of a series for legend and tooltip. */
function swatch(series, bars) {
  const look = styleOf(series);
  const svg = svgElement('svg', { viewBox: '0 0 28 14', width: 28, height: 14, 'aria-hidden': 'true' });
  if (bars) {
    const shape = { x: 7, y: 1, width: 14, height: 12, rx: 2, 'stroke-width': 2, stroke: look.colour };
    svg.append(svgElement('rect', { ...shape, fill: look.colour, 'fill-opacity': barOpacity(series) }));
    return svg;
  }
  const line = { x1: 0, y1: 7, x2: 28, y2: 7, stroke: look.colour, 'stroke-width': look.width };
  if (look.dashes) line['stroke-dasharray'] = look.dashes;
  const shape = { d: look.marker, transform: `translate(14 7) scale(${look.size / 2})`, stroke: look.colour };
  const marker = { ...shape, fill: look.filling ?? look.colour, 'stroke-width': 1.6, 'vector-effect': 'non-scaling-stroke' };
  svg.append(svgElement('line', line), svgElement('path', marker));
  return svg;
}

/** Bars of the second file are pale, of the third paler: two bars side by side have no dashes to tell them apart. */
function barOpacity({ source }) {
  return [1, 0.35, 0.08][Math.min(source, 2)];
}

function svgElement(name, attributes) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

/** An HTML element. Text is never taken for markup. */
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
