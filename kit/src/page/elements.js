// What pages are made of where a script makes it.

function svgElement(name, attributes) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

/** An HTML element. Text is never taken for markup. */
function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** A button that copies the command, or marks it where the browser forbids that. */
function copyButton(box) {
  const code = box.querySelector('code');
  const button = element('button', { type: 'button', class: 'copy' }, 'Copy');
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = 'Copied';
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = 'Marked';
    }
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  });
  box.append(button);
}

/** Opens what the address names, and everything around it, now and whenever a link is followed. */
function openWhatIsNamed() {
  const open = () => {
    const target = document.querySelector(':target');
    for (let at = target; at; at = at.parentElement) if (at.localName === 'details') at.open = true;
    target?.scrollIntoView();
  };
  addEventListener('hashchange', open);
  if (location.hash.length > 1) open();
}

/** On paper nobody can open how the page was made. */
function openForPaper() {
  const made = [...document.querySelectorAll('.made')];
  let closed = [];
  addEventListener('beforeprint', () => {
    closed = made.filter((one) => !one.open);
    closed.forEach((one) => { one.open = true; });
  });
  addEventListener('afterprint', () => closed.forEach((one) => { one.open = false; }));
}
