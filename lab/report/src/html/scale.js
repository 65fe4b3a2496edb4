// Where the axes begin and end, and which numbers stand beside them.

/** Everything that has to find room along `y`: points, their spread, and the mark. */
function heights(figure, series) {
  const ys = series.flatMap(({ points }) => points.flatMap(({ y, spread }) => [y, ...(spread ?? [])]));
  return figure.mark ? [...ys, figure.mark[0]] : ys;
}

/** All `x` of these series, ascending. */
function placesOf(series) {
  const xs = new Set(series.flatMap(({ points }) => points.map(({ x }) => x)));
  return [...xs].sort((a, b) => a - b);
}

/** Whether numbers can stand on a logarithmic axis at all. A spread that reaches down to 0 is drawn to the edge. */
function allowsLog(values) {
  return values.length > 0 && values.every((value) => value > 0);
}

/** The largest 1, 2 or 5 times a power of ten that is not above `value`, or the smallest that is not below. */
function round125(value, up) {
  const power = 10 ** Math.floor(Math.log10(value));
  const steps = [1, 2, 5, 10].map((step) => step * power);
  // A hair of tolerance: 0.1 + 0.2 must not be taken for more than 0.3.
  return up ? steps.find((step) => step >= value * (1 - 1e-9)) ?? 10 * power
    : steps.findLast((step) => step <= value * (1 + 1e-9)) ?? power;
}

/** Ticks at 1, 2 and 5 where there are few decades, else at powers of ten, else at every so many of them. */
function logTicks([least, most], room) {
  const [from, to] = [Math.floor(Math.log10(least)), Math.ceil(Math.log10(most))];
  const decades = to - from;
  const every = Math.max(1, Math.ceil(decades / room));
  const steps = decades * 3 <= room * 1.5 ? [1, 2, 5] : [1];
  const ticks = [];
  for (let exponent = from; exponent <= to; exponent += every) {
    ticks.push(...steps.map((step) => Number(`${step}e${exponent}`)));
  }
  const inside = ticks.filter((tick) => tick >= least * (1 - 1e-9) && tick <= most * (1 + 1e-9));
  return inside.length >= 2 ? inside : [least, most];
}

/** Ticks at even distances of 1, 2 or 5 times a power of ten. */
function linearTicks([least, most], room) {
  const step = round125((most - least) / room, true);
  const first = Math.ceil(least / step - 1e-9);
  const last = Math.floor(most / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}

/** The range of `y` when nothing is zoomed: from 0 on, or between round numbers where the axis is logarithmic. */
function yRange(values, log) {
  const positive = values.filter((value) => value > 0);
  if (log && positive.length > 0) {
    const [least, most] = [round125(least0(positive), false), round125(most0(positive), true)];
    return least < most ? [least, most] : [least / 2, most * 2];
  }
  const [least, most] = [Math.min(0, least0(values)), Math.max(0, most0(values))];
  if (!(least < most)) return [0, 1];
  const step = round125((most - least) / 5, true);
  return [Math.floor(least / step + 1e-9) * step, Math.ceil(most / step - 1e-9) * step];
}

/** The range of `x` when nothing is zoomed, with a little air so that no marker is cut by the edge. */
function xRange(xs, log) {
  if (xs.length === 0) return log ? [1, 2] : [0, 1];
  const [least, most] = [xs[0], xs.at(-1)];
  if (log) {
    const air = least < most ? (most / least) ** 0.04 : 2;
    return [least / air, most * air];
  }
  if (!(least < most)) return [Math.min(0, 2 * least), Math.max(1, 2 * least)];
  const air = 0.03 * (most - Math.min(0, least));
  return [least < 0 ? least - air : 0, most + air];
}

/** The ticks without those that would run into their neighbours. `at` gives pixels. */
function roomyTicks(xs, at, width) {
  const kept = [];
  for (const x of xs) {
    if (kept.length === 0 || at(x) - at(kept.at(-1)) >= width(x)) kept.push(x);
  }
  return kept;
}

// `Math.min(...values)` overflows the stack with very many values.
function least0(values) {
  return values.reduce((least, value) => Math.min(least, value), Infinity);
}

function most0(values) {
  return values.reduce((most, value) => Math.max(most, value), -Infinity);
}
