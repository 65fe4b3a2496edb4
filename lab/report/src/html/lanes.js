// Zooms into the picture of a trace. It is there without a script; this draws its bars and times again between other ends.

/** Each step of buttons and keys shows half as much, or twice. */
const STEP = 2;
/** Shorter parts than this, in nanoseconds, have nothing more to show. Nor has a smaller part of the whole: the page has
 *  as one what could not be told apart there. */
const SHORTEST = 100;
const FINEST = 32;
/** What is shorter than so many units of the picture would not be seen. */
const LEAST_BAR = 0.7;
const TICKS = 6;

/** Ticks at even distances of 1, 2 or 5 times a power of ten. */
function ticksBetween([least, most]) {
  const finest = (most - least) / TICKS;
  const power = 10 ** Math.floor(Math.log10(finest));
  const step = [1, 2, 5, 10].map((times) => times * power).find((one) => one >= finest * (1 - 1e-9));
  const first = Math.ceil(least / step - 1e-9);
  const last = Math.floor(most / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}

/** Runs as `[from, length, times]`: the page has for each how long after the one before it it begins. */
function placed(runs) {
  let end = 0;
  return runs.map(([gap, length, times = 1]) => {
    end += gap + length;
    return [end - length, length, times];
  });
}

class Zoomable {
  constructor(section) {
    this.drawn = JSON.parse(section.querySelector('script').textContent);
    const { drawn } = this;
    this.runs = drawn.lanes.map(({ runs }) => runs.map(placed));
    this.box = section.querySelector('.lanes');
    this.svg = this.box.querySelector('svg');
    this.lanes = [...this.svg.querySelectorAll('.lane')];
    this.ticks = this.svg.querySelector('.ticks');
    const { from, right } = this.svg.querySelector('[data-from]').dataset;
    this.edges = [Number(from), Number(right)];
    this.range = [0, drawn.length];
    this.shortest = Math.min(drawn.length, Math.max(SHORTEST, drawn.length / FINEST));
    this.first = [...this.lanes, this.ticks].map((group) => [group, [...group.childNodes]]);
    this.box.before(this.buttons());
    this.listen();
  }

  buttons() {
    const button = (text, key, act) => {
      const made = element('button', { type: 'button', class: 'scale', title: `Key: ${key}` }, text);
      made.addEventListener('click', act);
      return made;
    };
    const zoomIn = button('Zoom in', '+', () => this.scale(1 / STEP, 0.5));
    this.out = button('Zoom out', '-', () => this.scale(STEP, 0.5));
    this.whole = button('Show all', '0', () => this.show([0, this.drawn.length]));
    this.tellEnds(true);
    const hint = element('span', { class: 'hint' }, 'Ctrl + wheel enlarges; dragging and arrow keys move');
    return element('div', { class: 'controls', role: 'group', 'aria-label': 'Zoom' }, zoomIn, this.out, this.whole, hint);
  }

  /** Whether there is nothing beyond what is seen. The buttons keep the focus that they have. */
  tellEnds(isWhole) {
    [this.out, this.whole].forEach((one) => one.setAttribute('aria-disabled', String(isWhole)));
    // Where all is seen, a finger scrolls what is too wide.
    this.svg.style.touchAction = isWhole ? 'pan-x pan-y' : 'pan-y';
  }

  /** Shows `factor` times as much; what lies at `part` of the picture stays there. */
  scale(factor, part) {
    const [from, to] = this.range;
    const length = Math.min(this.drawn.length, Math.max(this.shortest, (to - from) * factor));
    this.move(from + part * (to - from - length), length);
  }

  /** Shows so much from a time on, as near as the ends of the record allow. */
  move(from, length) {
    const start = Math.max(0, Math.min(this.drawn.length - length, from));
    this.show([start, start + length]);
  }

  show(range) {
    const [from, to] = range;
    if (from === this.range[0] && to === this.range[1]) return;
    this.range = range;
    const isWhole = to - from >= this.drawn.length;
    this.tellEnds(isWhole);
    if (isWhole) this.first.forEach(([group, nodes]) => group.replaceChildren(...nodes));
    else this.draw();
  }

  draw() {
    const [from, to] = this.range;
    const [left, right] = this.edges;
    const x = (ns) => left + ((ns - from) / (to - from)) * (right - left);
    this.lanes.forEach((group, index) => group.replaceChildren(...this.bars(group.dataset, index, x)));
    const { top, bottom } = this.ticks.dataset;
    const y = Number(bottom);
    const marks = ticksBetween(this.range).flatMap((ns) => {
      const text = svgElement('text', { x: Math.min(x(ns), right - 20), y: y + 23, 'font-size': 13, class: 'muted', 'text-anchor': 'middle' });
      text.textContent = formatTick('ns', ns);
      return [svgElement('line', { x1: x(ns), x2: x(ns), y1: top, y2: y + 5, class: 'grid' }), text];
    });
    this.ticks.replaceChildren(...marks);
  }

  /** The runs between the ends, as one those that would touch. */
  seen(runs) {
    const [from, to] = this.range;
    const [left, right] = this.edges;
    const gap = (LEAST_BAR * (to - from)) / (right - left);
    const seen = [];
    for (const [start, length, times] of runs) {
      if (start >= to || start + length <= from) continue;
      const last = seen.at(-1);
      if (last && start - (last[0] + last[1]) < gap) {
        last[1] = start + length - last[0];
        last[2] += times;
      } else seen.push([start, length, times]);
    }
    return seen;
  }

  /** What is at a place between the ends, the highest bars last, over the others. */
  bars({ middle, height }, lane, x) {
    const { name } = this.drawn.lanes[lane];
    const [from, to] = this.range;
    const groups = this.drawn.places.map(([hue, place, part], index) => {
      const group = svgElement('g', { class: `hue${hue}` });
      for (const [start, length, times] of this.seen(this.runs[lane][index])) {
        const [begin, end] = [x(Math.max(from, start)), x(Math.min(to, start + length))];
        const size = { x: begin, width: Math.max(LEAST_BAR, end - begin), y: middle - (height * part) / 2, height: height * part };
        const title = svgElement('title', {});
        const often = times === 1 ? '' : ` ${times} times within`;
        title.textContent = `${name}: ${place}${often} ${often ? '' : 'for '}${format('ns', length)}, from ${format('ns', start)}`;
        const bar = svgElement('rect', size);
        bar.append(title);
        group.append(bar);
      }
      return group;
    });
    return groups.reverse();
  }

  /** Which part of the lanes a pixel of the window is at, 0 and 1 being their ends. */
  partAt(clientX) {
    const { left, width } = this.svg.getBoundingClientRect();
    const [from, right] = this.edges.map((edge) => left + (edge / this.svg.viewBox.baseVal.width) * width);
    return (clientX - from) / (right - from);
  }

  listen() {
    this.svg.addEventListener('wheel', (event) => {
      // The wheel by itself scrolls the page. Two fingers on a touchpad come as the wheel with this key.
      if (!event.ctrlKey && !event.metaKey) return;
      const part = Math.min(1, Math.max(0, this.partAt(event.clientX)));
      this.scale(STEP ** Math.max(-1, Math.min(1, event.deltaY / 100)), part);
      event.preventDefault();
    }, { passive: false });
    const step = (part) => this.move(this.range[0] + part * (this.range[1] - this.range[0]), this.range[1] - this.range[0]);
    const always = { '+': () => this.scale(1 / STEP, 0.5), '-': () => this.scale(STEP, 0.5), 0: () => this.show([0, this.drawn.length]) };
    // Where all is seen, arrows scroll what is too wide.
    const enlarged = { ArrowLeft: () => step(-0.25), ArrowRight: () => step(0.25) };
    this.box.addEventListener('keydown', (event) => {
      const isWhole = this.range[1] - this.range[0] >= this.drawn.length;
      const keys = isWhole ? always : { ...always, ...enlarged };
      if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
      keys[event.key]();
      event.preventDefault();
    });
    // On paper stands what its words are about.
    addEventListener('beforeprint', () => this.show([0, this.drawn.length]));
    this.listenToPointers();
  }

  /** One pointer drags what is enlarged, two stretch it. */
  listenToPointers() {
    const pointers = new Map();
    let last;
    const now = () => {
      const parts = [...pointers.values()].map((clientX) => this.partAt(clientX));
      const middle = parts.reduce((sum, part) => sum + part, 0) / parts.length;
      return { middle, span: parts.length > 1 ? Math.abs(parts[0] - parts[1]) : null };
    };
    const change = (event, act) => {
      act(event);
      last = pointers.size > 0 ? now() : undefined;
    };
    const forget = (event) => change(event, () => pointers.delete(event.pointerId));
    this.svg.addEventListener('pointerdown', (event) => {
      if (event.pointerType === 'mouse' && event.button !== 0) return;
      this.svg.setPointerCapture(event.pointerId);
      change(event, () => pointers.set(event.pointerId, event.clientX));
    });
    this.svg.addEventListener('pointermove', (event) => change(event, () => {
      if (!pointers.has(event.pointerId)) return;
      pointers.set(event.pointerId, event.clientX);
      const { middle, span } = now();
      if (span && last.span) this.scale(last.span / span, middle);
      const [from, to] = this.range;
      this.move(from + (last.middle - middle) * (to - from), to - from);
    }));
    this.svg.addEventListener('pointerup', forget);
    this.svg.addEventListener('pointercancel', forget);
  }
}

document.querySelectorAll('section.timeline').forEach((section) => new Zoomable(section));
