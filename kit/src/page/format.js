// Numbers as the tables and sentences of the report write them.

/** Three significant digits; an exponent only where nothing else would be legible. */
function threeDigits(value) {
  const size = Math.abs(value);
  if (value === 0) return '0';
  if (size >= 1e7 || size < 1e-6) return value.toExponential(2);
  const exponent = Number(value.toExponential(2).split('e')[1]);
  return value.toFixed(Math.min(6, Math.max(0, 2 - exponent)));
}

const SCALES = {
  count: [[1, ''], [1e3, ' k'], [1e6, ' M'], [1e9, ' G']],
  ns: [[1, ' ns'], [1e3, ' us'], [1e6, ' ms'], [1e9, ' s']],
  ratio: [[1, '']],
};

/** A number with the letter or unit that suits its size: `58.1 M`, `1.50 us`, `0.95`. */
function format(unit, value) {
  // 999.6 is written 1.00 k: the bounds lie where rounding reaches the next unit.
  const [divisor, suffix] = SCALES[unit].findLast(([least]) => Math.abs(value) >= 0.9995 * least) ?? SCALES[unit][0];
  return threeDigits(value / divisor) + suffix;
}
