// What is drawn between the axes: lines, bars, their spread and their names.

/** With more lines than this, bands would cover each other: the spread is drawn as whiskers. */
const BANDS = 6;
const END_LABEL_WIDTH = 170;
const LINE_OF_TEXT = 16;
const BAR_LAYOUT = { barGap: '12%', barCategoryGap: '28%', barMaxWidth: 56 };

/** Where an `x` of the figure stands on the axis. */
function placed(columns, x) {
  return columns ? columns.indexOf(x) : x;
}

function lines(figure, shown, columns, view) {
  // Numbers that have no place on a logarithmic axis are in the tooltip and the table only.
  const drawable = ({ x, y }) => (columns || !view.log.x || x > 0) && (!view.log.y || y > 0);
  return shown.flatMap((series) => {
    const points = series.points.filter(drawable);
    const { colour, flagship } = styleOf(series);
    const z = flagship ? 5 : series.quiet ? 3 : 4;
    const banded = shown.length <= BANDS && points.filter((point) => point.spread).length > 1;
    const data = spreads(points, columns);
    const draw = banded ? band(data, colour, flagship ? 0.2 : 0.13) : whisker(colour, flagship ? 1 : 0.45);
    // Grey ones would only darken each other: their spread is in the tooltip and the table.
    return [...(series.quiet ? [] : [spread(series, data, z - 2, draw)]), line(series, points, columns, z)];
  });
}

function line(series, points, columns, z) {
  const { colour, own, marker, width, size, dash, filling } = styleOf(series);
  const lineStyle = { color: colour, width, type: dash, cap: 'round' };
  const itemStyle = { color: filling ?? colour, borderColor: colour, borderWidth: filling ? 1.8 : 1 };
  return {
    id: `series-${series.index}`,
    type: 'line',
    z,
    silent: true,
    data: points.map(({ x, y }) => [placed(columns, x), y]),
    symbol: `path://${marker}`,
    symbolSize: size,
    showAllSymbol: true,
    lineStyle,
    itemStyle,
    emphasis: {
      scale: 1.5,
      lineStyle: { ...lineStyle, color: own, width: width + 1.5 },
      itemStyle: { ...itemStyle, color: filling ?? own, borderColor: own },
    },
  };
}

/** Smallest and largest round of each point that has several, as `[place, smallest, largest]`. */
function spreads(points, columns) {
  const spread = points.filter((point) => point.spread);
  return spread.map(({ x, spread: [least, most] }) => [placed(columns, x), least, most]);
}

function spread({ index }, data, z, renderItem) {
  const encode = { x: 0, y: [1, 2] };
  return { id: `spread-${index}`, type: 'custom', z, silent: true, clip: true, data, encode, renderItem };
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

function whisker(stroke, opacity, shift = () => 0) {
  return (_, api) => {
    const move = shift(api);
    const end = (dimension) => finite(api.coord([api.value(0), api.value(dimension)]));
    const [[x, bottom], [, top]] = [end(1), end(2)];
    const style = { stroke, lineWidth: 1.5, opacity };
    const from = (x1, y1, x2, y2) => ({ type: 'line', shape: { x1: x1 + move, y1, x2: x2 + move, y2 }, style });
    const caps = [top, bottom].map((y) => from(x - 4, y, x + 4, y));
    return { type: 'group', children: [from(x, top, x, bottom), ...caps] };
  };
}

/** 0 has no place on a logarithmic axis: what reaches down to it is drawn beyond the lower edge, where it is cut. */
function finite([x, y]) {
  return [x, Number.isFinite(y) ? y : 1e5];
}

function bars(shown, columns) {
  return shown.flatMap((series, place) => {
    const { colour } = styleOf(series);
    const shift = (api) => api.barLayout({ ...BAR_LAYOUT, count: shown.length })[place].offsetCenter;
    const pale = `color-mix(in srgb, ${colour} ${100 * barOpacity(series)}%, transparent)`;
    const border = { borderColor: colour, borderWidth: series.source > 0 ? 1.5 : 0, borderRadius: [3, 3, 0, 0] };
    const itemStyle = { color: series.source > 0 ? pale : colour, ...border };
    const data = series.points.map(({ x, y }) => [columns.indexOf(x), y]);
    const common = { id: `series-${series.index}`, type: 'bar', z: 3, silent: true, data, ...BAR_LAYOUT };
    const whiskers = spread(series, spreads(series.points, columns), 4, whisker(INK, 1, shift));
    return [{ ...common, itemStyle, emphasis: { itemStyle } }, whiskers];
  });
}

/** The value with a meaning of its own, across the chart. */
function mark(figure) {
  if (!figure.mark) return [];
  const [value, meaning] = figure.mark;
  const halo = { textBorderColor: 'var(--paper)', textBorderWidth: 3 };
  const text = { formatter: () => meaning, color: INK, fontSize: 12, ...halo };
  const label = { ...text, position: 'insideEndTop', distance: [4, 3] };
  const lineStyle = { color: MUTED, width: 1.2, type: [4, 4] };
  const markLine = { silent: true, symbol: 'none', animation: false, label, lineStyle, data: [{ yAxis: value }] };
  return [{ id: 'mark', type: 'line', data: [], silent: true, z: 5, markLine }];
}

/** What the names of these lines take up beside the chart. */
function endLabelRoom(shown) {
  const longest = shown.reduce((most, { name }) => Math.max(most, name.length), 0);
  return Math.min(END_LABEL_WIDTH, 8 * longest) + 18;
}

/** The names of those lines that reach the last place, beside their ends. */
function endLabels(figure, shown, columns, range) {
  const last = placesOf(shown).at(-1);
  const within = (value, [least, most]) => value >= least && value <= most;
  // Of so many that their names would not fit, those in colour are named.
  const named = shown.length > END_LABELS ? shown.filter(({ quiet }) => !quiet) : shown;
  const ends = named.map((series) => ({ series, point: series.points.at(-1) })).filter(({ point }) =>
    point?.x === last && within(placed(columns, last), range.x) && within(point.y, range.y));
  const renderItem = ({ coordSys }, api) => {
    const end = api.coord([placed(columns, last), 1])[0];
    const edge = coordSys.x + coordSys.width;
    const x = edge - end > 40 ? end + 14 : edge + 8;
    const labels = ends.map(({ series, point }) => ({ series, y: api.coord([placed(columns, last), point.y])[1] }));
    labels.sort((a, b) => a.y - b.y);
    const heights = apart(labels.map(({ y }) => y), coordSys.y + coordSys.height + 4);
    const children = labels.map(({ series }, index) => endLabel(series, x, heights[index]));
    // The library would keep the names of an earlier drawing.
    return { type: 'group', $mergeChildren: false, children };
  };
  return { id: 'names', type: 'custom', z: 5, silent: true, clip: false, data: [[0, 0]], renderItem };
}

function endLabel(series, x, y) {
  const { colour, flagship } = styleOf(series);
  const font = `${flagship ? 'bold ' : ''}13px ${FONT}`;
  const cut = { width: END_LABEL_WIDTH, overflow: 'truncate' };
  // Letters are thinner than lines: the colour alone has too little contrast for them.
  const fill = series.quiet ? MUTED : `color-mix(in srgb, ${colour} 70%, ${INK})`;
  return { type: 'text', style: { text: series.name, x, y, fill, font, verticalAlign: 'middle', ...cut } };
}

/** Ascending heights, moved so far that lines of text do not touch; the last stays above `bottom`. */
function apart(heights, bottom) {
  const moved = [];
  for (const height of heights) moved.push(Math.max(height, (moved.at(-1) ?? -Infinity) + LINE_OF_TEXT));
  let limit = bottom;
  for (let index = moved.length - 1; index >= 0; index--) {
    moved[index] = Math.min(moved[index], limit);
    limit = moved[index] - LINE_OF_TEXT;
  }
  return moved;
}
