// What the tests ask a page. Pasted in front of each expression; the page itself does not see it.

const frame = () => new Promise((next) => requestAnimationFrame(next));

/** Waits for so many frames to be drawn. */
async function frames(n) {
  for (let i = 0; i < n; i += 1) await frame();
  return true;
}

/** Waits until `condition()` holds, at most ten seconds. */
async function until(condition) {
  const end = performance.now() + 10_000;
  while (!condition()) {
    if (performance.now() > end) return false;
    await frame();
  }
  return true;
}

const isSeen = (one) => one.checkVisibility({ opacityProperty: true, visibilityProperty: true });

function rectangle(one) {
  one.scrollIntoView({ block: 'center', behavior: 'instant' });
  const { left, top, width, height } = one.getBoundingClientRect();
  return [left, top, width, height];
}

/** The same from the top of the page, which does not move. */
function rectangleInPage(one) {
  const { left, top, width, height } = one.getBoundingClientRect();
  return [left + scrollX, top + scrollY, width, height];
}

const figures = () => [...document.querySelectorAll('section.figure')];
const seriesButtons = (figure) => [...figure.querySelectorAll('button.series')];

/** The colour that the legend gives to a series. */
const colourOf = (button) => getComputedStyle(button.querySelector('svg')).stroke;

/** How many shapes of a chart bear a colour, shapes without extent left out. */
function shapesOf(figure, colour) {
  const shapes = [...figure.querySelectorAll('.chart svg :is(path, rect, circle, polygon, polyline, line, use)')];
  return shapes.filter((shape) => {
    const { stroke, fill } = getComputedStyle(shape);
    const { width, height } = shape.getBoundingClientRect();
    return (stroke === colour || fill === colour) && width + height > 0;
  }).length;
}

/** Texts in a chart, with their rectangles. */
function textsOf(figure) {
  return [...figure.querySelectorAll('.chart svg text')].filter((one) => one.textContent.trim() !== '').map((one) => {
    const { left, right, top, bottom } = one.getBoundingClientRect();
    return { text: one.textContent, left, right, top, bottom };
  });
}

/** What the tooltip of a figure says; null if it is not to be seen. */
function tooltipOf(figure) {
  const tooltip = figure.querySelector('.tooltip');
  if (!tooltip || !isSeen(tooltip)) return null;
  const cell = (row, selector) => row.querySelector(selector)?.textContent ?? '';
  const rows = [...tooltip.querySelectorAll('tr')].map((row) => [cell(row, 'th'), cell(row, '.value'), cell(row, '.spread')]);
  return { place: cell(tooltip, '.place'), rows };
}

/** Red, green, blue and opacity of any colour that CSS can write, from 0 to 1. */
function channels(colour) {
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data].map((channel) => channel / 255);
}

const over = (front, back) => [0, 1, 2].map((i) => front[i] * front[3] + back[i] * (1 - front[3]));

function brightness(colour) {
  const linear = (channel) => (channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(colour[0]) + 0.7152 * linear(colour[1]) + 0.0722 * linear(colour[2]);
}

/** The opaque colour behind an element: backgrounds of what it is in, the furthest first, upon `paper`. */
function backgroundOf(one, paper) {
  const layers = [];
  for (let at = one; at; at = at.parentElement) layers.unshift(getComputedStyle(at).backgroundColor);
  return layers.reduce((below, layer) => over(channels(layer), below), paper);
}

const opacityOf = (one) => (one ? Number(getComputedStyle(one).opacity) * opacityOf(one.parentElement) : 1);

/** Contrast of all text to be seen with what is behind it, weakest first: `[ratio, text]`. `paper` is below everything. */
function contrasts(paper, hasBackgrounds) {
  const holdsText = (one) => [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== '');
  const texts = [...document.body.querySelectorAll('*')].filter((one) => holdsText(one) && isSeen(one) && one.getClientRects().length > 0);
  const measured = texts.filter((one) => !one.closest('script, style, noscript')).map((one) => {
    const style = getComputedStyle(one);
    const ink = channels(one instanceof SVGElement ? style.fill : style.color);
    ink[3] *= opacityOf(one);
    const back = hasBackgrounds ? backgroundOf(one, paper) : paper;
    const [dark, bright] = [brightness(over(ink, back)), brightness(back)].sort((a, b) => a - b);
    return [(bright + 0.05) / (dark + 0.05), one.textContent.trim().slice(0, 60)];
  });
  return measured.sort((a, b) => a[0] - b[0]);
}

const everything = () => [...document.querySelectorAll('*')];

/** Places in the document of all elements at which Tab should stop. */
function stops() {
  const can = 'a[href], button, input, select, textarea, summary, [tabindex="0"]';
  return everything().flatMap((one, place) => (one.matches(can) && isSeen(one) ? [place] : []));
}

/** The element with the focus, and whether its look says so. */
function focusNow() {
  const one = document.activeElement;
  if (!one || one === document.body) return null;
  const { outlineStyle, outlineWidth } = getComputedStyle(one);
  const is_marked = outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1;
  return { place: everything().indexOf(one), is_marked, what: one.outerHTML.slice(0, 200) };
}

/** Elements that stick out of the window to the right and cannot be scrolled within it. */
function sticksOut() {
  const isHeld = (one) => one && (['auto', 'scroll', 'hidden', 'clip'].includes(getComputedStyle(one).overflowX) || isHeld(one.parentElement));
  const out = everything().filter((one) => isSeen(one) && one.getBoundingClientRect().right > innerWidth + 1 && !isHeld(one.parentElement));
  return out.map((one) => one.outerHTML.slice(0, 120));
}

/** Contrast of each series' colour, as the legend shows it, with the page: `[ratio, name]`. */
function seriesContrasts() {
  return [...document.querySelectorAll('button.series')].map((button) => {
    const back = brightness(backgroundOf(button, [1, 1, 1]));
    const ink = brightness(channels(colourOf(button)));
    return [(Math.max(ink, back) + 0.05) / (Math.min(ink, back) + 0.05), button.textContent];
  });
}

/** Texts of the page with an unpaired sign that turns the direction, beside other text and not set apart from it. */
function looseDirections() {
  const isApart = (one) => one && (one.localName === 'bdi' || ['isolate', 'isolate-override', 'plaintext'].includes(getComputedStyle(one).unicodeBidi));
  const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  const loose = [];
  while (walker.nextNode()) {
    const { data, parentElement } = walker.currentNode;
    const isBlock = !getComputedStyle(parentElement).display.startsWith('inline');
    const turns = data.search(/[\u202a\u202b\u202d\u202e\u2066-\u2068]/);
    const isAlone = isBlock && turns === 0;
    if (turns >= 0 && !isAlone && !isApart(parentElement)) loose.push(parentElement.outerHTML.slice(0, 160));
  }
  return loose;
}
