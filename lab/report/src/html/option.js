// What the charting library is told to draw. Colours are CSS variables, so that light, dark and print are one matter of
// the style sheet and no chart has to be drawn again for them.

const INK = 'var(--ink)';
const MUTED = 'var(--muted)';
const RULE = 'var(--rule)';
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
/** From this width on, lines are named at their end: so many of them, or those that are not grey. */
const END_LABELS_FROM = 640;
const END_LABELS = 18;

/** Numbers of the figure as places on the axis: bars and names stand at 0, 1, 2 and so on. */
function columnsOf(figure) {
  if (figure.x.scale.kind === 'names') return figure.x.scale.names.map((_, index) => index);
  return figure.form === 'bars' ? placesOf(figure.series) : null;
}

/** The whole chart: `view` says what is shown and how. */
function chartOption(figure, view, width) {
  const shown = figure.series.map((series, index) => ({ ...series, index })).filter(({ index }) => view.shown[index]);
  const columns = columnsOf(figure);
  const range = { ...fullRange(figure, view, shown), ...view.zoom };
  const labelled = figure.form === 'lines' && shown.length > 1 && width >= END_LABELS_FROM;
  const right = labelled ? endLabelRoom(shown) : 16;
  const grid = { left: 8, right, top: 10, bottom: 4, outerBoundsMode: 'same', outerBoundsContain: 'all' };
  const drawn = figure.form === 'bars' ? bars(shown, columns) : lines(figure, shown, columns, view);
  return {
    animation: false,
    darkMode: false,
    backgroundColor: 'transparent',
    textStyle: { fontFamily: FONT, fontSize: 13 },
    grid,
    xAxis: xAxis(figure, view, columns, range.x, width - right - 80),
    yAxis: yAxis(figure, view, range.y),
    series: [...drawn, ...(labelled ? [endLabels(figure, shown, columns, range)] : []), ...mark(figure)],
  };
}

/** Where the axes begin and end without zoom. Upwards there is room for what is shown; to the right also for what is
 *  hidden, so that places stay where they are. */
function fullRange(figure, view, shown) {
  const columns = columnsOf(figure);
  const some = shown.length > 0 ? shown : figure.series;
  const y = yRange(heights(figure, some), view.log.y);
  if (columns) return { x: [0, Math.max(0, columns.length - 1)], y };
  return { x: xRange(placesOf(figure.series).filter((x) => !view.log.x || x > 0), view.log.x), y };
}

function xAxis(figure, view, columns, [min, max], room) {
  const common = {
    name: figure.x.label,
    nameLocation: 'middle',
    nameGap: 30,
    nameMoveOverlap: true,
    nameTextStyle: { color: MUTED, fontSize: 13 },
    axisLine: { lineStyle: { color: MUTED }, onZero: false },
    splitLine: { show: false },
  };
  const label = { color: INK, fontSize: 13, hideOverlap: true };
  if (columns) {
    const data = columns.map((x) => formatPlace(figure.x, x));
    const axisLabel = { ...label, ...columnLabel(data.slice(min, max + 1), room) };
    return { ...common, type: 'category', data, min, max, axisTick: { show: false }, axisLabel };
  }
  const given = figure.x.ticks.length > 0 ? figure.x.ticks : (view.log.x ? logTicks : linearTicks)([min, max], 8);
  const all = given.filter((x) => x >= min && x <= max);
  const scaled = (x) => (view.log.x ? Math.log(x / min) / Math.log(max / min) : (x - min) / (max - min)) * room;
  const values = roomyTicks(all, scaled, (x) => 14 + 8 * formatPlace(figure.x, x).length);
  return {
    ...common,
    type: view.log.x ? 'log' : 'value',
    min,
    max,
    axisTick: { customValues: values, lineStyle: { color: MUTED } },
    axisLabel: { ...label, customValues: values, formatter: (x) => formatPlace(figure.x, nearest(values, x)) },
  };
}

/** How the names of columns are written: side by side, in several lines, or where both would touch, slanting. */
function columnLabel(names, room) {
  const each = room / names.length;
  const longest = names.reduce((most, name) => Math.max(most, name.length), 0);
  if (8 * longest <= each || each >= 84) return { interval: 0, width: each - 8, overflow: 'break', lineHeight: 16 };
  if (longest <= 5) return { interval: 'auto' };
  return { interval: each < 16 ? 'auto' : 0, rotate: 38, width: 130, overflow: 'truncate', margin: 10 };
}

/** The tick that the library means: on a logarithmic axis it hands out 8.000000000000002. */
function nearest(values, x) {
  return values.reduce((best, value) => (Math.abs(value - x) < Math.abs(best - x) ? value : best), values[0] ?? x);
}

function yAxis(figure, view, [min, max]) {
  const values = view.log.y ? logTicks([min, max], 7) : linearTicks([min, max], 6);
  const formatter = (y) => formatTick(figure.y.unit, nearest(values, y));
  return {
    type: view.log.y ? 'log' : 'value',
    name: figure.y.label,
    nameLocation: 'end',
    nameGap: 16,
    nameTextStyle: { color: MUTED, fontSize: 13, align: 'left', padding: [0, 0, 0, -4] },
    min,
    max,
    // Where bars begin; the library's own choice on a logarithmic axis is 1.
    startValue: view.log.y ? min : 0,
    axisLine: { show: false },
    axisTick: { show: false, customValues: values },
    splitLine: { lineStyle: { color: RULE }, customValues: values },
    axisLabel: { color: INK, fontSize: 13, customValues: values, formatter },
  };
}
