// The values at one place, beside the pointer or the place that the arrow keys have reached.

/** With more rows than this the tooltip would not fit beside a chart. */
const TOOLTIP_ROWS = 16;

class Tooltip {
  constructor(figure, plot) {
    this.figure = figure;
    this.plot = plot;
    this.box = element('div', { class: 'tooltip', role: 'status', hidden: '' });
    this.line = element('div', { class: 'crosshair', hidden: '' });
    plot.append(this.line, this.box);
  }

  get visible() {
    return !this.box.hidden;
  }

  hide() {
    this.box.hidden = true;
    this.line.hidden = true;
    this.place = undefined;
  }

  /** Shows what `series` have at `x`, which lies at `left` pixels in the plot; `top` and `bottom` bound the line. */
  show(x, series, { left, top, bottom }) {
    if (this.place !== x || !this.visible) this.fill(x, series);
    this.place = x;
    this.box.hidden = false;
    this.line.hidden = false;
    Object.assign(this.line.style, { left: `${left}px`, top: `${top}px`, height: `${bottom - top}px` });
    const room = this.plot.clientWidth;
    const width = this.box.offsetWidth;
    const beside = left + 18 + width <= room ? left + 18 : left - 18 - width;
    this.box.style.left = `${Math.max(0, Math.min(beside, room - width))}px`;
    this.box.style.top = `${top + 6}px`;
  }

  fill(x, series) {
    const { figure } = this;
    const at = (one) => one.points.find((point) => point.x === x);
    const rows = series.map((one) => ({ one, point: at(one) })).filter(({ point }) => point);
    rows.sort((a, b) => b.point.y - a.point.y);
    const named = figure.x.scale.kind === 'names';
    const place = formatPlace(figure.x, x);
    const head = element('p', { class: 'place' }, named ? place : `${figure.x.label}: ${place}`);
    const body = element('tbody', {}, ...rows.slice(0, TOOLTIP_ROWS).map((row) => this.row(row)));
    const rest = rows.length - TOOLTIP_ROWS;
    const more = rest > 0 ? [element('p', { class: 'more' }, `and ${rest} below these`)] : [];
    this.box.replaceChildren(head, element('table', {}, body), ...more);
  }

  row({ one, point }) {
    const { figure } = this;
    const number = (value) => format(figure.y.unit, value);
    const range = point.spread ? `${number(point.spread[0])} to ${number(point.spread[1])}` : '';
    const between = point.bistable ? `${range}, bistable` : range;
    return element('tr', { class: one.style === 0 ? 'flagship' : 'other' },
      element('td', {}, swatch(one, figure.form === 'bars')),
      element('th', { scope: 'row' }, element('bdi', {}, one.name)),
      element('td', { class: 'value' }, `${point.at_least ? '>' : ''}${number(point.y)}`),
      element('td', { class: 'spread' }, between));
  }
}
