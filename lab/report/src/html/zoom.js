// Dragging over a chart marks what is to be seen larger. Everything is reckoned in pixels, so that it is the same on
// every kind of axis.

/** Less than this is a click with an unsteady hand. */
const LEAST_DRAG = 8;

/** What is left of `range` between two parts of it, 0 and 1 being its ends. */
function partOf([least, most], from, to, log) {
  const at = log ? (part) => least * (most / least) ** part : (part) => least + part * (most - least);
  return [at(Math.max(0, from)), at(Math.min(1, to))];
}

/** Calls `zoom({left, right, top, bottom})`, in pixels of the plot, after each rectangle that is drawn with a mouse. */
function watchDrags(plot, area, zoom) {
  const box = element('div', { class: 'rubber', hidden: '' });
  plot.append(box);
  let start = null;
  const position = (event) => {
    const frame = plot.getBoundingClientRect();
    const { left, right, top, bottom } = area();
    const inside = (value, least, most) => Math.min(most, Math.max(least, value));
    return { x: inside(event.clientX - frame.left, left, right), y: inside(event.clientY - frame.top, top, bottom) };
  };
  const rectangle = (event) => {
    const end = position(event);
    const [left, right] = [start.x, end.x].sort((a, b) => a - b);
    const [top, bottom] = [start.y, end.y].sort((a, b) => a - b);
    // A mostly level drag means the places, whatever their values.
    const whole = area();
    return bottom - top < LEAST_DRAG * 3 ? { ...whole, left, right } : { left, right, top, bottom };
  };
  const stop = () => {
    start = null;
    box.hidden = true;
  };
  plot.addEventListener('pointerdown', (event) => {
    if (event.pointerType === 'touch' || event.button !== 0) return;
    start = position(event);
    plot.setPointerCapture(event.pointerId);
  });
  plot.addEventListener('pointermove', (event) => {
    if (!start) return;
    const { left, right, top, bottom } = rectangle(event);
    box.hidden = right - left < LEAST_DRAG;
    const sides = { left, top, width: right - left, height: bottom - top };
    for (const [side, pixels] of Object.entries(sides)) box.style[side] = `${pixels}px`;
  });
  plot.addEventListener('pointerup', (event) => {
    if (!start) return;
    const marked = rectangle(event);
    stop();
    if (marked.right - marked.left >= LEAST_DRAG) zoom(marked);
  });
  plot.addEventListener('pointercancel', stop);
}
