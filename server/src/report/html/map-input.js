// @ts-check
/// <reference path="./map-view.js" />
/// <reference path="./map-panel.js" />
// The memory map under a pointer and under the keyboard.

/**
 * @param {HTMLElement} stage holds the canvas and what is shown over it
 * @param {HTMLCanvasElement} canvas
 * @param {MapView} view
 * @param {ReturnType<typeof buflensMapPanel>} panel
 * @param {{pan: (x: number, y: number) => void, zoom: (time: number, space: number, x?: number, y?: number) => void,
 *   fit: (from: number, to: number, upper: number, lower: number, margin: number) => void,
 *   select: (value: number | null, isSeen: boolean) => void, open: (value: number) => void, zoomTo: (value: number) => void,
 *   canOpen: boolean, reset: () => void, goToPeak: () => void, toggleSmall: () => void, expand: (kinds: string[]) => void,
 *   next: (by: number) => void, nextFound: (by: number) => void, leaveOut: (value: number, isOut: boolean) => void,
 *   isLeftOut: (value: number) => boolean}} actions
 */
function buflensMapInput(stage, canvas, view, panel, actions) {
  const element = buflensMapElement;
  const { seen } = view;
  const { allocations } = panel;
  const crosshair = element('div', 'map-crosshair');
  const outline = element('div', 'map-outline');
  const card = element('div', 'map-card');
  stage.append(crosshair, outline, card);
  hideCard();

  // The pointer.
  /** @type {Map<number, {x: number, y: number}>} */
  const pointers = new Map();
  let moved = 0;
  const here = (/** @type {MouseEvent} */ event) => {
    const { left, top } = canvas.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  canvas.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    pointers.set(event.pointerId, here(event));
    canvas.setPointerCapture(event.pointerId);
    if (pointers.size === 1) moved = 0;
    hideCard();
  });
  canvas.addEventListener('pointermove', (event) => {
    const to = here(event);
    const from = pointers.get(event.pointerId);
    if (from === undefined) {
      hover(to.x, to.y);
      return;
    }
    const others = [...pointers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
    pointers.set(event.pointerId, to);
    const [other] = others;
    if (other !== undefined) {
      const factor = Math.hypot(to.x - other.x, to.y - other.y) / Math.max(1, Math.hypot(from.x - other.x, from.y - other.y));
      actions.zoom(factor, factor, (to.x + other.x) / 2, (to.y + other.y) / 2);
      moved = Infinity;
      return;
    }
    moved += Math.abs(to.x - from.x) + Math.abs(to.y - from.y);
    if (moved > 4) actions.pan(to.x - from.x, to.y - from.y);
  });
  canvas.addEventListener('pointerup', (event) => {
    if (pointers.delete(event.pointerId) && moved <= 4) click(here(event));
  });
  canvas.addEventListener('pointercancel', (event) => pointers.delete(event.pointerId));
  canvas.addEventListener('pointerleave', hideCard);
  canvas.addEventListener('dblclick', (event) => {
    const { x, y } = here(event);
    const { row, place, values } = view.at(x, y);
    const { selected } = view.scene();
    // The first of the two clicks selected what is meant.
    if (values.length > 0 && selected !== null && values.includes(selected)) (actions.canOpen ? actions.open : actions.zoomTo)(selected);
    else if (row !== undefined && !row.isGathered) actions.fit(0, view.steps, row.y, row.y + row.height, 0.02);
    else if (place >= 0) {
      const { bottom, scale } = view.scene().layout;
      actions.fit(0, view.steps, bottom[place] - allocations[place].bytes * scale[place], bottom[place], 0.02);
    }
  });
  canvas.addEventListener(
    'wheel',
    (event) => {
      const { x, y } = here(event);
      const amount = event.deltaY * (event.deltaMode === 1 ? 16 : 1);
      const isBoth = event.ctrlKey || event.metaKey;
      const isAll = seen.x1 - seen.x0 >= view.steps && (!isBoth || seen.zoom <= 1);
      // With nothing to zoom out of, the page scrolls.
      if (amount > 0 && isAll && !isBoth) return;
      event.preventDefault();
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) actions.pan(-(event.deltaX || amount), 0);
      else actions.zoom(Math.exp(-amount / 300), isBoth ? Math.exp(-amount / 300) : 1, x, y);
      hover(x, y);
    },
    { passive: false },
  );

  let [clickedX, clickedY] = [-1, -1];
  /** @param {{x: number, y: number}} place */
  function click({ x, y }) {
    const { values, row, isGutter } = view.at(x, y);
    const { selected } = view.scene();
    const isThere = Math.hypot(x - clickedX, y - clickedY) < 4;
    [clickedX, clickedY] = [x, y];
    if (values.length > 0) {
      const at = isThere && selected !== null ? values.indexOf(selected) : -1;
      // The second click of two quick ones is for what the first has selected.
      if (at < 0 || performance.now() - clickedAt > 500) actions.select(values[(at + 1) % values.length] ?? null, false);
    } else if (row?.isGathered && isGutter) actions.expand([row.kind]);
    else if (row !== undefined && isGutter) actions.fit(0, view.steps, row.y, row.y + row.height, 0.02);
    else actions.select(null, false);
    clickedAt = performance.now();
  }
  let clickedAt = 0;

  /** @param {number} x @param {number} y */
  function hover(x, y) {
    const place = view.at(x, y);
    const area = view.area();
    crosshair.hidden = place.isGutter || place.step < 0 || place.step >= view.steps;
    crosshair.style.transform = `translateX(${Math.round(x)}px)`;
    crosshair.style.height = `${area.top + area.height - area.curve}px`;
    crosshair.style.top = `${area.curve}px`;
    const [value] = place.values;
    outline.hidden = value === undefined;
    if (value !== undefined) {
      const at = view.boxOf(value);
      Object.assign(outline.style, { left: `${at.left}px`, top: `${at.top}px`, width: `${at.width}px`, height: `${at.height}px` });
    }
    canvas.classList.toggle('map-pointing', value !== undefined || (place.isGutter && place.row !== undefined));
    const said = panel.tooltip(place, view);
    card.hidden = said === null;
    if (said === null) return;
    card.replaceChildren(element('h4', '', said[0]), panel.list(said[1]));
    const { clientWidth, clientHeight } = stage;
    const left = x + 18 + card.offsetWidth < clientWidth ? x + 18 : Math.max(0, x - 18 - card.offsetWidth);
    const top = Math.max(0, Math.min(y + 14, clientHeight - card.offsetHeight - 4));
    card.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
  }
  function hideCard() {
    for (const hidden of [crosshair, outline, card]) hidden.hidden = true;
  }

  // The keyboard.
  /** @param {KeyboardEvent} event */
  function key(event) {
    if (event.altKey || ((event.ctrlKey || event.metaKey) && !['+', '-', '='].includes(event.key))) return;
    const { selected } = view.scene();
    const both = event.ctrlKey || event.metaKey ? 1.5 : 1;
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowLeft: () => { actions.pan(60, 0); },
      ArrowRight: () => { actions.pan(-60, 0); },
      ArrowUp: () => { actions.pan(0, 60); },
      ArrowDown: () => { actions.pan(0, -60); },
      '+': () => { actions.zoom(1.5, both); },
      '=': () => { actions.zoom(1.5, both); },
      '-': () => { actions.zoom(1 / 1.5, 1 / both); },
      0: actions.reset,
      p: actions.goToPeak,
      e: actions.toggleSmall,
      f: () => { if (selected !== null) actions.zoomTo(selected); },
      '[': () => { actions.next(-1); },
      ']': () => { actions.next(1); },
      n: () => { actions.nextFound(1); },
      N: () => { actions.nextFound(-1); },
      ' ': () => { if (selected !== null) actions.leaveOut(selected, !actions.isLeftOut(selected)); },
      Enter: () => { if (selected !== null) (actions.canOpen ? actions.open : actions.zoomTo)(selected); },
    };
    const run = keys[event.key];
    if (run === undefined) return;
    event.preventDefault();
    hideCard();
    run();
  }
  canvas.addEventListener('keydown', key);

  return { hide: hideCard };
}
