// What pointer, keys and legend do to a chart. Its values are those of the table below it.

/** With more rows than this the tooltip would not fit beside a chart. */
const TOOLTIP_ROWS = 16;
/** So many pixels from a point, a line is pointed at. */
const NEAR = 24;
/** Beyond so many series it is tedious to switch each of them. */
const SWITCH_ALL_FROM = 5;
const SIZES = { k: 1e3, M: 1e6, G: 1e9, us: 1e3, ms: 1e6, s: 1e9 };

class Chart {
  constructor(section) {
    this.section = section;
    this.plot = section.querySelector('.plot');
    this.frame = section.querySelector('.chart');
    this.svg = this.frame.querySelector('svg');
    this.xs = this.frame.dataset.xs.split(' ').map((x) => Number(x) / 1000);
    this.rows = [...section.querySelectorAll('table tr')].map(({ cells }) => [...cells]);
    this.buttons = [...section.querySelectorAll('.legend > span')].map((name, index) => {
      const button = element('button', { type: 'button', class: 'series', 'data-series': index, title: name.textContent }, ...name.childNodes);
      button.firstChild.setAttribute('aria-hidden', 'true');
      name.replaceWith(button);
      return button;
    });
    this.shown = this.buttons.map(() => true);
    // The table has a row for each place if there are more of these than of series.
    this.cell = this.xs.length > this.buttons.length ? (series, place) => this.rows[place][series] : (series, place) => this.rows[series][place];
    this.tooltip = element('div', { class: 'tooltip', role: 'status', hidden: '' });
    this.line = element('div', { class: 'crosshair', hidden: '' });
    this.frame.tabIndex = 0;
    this.plot.append(this.line, this.tooltip, element('p', { class: 'keys' }, 'Arrow keys: values; Escape: hide values'));
    this.legend();
    this.listen();
  }

  /** A click hides a series or shows it, a double click leaves only that one, and what is pointed at stands out. */
  legend() {
    this.buttons.forEach((button, index) => {
      button.ariaPressed = true;
      button.addEventListener('click', () => this.show(index, !this.shown[index]));
      button.addEventListener('dblclick', () => this.buttons.forEach((_, other) => this.show(other, other === index)));
      for (const event of ['pointerenter', 'focus']) button.addEventListener(event, () => this.point(this.shown[index] ? index : null));
      for (const event of ['pointerleave', 'blur']) button.addEventListener(event, () => this.point(null));
    });
    if (this.buttons.length < SWITCH_ALL_FROM) return;
    this.all = element('button', { type: 'button', class: 'all' }, 'Hide all');
    this.all.addEventListener('click', () => {
      const some = this.shown.includes(true);
      this.buttons.forEach((_, index) => this.show(index, !some));
    });
    this.buttons.at(-1).after(this.all);
  }

  partsOf(series) {
    return this.svg.querySelectorAll(`.s${series}`);
  }

  show(series, is) {
    this.shown[series] = is;
    this.buttons[series].ariaPressed = is;
    this.partsOf(series).forEach((part) => part.toggleAttribute('hidden', !is));
    if (this.all) this.all.textContent = this.shown.includes(true) ? 'Hide all' : 'Show all';
    if (!is) this.point(null);
    this.hide();
  }

  /** Brings one series forward, or none. */
  point(series) {
    if (series === this.pointed) return;
    this.pointed = series;
    this.svg.querySelectorAll('.front').forEach((part) => part.classList.remove('front'));
    this.svg.classList.toggle('pointed', series !== null);
    if (series !== null) this.partsOf(series).forEach((part) => part.classList.add('front'));
  }

  hide() {
    this.tooltip.hidden = true;
    this.line.hidden = true;
    this.place = undefined;
  }

  /** The series that are shown and have a value at a place, the highest first. */
  at(place) {
    const values = this.shown.flatMap((is, series) => {
      const cell = this.cell(series + 1, place + 1);
      const value = cell.firstChild?.textContent.trim();
      if (!is || !value) return [];
      const [, digits, unit] = value.match(/([-+.e\d]+) ?(\w*)/) ?? [];
      return [{ series, value, size: digits * (SIZES[unit] ?? 1), spread: cell.querySelector('small')?.textContent ?? '' }];
    });
    return values.sort((a, b) => b.size - a.size);
  }

  /** The places that have something to tell. */
  places() {
    return this.xs.flatMap((x, place) => (Number.isFinite(x) && this.at(place).length > 0 ? [place] : []));
  }

  tell(place) {
    const values = this.at(place);
    const head = this.cell(0, place + 1).textContent;
    const body = values.slice(0, TOOLTIP_ROWS).map(({ series, value, spread }) => {
      const name = element('th', { scope: 'row' }, this.buttons[series].querySelector('bdi').cloneNode(true));
      const swatch = this.buttons[series].querySelector('svg').cloneNode(true);
      const cells = [element('td', { class: 'value' }, value), element('td', { class: 'spread' }, spread)];
      return element('tr', { class: swatch.classList.contains('lead') ? 'flagship' : 'other' }, element('td', {}, swatch), name, ...cells);
    });
    const rest = values.length - TOOLTIP_ROWS;
    this.tooltip.replaceChildren(
      element('p', { class: 'place' }, `${this.frame.dataset.x}: ${head}`),
      element('table', {}, element('tbody', {}, ...body)),
      ...(rest > 0 ? [element('p', { class: 'more' }, `and ${rest} below these`)] : []));
    this.place = place;
    this.tooltip.hidden = false;
    this.line.hidden = false;
    const [outer, axes] = [this.plot, this.svg].map((one) => one.getBoundingClientRect());
    const [left, top] = [axes.left - outer.left + this.xs[place] * axes.width, axes.top - outer.top];
    Object.assign(this.line.style, { left: `${left}px`, top: `${top}px`, height: `${axes.height}px` });
    const width = this.tooltip.offsetWidth;
    const beside = left + 18 + width <= outer.width ? left + 18 : left - 18 - width;
    this.tooltip.style.left = `${Math.max(0, Math.min(beside, outer.width - width))}px`;
    this.tooltip.style.top = `${top + 6}px`;
  }

  tellNearest({ clientX, clientY }) {
    const { left, top, width } = this.svg.getBoundingClientRect();
    const away = (place) => Math.abs(left + this.xs[place] * width - clientX);
    const places = this.places();
    if (places.length === 0) return;
    const nearest = places.reduce((best, place) => (away(place) < away(best) ? place : best));
    if (this.place !== nearest) this.tell(nearest);
    // The line that has its point there nearest to the pointer, if one is near.
    const points = [...this.svg.querySelectorAll(':not([hidden]) > use')].map((one) => [one, Math.abs(top + one.y.baseVal.value - clientY)]);
    const here = points.filter(([one, far]) => far <= NEAR && Math.abs(one.x.baseVal.valueInSpecifiedUnits / 100 - this.xs[nearest]) < 1e-3);
    here.sort((a, b) => a[1] - b[1]);
    this.point(here.length > 0 ? Number(here[0][0].parentElement.classList[0].slice(1)) : null);
  }

  listen() {
    const leave = () => {
      this.hide();
      this.point(null);
    };
    for (const event of ['pointerdown', 'pointermove']) this.plot.addEventListener(event, (moved) => this.tellNearest(moved));
    // A finger that is lifted leaves too: what it has pointed at stays until something else is touched.
    this.plot.addEventListener('pointerleave', ({ pointerType }) => pointerType !== 'touch' && leave());
    document.addEventListener('pointerdown', ({ target }) => !this.plot.contains(target) && leave());
    this.frame.addEventListener('keydown', (event) => this.key(event));
    this.frame.addEventListener('blur', leave);
    addEventListener('resize', leave);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const places = this.places();
    const last = places.length - 1;
    const now = places.indexOf(this.place);
    const to = { ArrowRight: now + 1, ArrowLeft: now < 0 ? last : now - 1, Home: 0, End: last }[event.key];
    if (event.key === 'Escape') this.hide();
    else if (to === undefined) return;
    else if (last >= 0) this.tell(places[Math.min(last, Math.max(0, to))]);
    event.preventDefault();
  }
}

document.querySelectorAll('section.figure').forEach((section) => new Chart(section));
document.querySelectorAll('.command').forEach(copyButton);
openWhatIsNamed();
openForPaper();
