// Flame graphs: zoom, keys and search. A graph is an `svg.graph` with an `svg.f` for each frame, in the order of reading.

/** Pixels of a level. */
const FLAME_ROW = 18;
/** Narrower frames are left out, in pixels, and their texts, in letters. */
const FLAME_LEAST = 0.4;
const FLAME_LETTERS = 3;
/** What lies within this of an edge lies at it: places are rounded. */
const FLAME_SLACK = 0.001;

/** A part of a whole, as the tables write it. */
function flamePercent(part) {
  const hundredths = part * 100;
  if (hundredths <= 0) return '0 %';
  if (hundredths < 0.1) return '<0.1 %';
  return `${hundredths.toFixed(hundredths < 9.95 ? 1 : 0)} %`;
}

/** Puts frames into an empty graph. A label is `[described, text, class]`, a block `[level, label, ns, count, parts]`. Parts are a
 * state, or some, each with its thousandths behind it. */
function drawFlame(graph, { labels, states }, blocks) {
  const whole = blocks[0][2];
  const ends = [];
  for (const [level, label, ns, count, parts] of blocks) {
    const from = level === 0 ? 0 : ends[level];
    const [described, text, kind] = labels[label];
    // Below it, the first begins where it does; beside it, the next where it ends.
    ends[level] = from + ns;
    ends[level + 1] = from;
    const place = { x: `${(from / whole) * 100}%`, width: `${(ns / whole) * 100}%`, y: level * FLAME_ROW, height: FLAME_ROW - 1 };
    const filled = parts.length > 1 ? ' striped' : parts.map((state) => ` caused state-${state}`).join('');
    const frame = svgElement('svg', { class: kind + filled, ...place });
    const title = svgElement('title', {});
    // An estimate, of what happened a whole number of times.
    const times = count < 999.5 ? String(Math.max(1, Math.round(count))) : format('count', count);
    const timesText = count > 0 ? `, ${times} time${times === '1' ? '' : 's'}` : '';
    const causes = parts.map((part, index) => (index % 2 === 1 ? ` ${flamePercent(part / 1000)}` : `${index > 0 ? ', ' : '; '}${states[part]}`));
    title.textContent = `${described}: ${format('ns', ns)}, ${flamePercent(ns / whole)}${timesText}${causes.join('')}`;
    const words = svgElement('text', { x: 4, y: 13 });
    words.textContent = text;
    frame.append(title);
    for (let [place, part] = [1, 0]; place < parts.length; part += parts[place], place += 2) {
      // Each reaches to the end, so that there are no gaps, and the next lies above it.
      frame.append(svgElement('rect', { class: `state-${parts[place - 1]}`, x: `${part / 10}%`, width: '100%', height: '100%' }));
    }
    frame.append(svgElement('rect', { width: '100%', height: '100%' }), words);
    graph.append(frame);
  }
  graph.setAttribute('height', (Math.max(...blocks.map(([level]) => level)) + 1) * FLAME_ROW);
}

class Flame {
  constructor(graph, tell) {
    this.graph = graph;
    this.frames = [...graph.querySelectorAll('svg.f')].map((box) => {
      const [x, width] = ['x', 'width'].map((name) => parseFloat(box.getAttribute(name)));
      const told = box.querySelector('title').textContent;
      const text = box.querySelector('text');
      const level = Number(box.getAttribute('y')) / FLAME_ROW;
      const described = told.slice(0, told.lastIndexOf(': ')).toLowerCase();
      return { box, x, end: x + width, width, level, told, described, text, name: text.textContent };
    });
    [this.root] = this.frames;
    this.zoomed = this.root;
    this.now = this.root;
    this.byBox = new Map(this.frames.map((frame) => [frame.box, frame]));
    this.letter = this.widthOfLetter();
    for (const { box, told } of this.frames) {
      box.setAttribute('role', 'button');
      box.setAttribute('aria-label', told);
      box.setAttribute('tabindex', '-1');
    }
    this.root.box.setAttribute('tabindex', '0');
    graph.classList.add('moves');
    // Whoever listens for the focus gets it himself otherwise, beside his frames.
    graph.setAttribute('tabindex', '-1');
    graph.addEventListener('click', (event) => this.with(event, (frame) => this.zoom(frame)));
    graph.addEventListener('pointerover', (event) => this.with(event, (frame) => tell(frame.told)));
    graph.addEventListener('focusin', (event) => this.with(event, (frame) => { this.stand(frame); tell(frame.told); }));
    graph.addEventListener('keydown', (event) => this.key(event));
  }

  with(event, act) {
    const frame = this.byBox.get(event.target.closest('svg.f'));
    if (frame) act(frame);
  }

  widthOfLetter() {
    const { text, name } = this.root;
    const length = text.getComputedTextLength();
    return length > 0 ? length / name.length : 6.7;
  }

  /** Makes a frame as wide as the graph, and leaves out what is not above or below it. */
  zoom(to) {
    this.zoomed = to;
    this.place();
    if (!this.isSeen(this.now)) this.stand(to);
    this.graph.dispatchEvent(new Event('zoomed', { bubbles: true }));
  }

  isSeen(frame) {
    return frame.box.style.display !== 'none';
  }

  place() {
    const { x, end, width, level } = this.zoomed;
    const pixels = this.graph.getBoundingClientRect().width;
    for (const frame of this.frames) {
      const isAbove = frame.level < level && frame.x <= x + FLAME_SLACK && frame.end >= end - FLAME_SLACK;
      const isBelow = frame.level >= level && frame.x >= x - FLAME_SLACK && frame.end <= end + FLAME_SLACK;
      const share = isAbove ? 1 : frame.width / width;
      const isSeen = isAbove || (isBelow && (share * pixels >= FLAME_LEAST || frame === this.zoomed));
      frame.box.style.display = isSeen ? '' : 'none';
      frame.box.classList.toggle('above', isAbove);
      if (!isSeen) continue;
      frame.box.setAttribute('x', `${isAbove ? 0 : Math.max(0, ((frame.x - x) / width) * 100)}%`);
      frame.box.setAttribute('width', `${share * 100}%`);
      this.fit(frame, share * pixels);
    }
  }

  /** As much of the name as has room. */
  fit({ box, text, name }, pixels) {
    const room = Math.floor((pixels - 6) / this.letter);
    box.classList.toggle('narrow', room < FLAME_LETTERS);
    if (room < FLAME_LETTERS) return;
    // By characters: half of one that takes two places of a string is none.
    const letters = [...name];
    const shown = letters.length <= room ? name : `${letters.slice(0, room - 1).join('')}\u2026`;
    if (text.textContent !== shown) text.textContent = shown;
  }

  /** The frame that Tab comes to. */
  stand(frame) {
    this.now.box.setAttribute('tabindex', '-1');
    this.now = frame;
    frame.box.setAttribute('tabindex', '0');
  }

  go(frame) {
    if (!frame) return;
    this.stand(frame);
    frame.box.focus();
  }

  beside(step) {
    const row = this.frames.filter((frame) => frame.level === this.now.level && this.isSeen(frame));
    return row[row.indexOf(this.now) + step];
  }

  above() {
    const { x, end, level } = this.now;
    return this.frames.find((frame) => frame.level === level - 1 && frame.x <= x + FLAME_SLACK && frame.end >= end - FLAME_SLACK);
  }

  below() {
    const { x, end, level } = this.now;
    return this.frames.find((frame) => frame.level === level + 1 && frame.x >= x - FLAME_SLACK && frame.end <= end + FLAME_SLACK && this.isSeen(frame));
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = {
      ArrowLeft: () => this.go(this.beside(-1)),
      ArrowRight: () => this.go(this.beside(1)),
      ArrowUp: () => this.go(this.above()),
      ArrowDown: () => this.go(this.below()),
      Enter: () => this.zoom(this.now),
      ' ': () => this.zoom(this.now),
      Escape: () => { this.zoom(this.root); this.go(this.now); },
    };
    if (!(event.key in actions)) return;
    actions[event.key]();
    event.preventDefault();
  }

  /** Marks the frames in whose names the words are; gives the part of the whole that they are. */
  search(words) {
    const wanted = words.trim().toLowerCase();
    let [found, until] = [0, -1];
    for (const frame of this.frames) {
      const isHit = wanted !== '' && frame.described.includes(wanted);
      frame.box.classList.toggle('hit', isHit);
      // What lies below a frame that was counted is in it.
      if (!isHit || frame.x < until - FLAME_SLACK) continue;
      found += frame.width;
      until = frame.end;
    }
    return found / 100;
  }
}

/** Brings graphs to life that belong together, with one field for a search in `bar`. */
function startFlames(graphs, bar) {
  const html = (name, attributes, ...children) => {
    // In a file of its own there is no document of HTML.
    const made = document.createElementNS('http://www.w3.org/1999/xhtml', name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  const keys = 'Click: zoom. Arrow keys, Enter and Escape: move, zoom, zoom out.';
  const field = html('input', { type: 'search', placeholder: 'Search functions', 'aria-label': 'Search functions', autocomplete: 'off' });
  const reset = html('button', { type: 'button', hidden: '' }, 'Reset zoom');
  const found = html('span', { class: 'found', role: 'status' });
  const told = html('p', { class: 'told', 'aria-hidden': 'true' }, keys);
  bar.append(html('div', { class: 'flamebar' }, field, reset, found, told));
  const flames = graphs.map((graph) => new Flame(graph, (text) => { told.textContent = text; }));
  const place = () => flames.forEach((flame) => flame.place());
  field.addEventListener('input', () => {
    const parts = flames.map((flame) => flamePercent(flame.search(field.value)));
    found.textContent = field.value.trim() === '' ? '' : `found in ${parts.join(' and ')}`;
  });
  reset.addEventListener('click', () => flames.forEach((flame) => flame.zoom(flame.root)));
  for (const graph of graphs) {
    graph.addEventListener('zoomed', () => { reset.hidden = flames.every((flame) => flame.zoomed === flame.root); });
  }
  addEventListener('resize', place);
  place();
  return flames;
}
