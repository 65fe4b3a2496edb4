// Puts the charts into the page.

const PRINT_WIDTH = 660;
const HEIGHT = 400;

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
    this.width = this.library.getWidth();
    this.library.setOption(chartOption(this.figure, this.view, this.width), { notMerge: true });
  }

  resize(width) {
    if (width === this.library.getWidth() || width === 0) return;
    this.tooltip.hide();
    this.library.resize({ width, height: HEIGHT });
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

  tellNearest(pixel) {
    const places = this.places();
    if (places.length === 0) return;
    this.tell(places.reduce((best, place) => (Math.abs(place[1] - pixel) < Math.abs(best[1] - pixel) ? place : best)));
  }

  listen() {
    this.frame.tabIndex = 0;
    this.plot.addEventListener('pointermove', (event) => this.tellNearest(event.clientX - this.plot.getBoundingClientRect().left));
    this.plot.addEventListener('pointerleave', () => this.tooltip.hide());
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

  key(event) {
    const places = this.places();
    const now = places.findIndex(([x]) => x === this.tooltip.place);
    const to = {
      ArrowRight: now + 1,
      ArrowLeft: now < 0 ? places.length - 1 : now - 1,
      Home: 0,
      End: places.length - 1,
    }[event.key];
    if (event.key === 'Escape') this.tooltip.hide();
    else if (to === undefined || places.length === 0) return;
    else this.tell(places[Math.min(places.length - 1, Math.max(0, to))]);
    event.preventDefault();
  }
}

/** The whole columns that a marked part touches. */
function columnsBetween([first, last], [from, to]) {
  const n = last - first + 1;
  const column = (part) => first + Math.min(n - 1, Math.max(0, Math.floor(part * n)));
  return [column(from), column(to)];
}

/** A button that copies the command, or marks it where the browser forbids that. */
function copyButton(box) {
  const code = box.querySelector('code');
  const button = element('button', { type: 'button', class: 'copy' }, 'Copy');
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = 'Copied';
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = 'Marked';
    }
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  });
  box.append(button);
}

const report = JSON.parse(document.getElementById('report').textContent);
const sections = document.querySelectorAll('section.figure');
const charts = report.figures.map((figure, index) => new Chart(sections[index], figure));
document.querySelectorAll('.command').forEach(copyButton);

const fit = () => charts.forEach((chart) => chart.resize(chart.plot.clientWidth));
const fitPaper = () => charts.forEach((chart) => chart.resize(PRINT_WIDTH));
addEventListener('resize', fit);
addEventListener('beforeprint', fitPaper);
addEventListener('afterprint', fit);
document.body.dataset.ready = 'true';
