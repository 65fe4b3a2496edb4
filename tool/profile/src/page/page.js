// Sorts the table, brings the graphs to life.

/** Makes the heads of a table sort its rows. Of these, so many are shown at first as the page says. */
function sortable(box) {
  const heads = [...box.querySelectorAll('thead th')];
  const body = box.querySelector('tbody');
  const first = Number(box.dataset.first);
  let isWhole = body.rows.length <= first;
  const value = (row, column) => {
    const cell = row.cells[column];
    return 'v' in cell.dataset ? Number(cell.dataset.v) : cell.textContent;
  };
  const cut = () => [...body.rows].forEach((row, index) => { row.hidden = !isWhole && index >= first; });
  const sort = (column, direction) => {
    const sign = direction === 'ascending' ? 1 : -1;
    const compare = (one, other) => (typeof one === 'number' ? one - other : one.localeCompare(other, 'en', { numeric: true }));
    const rows = [...body.rows].map((row) => [value(row, column), row]);
    rows.sort(([one], [other]) => sign * compare(one, other));
    body.append(...rows.map(([, row]) => row));
    heads.forEach((head, index) => (index === column ? head.setAttribute('aria-sort', direction) : head.removeAttribute('aria-sort')));
    cut();
  };
  heads.forEach((head, column) => {
    const button = element('button', { type: 'button' }, head.textContent);
    const usual = 'number' in head.dataset ? 'descending' : 'ascending';
    const other = usual === 'descending' ? 'ascending' : 'descending';
    button.addEventListener('click', () => sort(column, head.getAttribute('aria-sort') === usual ? other : usual));
    head.replaceChildren(button);
  });
  if (isWhole) return;
  const more = element('button', { type: 'button', class: 'more' }, `Show all ${body.rows.length}`);
  more.addEventListener('click', () => { isWhole = true; cut(); more.remove(); });
  box.after(more);
  addEventListener('beforeprint', cut);
  cut();
}

const report = JSON.parse(document.getElementById('report').textContent);

/** The graphs of a lock, drawn when they are opened for the first time. */
function flamesOf(box) {
  box.hidden = false;
  const titles = ['Who waited', box.dataset.others];
  box.addEventListener('toggle', () => {
    if (!box.open || box.querySelector('svg')) return;
    const bar = element('div', {});
    const inner = element('div', { class: 'flames' }, bar);
    box.append(inner);
    const graphs = report.graphs[box.dataset.lock].flatMap((blocks, side) => {
      if (blocks.length === 0) return [];
      const graph = svgElement('svg', { class: 'graph', width: '100%', role: 'group', 'aria-label': titles[side] });
      inner.append(element('h4', {}, titles[side]));
      inner.append(graph);
      const legend = box.closest('.lock').querySelector('.states-said');
      if (legend && blocks[0][4].length > 0) inner.append(legend.cloneNode(true));
      drawFlame(graph, report, blocks);
      return [graph];
    });
    if (graphs.length > 0) startFlames(graphs, bar);
  });
}

document.querySelectorAll('.sortable').forEach(sortable);
document.querySelectorAll('.command').forEach(copyButton);
document.querySelectorAll('.flames-of').forEach(flamesOf);
document.querySelectorAll('div.flames').forEach((box) => startFlames([...box.querySelectorAll('svg.graph')], box.querySelector('.bar-of-flames')));
openWhatIsNamed();
openForPaper();
document.body.dataset.ready = 'true';
