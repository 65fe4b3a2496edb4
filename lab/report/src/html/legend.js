// The buttons of a chart.

/** Beyond so many series it is tedious to switch each of them. */
const SWITCH_ALL_FROM = 5;

function toggle(attributes, pressed, ...children) {
  return element('button', { type: 'button', 'aria-pressed': String(pressed), ...attributes }, ...children);
}

/** A button for each series; a double click leaves only that one. `onChange(shown)`, `onPoint(index or null)`. */
function legend(figure, onChange, onPoint) {
  const shown = figure.series.map(() => true);
  const buttons = figure.series.map((series, index) => {
    const name = element('bdi', {}, series.name);
    const attributes = { class: 'series', 'data-series': index, title: series.name };
    const button = toggle(attributes, true, swatch(series, figure.form === 'bars'), name);
    button.addEventListener('click', () => set(index, !shown[index]));
    button.addEventListener('dblclick', () => figure.series.forEach((_, other) => set(other, other === index)));
    button.addEventListener('pointerenter', () => onPoint(shown[index] ? index : null));
    button.addEventListener('pointerleave', () => onPoint(null));
    return button;
  });
  const all = element('button', { type: 'button', class: 'all' }, 'Hide all');
  all.addEventListener('click', () => {
    const some = shown.some((is) => is);
    figure.series.forEach((_, index) => set(index, !some));
  });
  function set(index, is) {
    shown[index] = is;
    buttons[index].setAttribute('aria-pressed', String(is));
    all.textContent = shown.some((one) => one) ? 'Hide all' : 'Show all';
    onChange(shown);
  }
  const extra = figure.series.length >= SWITCH_ALL_FROM ? [all] : [];
  return element('div', { class: 'legend', role: 'group', 'aria-label': 'Series' }, ...buttons, ...extra);
}

/** The switches between linear and logarithmic, and the end of a zoom. */
function controls(figure, view, onScale, onReset) {
  const can = {
    x: figure.form === 'lines' && figure.x.scale.kind !== 'names' && allowsLog(placesOf(figure.series)),
    y: allowsLog(figure.series.flatMap(({ points }) => points.map(({ y }) => y))),
  };
  const switches = ['x', 'y'].filter((axis) => can[axis]).map((axis) => {
    const button = toggle({ class: 'scale', 'data-axis': axis }, view.log[axis], `Log ${axis}`);
    button.addEventListener('click', () => {
      view.log[axis] = !view.log[axis];
      button.setAttribute('aria-pressed', String(view.log[axis]));
      onScale();
    });
    return button;
  });
  const reset = element('button', { type: 'button', class: 'reset', hidden: '' }, 'Reset zoom');
  reset.addEventListener('click', onReset);
  return { box: element('div', { class: 'controls', role: 'group', 'aria-label': 'View' }, ...switches, reset), reset };
}
