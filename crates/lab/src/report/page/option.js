// What the charting library is told to draw. Colours are CSS variables, so that light, dark and print are one matter of
// the style sheet and no chart has to be drawn again for them.

const INK = 'var(--ink)';
const MUTED = 'var(--muted)';
const RULE = 'var(--rule)';
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
/** From this width on, lines are named at their end, where few enough of them are shown. */
const END_LABELS_FROM = 640;
const END_LABELS = 8;
const END_LABEL_WIDTH = 170;
const LINE_OF_TEXT = 16;
/** With more lines than this, bands would cover each other: the spread is drawn as whiskers. */
const BANDS = 6;

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
  const labelled = figure.form === 'lines' && width >= END_LABELS_FROM && shown.length <= END_LABELS && shown.length > 1;
  const right = labelled ? endLabelRoom(shown) : 16;
  const grid = { left: 8, right, top: 40, bottom: 34, containLabel: true };
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

/** Where the axes begin and end without zoom. Hidden series count: what is shown must not jump when one is hidden. */
function fullRange(figure, view, shown) {
  const columns = columnsOf(figure);
  const some = shown.length > 0 ? shown : figure.series;
  return {
    x: columns ? [0, Math.max(0, columns.length - 1)] : xRange(placesOf(figure.series).filter((x) => !view.log.x || x > 0), view.log.x),
    y: yRange(heights(figure, some), view.log.y),
  };
}

function endLabelRoom(shown) {
  const longest = shown.reduce((most, { name }) => Math.max(most, name.length), 0);
  return Math.min(END_LABEL_WIDTH, 8 * longest) + 16;
}

function xAxis(figure, view, columns, [min, max], room) {
  const common = {
    name: figure.x.label,
    nameLocation: 'middle',
    nameGap: 30,
    nameTextStyle: { color: MUTED, fontSize: 13 },
    axisLine: { lineStyle: { color: MUTED }, onZero: false },
    splitLine: { show: false },
  };
  const label = { color: INK, fontSize: 13, hideOverlap: true };
  if (columns) {
    const data = columns.map((x) => formatPlace(figure.x, x));
    const axisLabel = { ...label, interval: 0, width: Math.max(40, room / (max - min + 1) - 8), overflow: 'break', lineHeight: 16 };
    return { ...common, type: 'category', data, min, max, axisTick: { show: false }, axisLabel, nameGap: 34 };
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

/** The tick that the library means: on a logarithmic axis it hands out 8.000000000000002. */
function nearest(values, x) {
  return values.reduce((best, value) => (Math.abs(value - x) < Math.abs(best - x) ? value : best), values[0] ?? x);
}

function yAxis(figure, view, [min, max]) {
  const values = view.log.y ? logTicks([min, max], 7) : linearTicks([min, max], 6);
  return {
    type: view.log.y ? 'log' : 'value',
    name: figure.y.label,
    nameLocation: 'end',
    nameGap: 16,
    nameTextStyle: { color: MUTED, fontSize: 13, align: 'left', padding: [0, 0, 0, -4] },
    min,
    max,
    axisLine: { show: false },
    axisTick: { show: false, customValues: values },
    splitLine: { lineStyle: { color: RULE }, customValues: values },
    axisLabel: { color: INK, fontSize: 13, customValues: values, formatter: (y) => formatTick(figure.y.unit, nearest(values, y)) },
  };
}

function placed(columns, x) {
  return columns ? columns.indexOf(x) : x;
}

function lines(figure, shown, columns, view) {
  const drawable = ({ x, y }) => (columns || !view.log.x || x > 0) && (!view.log.y || y > 0);
  const banded = shown.length <= BANDS;
  return shown.flatMap((series) => {
    const points = series.points.filter(drawable);
    const z = styleOf(series).flagship ? 4 : 3;
    return [spread(series, points, columns, z - 2, banded ? 'band' : 'whiskers'), line(series, points, columns, z)];
  });
}

function line(series, points, columns, z) {
  const { colour, marker, width, size, dash, filling } = styleOf(series);
  return {
    id: `series-${series.index}`,
    type: 'line',
    z,
    silent: true,
    data: points.map(({ x, y }) => [placed(columns, x), y]),
    symbol: `path://${marker}`,
    symbolSize: size,
    showAllSymbol: true,
    lineStyle: { color: colour, width, type: dash, cap: 'round' },
    itemStyle: { color: filling ?? colour, borderColor: colour, borderWidth: filling ? 1.8 : 1 },
    emphasis: { scale: 1.5, lineStyle: { color: colour, width }, itemStyle: { color: filling ?? colour, borderColor: colour } },
  };
}

/** The names of those lines that reach the last place, beside their ends. */
function endLabels(figure, shown, columns, range) {
  const last = placesOf(shown).at(-1);
  const ends = shown.map((series) => ({ series, point: series.points.at(-1) })).filter(({ point }) => {
    const within = (value, [least, most]) => value >= least && value <= most;
    return point?.x === last && within(placed(columns, last), range.x) && within(point.y, range.y);
  });
  const renderItem = ({ coordSys }, api) => {
    const labels = ends.map(({ series, point }) => ({ series, at: api.coord([placed(columns, last), point.y]) }));
    labels.sort((a, b) => a.at[1] - b.at[1]);
    const heights = apart(labels.map(({ at }) => at[1]), coordSys.y + coordSys.height + 4);
    return { type: 'group', children: labels.map(({ series, at }, index) => endLabel(series, at[0] + 12, heights[index])) };
  };
  return { id: 'names', type: 'custom', z: 5, silent: true, clip: false, data: [[0, 0]], renderItem };
}

function endLabel(series, x, y) {
  const { colour, flagship } = styleOf(series);
  const font = `${flagship ? 'bold ' : ''}13px ${FONT}`;
  const style = { text: series.name, x, y, fill: colour, font, verticalAlign: 'middle', width: END_LABEL_WIDTH, overflow: 'truncate' };
  return { type: 'text', style };
}

/** Ascending heights, moved so far that lines of text do not touch; the last stays above `bottom`. */
function apart(heights, bottom) {
  const moved = [];
  for (const height of heights) moved.push(Math.max(height, (moved.at(-1) ?? -Infinity) + LINE_OF_TEXT));
  for (let index = moved.length - 1, limit = bottom; index >= 0 && moved[index] > limit; index--, limit -= LINE_OF_TEXT) moved[index] = limit;
  return moved;
}

/** Smallest and largest round: a band around a line, or whiskers. */
function spread(series, points, columns, z, form) {
  const data = points.filter((point) => point.spread).map(({ x, spread: [least, most] }) => [placed(columns, x), least, most]);
  const { colour, flagship } = styleOf(series);
  const draw = form === 'band' && data.length > 1 ? band(data, colour, flagship ? 0.2 : 0.13) : whisker(colour, () => 0, flagship ? 1 : 0.45);
  return { id: `spread-${series.index}`, type: 'custom', z, silent: true, clip: true, data, encode: { x: 0, y: [1, 2] }, renderItem: draw };
}

/** One outline through all points, drawn with the first of them. */
function band(data, colour, opacity) {
  return ({ dataIndex }, api) => {
    if (dataIndex > 0) return null;
    const above = data.map(([x, , most]) => api.coord([x, most]));
    const below = data.map(([x, least]) => api.coord([x, least])).reverse();
    return { type: 'polygon', shape: { points: [...above, ...below].map(finite) }, style: { fill: colour, opacity } };
  };
}

function whisker(colour, shift = () => 0, opacity = 1) {
  return (_, api) => {
    const move = shift(api);
    const [x, top] = finite(api.coord([api.value(0), api.value(2)]));
    const [, bottom] = finite(api.coord([api.value(0), api.value(1)]));
    const stroke = (x1, y1, x2, y2) => ({
      type: 'line', shape: { x1: x1 + move, y1, x2: x2 + move, y2 }, style: { stroke: colour, lineWidth: 1.5, opacity },
    });
    return { type: 'group', children: [stroke(x, top, x, bottom), stroke(x - 4, top, x + 4, top), stroke(x - 4, bottom, x + 4, bottom)] };
  };
}

/** 0 has no place on a logarithmic axis: what reaches down to it is drawn beyond the lower edge, where it is cut. */
function finite([x, y]) {
  return [x, Number.isFinite(y) ? y : 1e5];
}

const BAR_LAYOUT = { barGap: '12%', barCategoryGap: '28%', barMaxWidth: 56 };

function bars(shown, columns) {
  return shown.flatMap((series, place) => {
    const { colour } = styleOf(series);
    const shift = (api) => api.barLayout({ ...BAR_LAYOUT, count: shown.length })[place].offsetCenter;
    const whiskers = { ...spread(series, series.points, columns, 4, 'whiskers'), renderItem: whisker(INK, shift) };
    const rounded = { borderRadius: [3, 3, 0, 0] };
    const filling = { color: colour, borderColor: colour, borderWidth: series.source > 0 ? 1.5 : 0, opacity: 1, ...rounded };
    const data = series.points.map(({ x, y }) => ({ value: [columns.indexOf(x), y] }));
    const itemStyle = series.source > 0 ? { ...filling, color: `color-mix(in srgb, ${colour} ${100 * barOpacity(series)}%, transparent)` } : filling;
    return [{ id: `series-${series.index}`, type: 'bar', z: 3, silent: true, data, itemStyle, emphasis: { itemStyle }, ...BAR_LAYOUT }, whiskers];
  });
}

/** The value with a meaning of its own, across the chart. */
function mark(figure) {
  if (!figure.mark) return [];
  const [value, meaning] = figure.mark;
  const label = { formatter: () => meaning, position: 'insideEndTop', color: INK, fontSize: 12, distance: [4, 3], textBorderColor: 'var(--paper)', textBorderWidth: 3 };
  const markLine = {
    silent: true, symbol: 'none', animation: false, label, data: [{ yAxis: value }], lineStyle: { color: MUTED, width: 1.2, type: [4, 4] },
  };
  return [{ id: 'mark', type: 'line', data: [], silent: true, z: 5, markLine }];
}
