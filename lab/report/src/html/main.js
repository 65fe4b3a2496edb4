// Puts the charts into the page.

const HEIGHT = 400;
/** So many pixels from a point, a line is pointed at. */
const NEAR = 24;
/** Two charts with their texts fit a sheet of paper. */
const PAPER = { width: 660, height: 300 };

class Chart {
  constructor(section, figure) {
    this.figure = figure;
    this.plot = section.querySelector('.plot');
    this.frame = section.querySelector('.chart');
    const isLog = (axis) => axis.scale.kind === 'log';
    this.view = { shown: figure.series.map(() => true), log: { x: isLog(figure.x), y: isLog(figure.y) }, zoom: {} };
    this.library = echarts.init(this.frame, null, { renderer: 'svg', height: HEIGHT, width: this.frame.clientWidth });
    this.tooltip = new Tooltip(figure, this.plot);
    const { box, reset } = controls(figure, this.view, () => this.zoom({}), () => this.zoom({}));
    this.reset = reset;
    const buttons = legend(figure, (shown) => this.show(shown), (index) => this.point(index));
    this.plot.before(element('div', { class: 'bar' }, buttons, box));
    this.listen();
    this.draw();
  }

  draw() {
    this.pointed = null;
    this.library.setOption(chartOption(this.figure, this.view, this.library.getWidth()), { notMerge: true });
  }

  resize({ width, height }) {
    if (width === 0 || (width === this.library.getWidth() && height === this.library.getHeight())) return;
    this.tooltip.hide();
    this.library.resize({ width, height });
    this.draw();
  }

  show(shown) {
    this.view.shown = [...shown];
    this.tooltip.hide();
    this.draw();
  }

  zoom(ranges) {
    this.view.zoom = ranges;
    this.reset.hidden = Object.keys(ranges).length === 0;
    this.tooltip.hide();
    this.draw();
  }

  /** Makes one series stand out, or none. */
  point(index) {
    if (index === this.pointed) return;
    this.pointed = index;
    this.library.dispatchAction({ type: 'downplay' });
    if (index !== null) this.library.dispatchAction({ type: 'highlight', seriesId: `series-${index}` });
  }

  get shownSeries() {
    return this.figure.series.filter((_, index) => this.view.shown[index]);
  }

  /** The rectangle between the axes, in pixels. */
  area() {
    const { x, y, width, height } = this.library.getModel().getComponent('grid').coordinateSystem.getRect();
    return { left: x, right: x + width, top: y, bottom: y + height };
  }

  /** Where an `x` of the figure lies, in pixels. */
  pixel(x) {
    return this.library.convertToPixel({ xAxisIndex: 0 }, placed(columnsOf(this.figure), x));
  }

  /** The places that can be seen, as `[x, pixel]`. */
  places() {
    const { left, right } = this.area();
    const pixels = placesOf(this.shownSeries).map((x) => [x, this.pixel(x)]);
    return pixels.filter(([, pixel]) => pixel >= left - 1 && pixel <= right + 1);
  }

  tell([x, left]) {
    this.tooltip.show(x, this.shownSeries, { ...this.area(), left });
  }

  /** Brings the line forward that has its point at `x` nearest to a height, if one is near. */
  bringForward(x, height) {
    const heights = this.figure.series.map((series, index) => {
      const point = this.view.shown[index] && series.points.find((one) => one.x === x);
      return point ? Math.abs(this.library.convertToPixel({ yAxisIndex: 0 }, point.y) - height) : Infinity;
    });
    const nearest = heights.reduce((best, one, index) => (one < heights[best] ? index : best), 0);
    this.point(heights[nearest] <= NEAR ? nearest : null);
  }

  tellNearest(pixel) {
    const places = this.places();
    if (places.length === 0) return;
    this.tell(places.reduce((best, place) => (Math.abs(place[1] - pixel) < Math.abs(best[1] - pixel) ? place : best)));
  }

  listen() {
    this.frame.tabIndex = 0;
    const keys = 'Arrow keys: values; +: zoom in; 0: reset zoom; Escape: hide values';
    this.plot.append(element('p', { class: 'keys' }, keys));
    const tell = (event) => {
      // Whoever drags wants to see the lines.
      if (event.pointerType !== 'touch' && event.buttons > 0) this.tooltip.hide();
      else {
        const frame = this.plot.getBoundingClientRect();
        this.tellNearest(event.clientX - frame.left);
        if (this.tooltip.visible && this.figure.form === 'lines') this.bringForward(this.tooltip.place, event.clientY - frame.top);
      }
    };
    this.plot.addEventListener('pointerdown', tell);
    this.plot.addEventListener('pointermove', tell);
    // A finger that is lifted leaves too: what it has pointed at stays until something else is touched.
    this.plot.addEventListener('pointerleave', (event) => {
      if (event.pointerType === 'touch') return;
      this.tooltip.hide();
      this.point(null);
    });
    document.addEventListener('pointerdown', (event) => {
      if (this.plot.contains(event.target)) return;
      this.tooltip.hide();
      this.point(null);
    });
    this.plot.addEventListener('dblclick', () => this.zoom({}));
    this.frame.addEventListener('keydown', (event) => this.key(event));
    this.frame.addEventListener('blur', () => this.tooltip.hide());
    watchDrags(this.plot, () => this.area(), (marked) => this.zoomInto(marked));
  }

  zoomInto({ left, right, top, bottom }) {
    const { figure, view } = this;
    const area = this.area();
    const full = { ...fullRange(figure, view, this.shownSeries), ...view.zoom };
    const across = [left, right].map((at) => (at - area.left) / (area.right - area.left));
    const upwards = [bottom, top].map((at) => (area.bottom - at) / (area.bottom - area.top));
    const columns = columnsOf(figure);
    const x = columns ? columnsBetween(full.x, across) : partOf(full.x, ...across, view.log.x);
    this.zoom({ x, y: partOf(full.y, ...upwards, view.log.y) });
  }

  /** Zooms in around the place whose values are shown, or around the middle. */
  zoomIn() {
    const { left, right, top, bottom } = this.area();
    const middle = this.tooltip.visible ? this.pixel(this.tooltip.place) : (left + right) / 2;
    const quarter = (right - left) / 4;
    this.zoomInto({ left: middle - quarter, right: middle + quarter, top, bottom });
  }

  /** Moves the values shown to another of the places that can be seen. */
  step(key) {
    const places = this.places();
    const last = places.length - 1;
    const now = places.findIndex(([x]) => x === this.tooltip.place);
    const to = { ArrowRight: now + 1, ArrowLeft: now < 0 ? last : now - 1, Home: 0, End: last }[key];
    if (last >= 0) this.tell(places[Math.min(last, Math.max(0, to))]);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = () => this.step(event.key);
    const actions = {
      ArrowRight: step,
      ArrowLeft: step,
      Home: step,
      End: step,
      Escape: () => this.tooltip.hide(),
      '+': () => this.zoomIn(),
      0: () => this.zoom({}),
    };
    if (!(event.key in actions)) return;
    actions[event.key]();
    event.preventDefault();
  }
}

/** The whole columns that a marked part touches. */
function columnsBetween([first, last], [from, to]) {
  const n = last - first + 1;
  const column = (part) => first + Math.min(n - 1, Math.max(0, Math.floor(part * n)));
  return [column(from), column(to)];
}

const report = JSON.parse(document.getElementById('report').textContent);
const sections = document.querySelectorAll('section.figure');
const charts = report.figures.map((figure, index) => new Chart(sections[index], figure));
document.querySelectorAll('section.timeline').forEach((section, index) => new Zoomable(section, report.timelines[index]));
document.querySelectorAll('.command').forEach(copyButton);

const fit = () => charts.forEach((chart) => chart.resize({ width: chart.plot.clientWidth, height: HEIGHT }));
const fitPaper = () => charts.forEach((chart) => chart.resize(PAPER));
addEventListener('resize', fit);
addEventListener('beforeprint', fitPaper);
addEventListener('afterprint', fit);
openWhatIsNamed();
openForPaper();
document.body.dataset.ready = 'true';
