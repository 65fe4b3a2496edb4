// The graphs of a file that is opened by itself: as wide as the window, with their field for a search.
const picture = document.documentElement;
if (picture.localName === 'svg') {
  picture.setAttribute('width', '100%');
  const place = { x: 20, y: picture.dataset.bar, width: '96%', height: 76 };
  const bar = svgElement('foreignObject', place);
  picture.append(bar);
  startFlames([...picture.querySelectorAll('svg.graph')], bar);
}
