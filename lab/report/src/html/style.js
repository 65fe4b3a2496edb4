// What tells series apart: colour and marker say which lock, dashes and the marker's filling say from which file.

/** As many as the page has colours `--style-0` and so on. */
const COLOURS = 8;
/** Outlines around 0, about 2 wide, in the order of styles. One fewer than colours, so that 56 styles differ. */
const MARKERS = [
  'M1,0A1,1,0,1,1,-1,0A1,1,0,1,1,1,0Z',
  'M-0.85,-0.85H0.85V0.85H-0.85Z',
  'M0,-1.2L1.2,0L0,1.2L-1.2,0Z',
  'M0,-1.05L1.1,0.85H-1.1Z',
  'M0,1.05L1.1,-0.85H-1.1Z',
  'M0,-1.05L1,-0.32L0.62,0.85L-0.62,0.85L-1,-0.32Z',
  'M0,-1.25L0.3,-0.4L1.19,-0.39L0.48,0.16L0.73,1.01L0,0.5L-0.73,1.01L-0.48,0.16L-1.19,-0.39L-0.3,-0.4Z',
];
const DASHES = ['solid', [8, 4], [2, 4], [10, 4, 2, 4]];

function styleOf({ style, source, quiet }) {
  const flagship = style === 0;
  const own = `var(--style-${style % COLOURS})`;
  const dash = DASHES[source % DASHES.length];
  return {
    flagship,
    colour: quiet ? 'var(--quiet)' : own,
    // When it is pointed at.
    own,
    marker: MARKERS[style % MARKERS.length],
    width: flagship ? 3.5 : quiet ? 1.4 : 2,
    size: flagship ? 9 : quiet ? 6 : 8,
    dash,
    dashes: dash === 'solid' ? null : dash.join(' '),
    // Full, hollow, and so on; the other way round when the dashes begin again, so that 8 files differ.
    filling: (source + Math.floor(source / DASHES.length)) % 2 === 0 ? null : 'var(--paper)',
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
  const edge = { 'stroke-width': 1.6, 'vector-effect': 'non-scaling-stroke' };
  const marker = { ...shape, ...edge, fill: look.filling ?? look.colour };
  svg.append(svgElement('line', line), svgElement('path', marker));
  return svg;
}

/** Bars of the second file are pale, of the third paler: two bars side by side have no dashes to tell them apart. */
function barOpacity({ source }) {
  return [1, 0.35, 0.08][Math.min(source, 2)];
}
