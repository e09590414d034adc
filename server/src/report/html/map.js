// @ts-check
/// <reference path="./map-model.js" />
/// <reference path="./map-view.js" />
/// <reference path="./map-panel.js" />
/// <reference path="./map-input.js" />
// The memory map as a whole: what is looked at, and the page around the picture.

/**
 * @typedef {{id: number, name: string, index: string, allocation: number, offset: number, start: number}} MapPlace
 * @typedef {{color: number, colouring: MapColouring, x0: number, x1: number, y0: number, zoom: number, query: string,
 *   selected: number | null, without: number[], expanded: string[]}} MapState What is looked at; values by their ids.
 * @typedef {{open?: (value: MapPlace) => void, restore?: () => MapState | null | undefined, save?: (state: MapState) => void,
 *   leftOut?: (without: [number, number[]][]) => void}} MapHost `leftOut` hears what the user leaves out, by memory space.
 */

/**
 * Draws a memory map into `root`, which it fills. Values are named by their ids.
 * @param {HTMLElement} root
 * @param {MapData} data
 * @param {MapHost} [host]
 */
function buflensMap(root, data, host = {}) {
  const element = buflensMapElement;
  const { bytes, grouped, counted, moment } = buflensMapText;
  root.classList.add('buflens-map');
  const stepCount = data.steps ?? 0;
  const missing = data.missing_live_ranges ?? 0;
  if (data.reason !== null || data.values.id.length === 0 || stepCount === 0) {
    const why = data.reason ?? 'no value of this program has bytes and a live range';
    root.replaceChildren(element('p', 'map-nothing', `There is no memory map: ${why}.`));
    const nothing = () => {};
    return { select: nothing, search: nothing, setSpace: nothing, setWithout: nothing, destroy: nothing };
  }

  const model = buflensMapModel(data);
  const COLOURINGS = /** @type {[MapColouring, string][]} */ ([['kind', 'kind'], ['op_name', 'op_name'], ['opcode', 'opcode'], ['source', 'source line']]);
  const HELP = [
    ['wheel, + and -', 'zoom in time'], ['Ctrl with wheel, + or -; pinch', 'zoom in time and in bytes'], ['drag, arrow keys', 'move'],
    ['click', 'select; again for what lies below'], ['double click, Enter', host.open ? 'open the line of the value' : 'zoom to the value'],
    ['double click on an empty part', 'fit the allocation'], ['[ and ]', 'select the value before, after'], ['Space', 'leave the value out: what if it went away?'],
    ['f', 'zoom to the selected value'], ['0', 'show all'], ['p', 'go to the peak'], ['e', 'show small allocations one by one, or gathered'],
    ['/', 'search; Enter selects, n and N go on'], ['Escape', 'clear the selection, then the search, then what is left out'], ['?', 'this help'],
  ];

  // What is looked at.
  let color = model.spaces.find(({ curve, peak }) => curve.length > 0 && peak !== null && peak.occupied_bytes > 0)?.color ?? 0;
  /** @type {MapColouring} */
  let colouring = 'kind';
  /** @type {Set<string>} */
  let expanded = new Set();
  /** @type {Set<number>} */
  let without = new Set();
  /** @type {number | null} */
  let selected = null;
  let query = '';
  /** @type {number[]} */
  let found = [];
  /** @type {number[]} */
  let sequence = [];

  // The page.
  const toolbar = element('div', 'map-toolbar');
  const spaces = element('div', 'map-spaces');
  spaces.setAttribute('role', 'group');
  spaces.setAttribute('aria-label', 'Memory space');
  const colours = element('select');
  colours.setAttribute('aria-label', 'Colour by');
  for (const [name, text] of COLOURINGS) colours.append(new Option(`colour by ${text}`, name));
  const box = element('input', 'map-search');
  box.type = 'search';
  box.placeholder = 'Search name, op_name, shape, source';
  box.title = 'A text, or /a regular expression/';
  box.setAttribute('aria-label', 'Search values');
  const hits = element('output', 'map-hits');
  const stage = element('div', 'map-stage');
  const canvas = element('canvas');
  canvas.tabIndex = 0;
  canvas.setAttribute('role', 'application');
  canvas.setAttribute('aria-roledescription', 'memory map');
  const legend = element('ul', 'map-legend');
  const status = element('p', 'map-status');
  const spoken = element('p', 'map-spoken');
  const whatIf = element('p', 'map-what-if');
  for (const live of [spoken, whatIf]) {
    live.setAttribute('role', 'status');
    live.setAttribute('aria-live', 'polite');
  }
  const help = element('div', 'map-help');
  help.setAttribute('role', 'dialog');
  help.setAttribute('aria-label', 'Keys');

  const view = buflensMapView(canvas, model);
  const { seen } = view;
  const panel = buflensMapPanel(model, {
    select: (value) => {
      select(value, true);
    },
    leaveOut,
    open: host.open ? open : null,
    zoomTo,
  });
  const { button } = panel;
  const gather = button('', () => {
    toggleSmall();
  });
  const helpButton = button('?', () => {
    showHelp(help.hidden);
  });
  helpButton.setAttribute('aria-label', 'Keys');
  const named = (/** @type {string} */ text, /** @type {string} */ label, /** @type {() => void} */ run) => {
    const made = button(text, run);
    made.title = label;
    made.setAttribute('aria-label', label);
    return made;
  };
  const buttons = element('span', 'map-buttons');
  buttons.append(
    named('−', 'Zoom out', () => {
      zoom(1 / 1.5, 1);
    }),
    named('+', 'Zoom in', () => {
      zoom(1.5, 1);
    }),
    named('All', 'Show all steps and bytes', reset),
    named('Peak', 'Go to the peak', goToPeak),
    gather,
    helpButton,
  );
  const searching = element('span', 'map-searching');
  searching.append(box, hits);
  toolbar.append(spaces, colours, searching, buttons);
  stage.append(canvas, help);
  const main = element('div', 'map-main');
  main.append(stage, panel.root);
  root.replaceChildren(toolbar, whatIf, main, legend, status, spoken);
  help.hidden = true;
  help.append(element('h3', '', 'Keys'), panel.list(/** @type {[string, string][]} */ (HELP)));
  const close = button('Close', () => {
    showHelp(false);
    canvas.focus();
  });
  help.append(close);

  for (const space of model.spaces) {
    const made = button('', () => {
      setSpace(space.color);
    });
    made.dataset.color = String(space.color);
    made.append(element('b', '', space.name), ` ${space.peak === null ? 'no peak' : bytes(space.peak.occupied_bytes)} of ${bytes(space.reserved_bytes)}`);
    made.title = `${space.name} (@${space.color}): ${space.peak === null ? 'no peak is known' : `true peak ${moment(space.peak)}`}; ${bytes(space.reserved_bytes)} reserved`;
    made.disabled = space.curve.length === 0;
    spaces.append(made);
  }

  // Drawing, at most once for each picture of the screen.
  let frame = 0;
  function redraw() {
    if (frame === 0) frame = requestAnimationFrame(drawNow);
  }
  function drawNow() {
    frame = 0;
    view.draw();
    const { total, drawn, merged } = view.counts;
    Object.assign(root.dataset, { total, drawn, merged, shown: 'true' });
    const notes = [`${counted(drawn, 'value')} drawn`];
    if (merged > 0) notes.push(`${counted(merged, 'value')} ${merged === 1 ? 'is' : 'are'} smaller than a pixel here: zoom in to see ${merged === 1 ? 'it' : 'them'}`);
    if (total > drawn + merged) notes.push(`${grouped(total - drawn - merged)} outside of what is seen`);
    if (data.values_left_out > 0) notes.push(`${counted(data.values_left_out, 'smaller value')} not loaded`);
    if (missing > 0) notes.push(`${counted(missing, 'value')} without live range or place ${missing === 1 ? 'is' : 'are'} missing: the true peak may be higher`);
    if (data.missing_bytes) notes.push(`allocations of ${bytes(data.missing_bytes)} that the compiler counts are not there`);
    const text = `${notes.join('; ')}.`;
    if (status.textContent !== text) status.textContent = text;
  }
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let saving;
  function changed() {
    redraw();
    clearTimeout(saving);
    if (host.save) saving = setTimeout(save, 200);
  }
  function save() {
    saving = undefined;
    const ids = data.values.id;
    host.save?.({
      color, colouring, ...seen, query, selected: selected === null ? null : ids[selected], without: [...without].map((value) => ids[value]), expanded: [...expanded],
    });
  }

  function layOut() {
    const layout = model.layout(color, view.room(), expanded);
    view.setScene({ layout });
    const gathered = layout.rows.some(({ isGathered }) => isGathered);
    gather.hidden = !gathered && expanded.size === 0;
    gather.textContent = gathered ? 'Expand' : 'Gather';
    gather.title = gathered ? 'Show small allocations one by one' : 'Gather small allocations';
    view.clamp();
  }

  /** @param {number} to the number of a memory space */
  function setSpace(to) {
    const space = model.spaces.find((it) => it.color === to);
    if (space === undefined || space.curve.length === 0) return;
    color = to;
    for (const made of spaces.querySelectorAll('button')) made.setAttribute('aria-pressed', String(made.dataset.color === String(to)));
    sequence = model.inTime(color);
    view.setScene({ color });
    canvas.setAttribute('aria-label', `${space.name}: ${counted(sequence.length, 'value')} over ${counted(stepCount, 'step')}, ${space.peak === null ? 'no peak' : `true peak ${moment(space.peak)}`}. Press ? for the keys.`);
    Object.assign(seen, { x0: 0, x1: view.steps, y0: 0, zoom: 1 });
    layOut();
    setColouring(colouring);
    search(query);
    think();
    select(selected !== null && model.colorOf(selected) === color ? selected : null, false);
  }

  /** @param {MapColouring} by */
  function setColouring(by) {
    colouring = by;
    colours.value = by;
    const categories = model.categories(by, color);
    view.setScene({ categories });
    showLegend();
    changed();
  }

  function showLegend() {
    const { categories } = view.scene();
    legend.replaceChildren();
    categories.names.forEach((name, place) => {
      if (name === '') return;
      const item = element('li');
      const swatch = element('span', 'map-swatch');
      swatch.style.backgroundColor = view.colour(place);
      item.append(swatch, element('span', 'map-name', name), element('span', 'map-note', `${bytes(categories.bytes[place] ?? 0)} at the peak`));
      item.title = name;
      legend.append(item);
    });
    const item = element('li', 'map-note');
    item.append(element('span', 'map-swatch map-idle'), 'idle');
    const shared = element('li', 'map-note', 'striped: two values share these bytes at the same step');
    legend.append(item, ...(model.spaces.length > 0 ? [shared] : []));
  }

  /** Computes the curve without what is left out. */
  function think() {
    const { curve, peak } = model.occupancy(color, without);
    const space = model.spaces.find((it) => it.color === color);
    const left = [...without].filter((value) => model.colorOf(value) === color);
    view.setScene({ curve, peak, without, before: left.length === 0 ? null : (space?.curve ?? []) });
    whatIf.replaceChildren();
    whatIf.hidden = left.length === 0;
    if (left.length > 0) {
      const names = left.slice(0, 3).map(model.label);
      if (left.length > 3) names.push(`${grouped(left.length - 3)} more`);
      const saved = (peak?.occupied_bytes ?? 0) - (space?.peak?.occupied_bytes ?? 0);
      const rest = peak === null ? 'nothing is left' : `${moment(peak)} (${saved === 0 ? 'no change' : bytes(saved)})`;
      const some = data.values_left_out > 0 ? ', and without the smaller values that are not loaded' : '';
      whatIf.append(
        element('span', '', `without ${names.join(', ')}: ${rest}, with the schedule and the placement as they are${some} `),
        button('Put back', () => {
          setLeftOut(new Set());
          select(selected, false);
          canvas.focus();
        }),
      );
    }
    changed();
  }

  /** @param {Set<number>} values */
  function setLeftOut(values) {
    without = values;
    think();
    tellLeftOut();
  }
  function tellLeftOut() {
    /** @type {Map<number, number[]>} */
    const bySpace = new Map();
    for (const value of without) bySpace.set(model.colorOf(value), [...(bySpace.get(model.colorOf(value)) ?? []), data.values.id[value]]);
    host.leftOut?.([...bySpace]);
  }

  /** @param {number} value @param {boolean} isOut */
  function leaveOut(value, isOut) {
    const values = new Set(without);
    if (isOut) values.add(value);
    else values.delete(value);
    setLeftOut(values);
    for (const tick of /** @type {NodeListOf<HTMLInputElement>} */ (panel.root.querySelectorAll('input'))) {
      if (tick.getAttribute('aria-label') === `Leave out ${model.label(value)}`) tick.checked = isOut;
    }
  }

  /** @param {number | null} value @param {boolean} isSeen whether it should be moved into sight */
  function select(value, isSeen) {
    if (value !== null && model.colorOf(value) !== color) setSpace(model.colorOf(value));
    selected = value;
    view.setScene({ selected });
    if (value === null) {
      panel.showPeak(color, without);
      spoken.textContent = '';
    } else {
      panel.showValue(value, without);
      const rows = Object.fromEntries(panel.facts(value));
      spoken.textContent = [`${model.label(value)}: ${bytes(model.bytes[value])}`, `allocation ${rows.allocation}`, rows.alive, rows['at the peak'] && `at the peak ${rows['at the peak']}`].filter(Boolean).join('; ');
      if (isSeen) show(value);
    }
    panel.root.scrollTop = 0;
    changed();
  }

  /** Moves the least that brings a value into sight. @param {number} value */
  function show(value) {
    const { layout } = view.scene();
    const [from, to] = [model.start[value], model.end[value]];
    const span = seen.x1 - seen.x0;
    if (to <= seen.x0 || from >= seen.x1) seen.x0 = (from + Math.min(to, from + span)) / 2 - span / 2;
    seen.x1 = seen.x0 + span;
    const place = model.allocation[value];
    const lower = layout.bottom[place] - model.offset[value] * layout.scale[place];
    const upper = layout.bottom[place] - model.top[value] * layout.scale[place];
    const high = view.room() / seen.zoom;
    if (lower <= seen.y0 || upper >= seen.y0 + high) seen.y0 = (upper + lower) / 2 - high / 2;
    view.clamp();
  }

  /** @param {number} value */
  function zoomTo(value) {
    const { layout } = view.scene();
    const place = model.allocation[value];
    const scale = layout.scale[place];
    fit(model.start[value], model.end[value], layout.bottom[place] - model.top[value] * scale, layout.bottom[place] - model.offset[value] * scale, 0.5);
  }

  /** @param {number} from @param {number} to steps @param {number} upper @param {number} lower places in the layout @param {number} margin as a share */
  function fit(from, to, upper, lower, margin) {
    const aside = Math.max(1, (to - from) * margin);
    seen.x0 = Math.max(0, from - aside);
    seen.x1 = Math.min(view.steps, to + aside);
    const high = Math.max(1e-3, lower - upper) * (1 + margin);
    seen.zoom = view.room() / high;
    seen.y0 = (upper + lower) / 2 - high / 2;
    view.clamp();
    changed();
  }

  function reset() {
    Object.assign(seen, { x0: 0, x1: view.steps, y0: 0, zoom: 0 });
    view.clamp();
    changed();
  }

  function goToPeak() {
    const { peak } = view.scene();
    if (peak === null) return;
    const span = Math.min(seen.x1 - seen.x0, Math.max(20, view.steps / 20));
    Object.assign(seen, { x0: peak.step + 0.5 - span / 2, x1: peak.step + 0.5 + span / 2, y0: 0, zoom: 0 });
    view.clamp();
    changed();
    spoken.textContent = `peak ${moment(peak)}`;
  }

  /** @param {number} time factor @param {number} space factor @param {number} [atX] @param {number} [atY] in CSS pixels of the canvas */
  function zoom(time, space, atX, atY) {
    const { left, top, width, height } = view.area();
    const shareX = atX === undefined ? 0.5 : Math.min(1, Math.max(0, (atX - left) / width));
    const step = seen.x0 + shareX * (seen.x1 - seen.x0);
    // Not beyond a step, so that the pointer stays where it is.
    const span = Math.min(view.steps, Math.max(Math.min(1, view.steps), (seen.x1 - seen.x0) / time));
    seen.x0 = step - shareX * span;
    seen.x1 = seen.x0 + span;
    const y = atY === undefined ? height / 2 : atY - top;
    const world = seen.y0 + y / seen.zoom;
    seen.zoom = Math.max(seen.zoom * space, Math.min(1, height / view.scene().layout.height));
    seen.y0 = world - y / seen.zoom;
    view.clamp();
    changed();
  }

  /** @param {number} x @param {number} y CSS pixels that the picture moves */
  function pan(x, y) {
    const { width } = view.area();
    const by = (x / width) * (seen.x1 - seen.x0);
    seen.x0 -= by;
    seen.x1 -= by;
    seen.y0 -= y / seen.zoom;
    view.clamp();
    changed();
  }

  /** @param {string} text */
  function search(text) {
    query = text;
    if (box.value !== text) box.value = text;
    hits.textContent = '';
    found = [];
    /** @type {Uint8Array | null} */
    let matches = null;
    if (text.trim() !== '') {
      try {
        found = model.find(text.trim(), color);
        matches = new Uint8Array(model.count);
        for (const value of found) matches[value] = 1;
        hits.textContent = `${grouped(found.length)} found, ${bytes(found.reduce((sum, value) => sum + model.bytes[value], 0))}`;
      } catch (error) {
        hits.textContent = error instanceof Error ? error.message : String(error);
      }
    }
    view.setScene({ matches });
    changed();
  }

  /** Selects the next value of a list. @param {number[]} list @param {number} by 1 or -1 */
  function next(list, by) {
    if (list.length === 0) return;
    const at = selected === null ? (by > 0 ? -1 : 0) : list.indexOf(selected);
    select(list[(at + by + list.length) % list.length] ?? null, true);
  }

  /** @param {number} value */
  function open(value) {
    const place = model.allocation[value];
    host.open?.({
      id: data.values.id[value], name: model.text(data.values.name[value]) ?? '', index: model.text(data.values.index[value]) ?? '',
      allocation: model.allocations[place].allocation, offset: model.offset[value], start: model.start[value],
    });
  }

  function toggleSmall() {
    const rows = view.scene().layout.rows.filter(({ isGathered }) => isGathered);
    if (rows.length > 0) expand(rows.map(({ kind }) => kind));
    else {
      expanded = new Set();
      layOut();
      changed();
    }
  }
  /** Gives the small allocations of some kinds panels of their own. @param {string[]} some */
  function expand(some) {
    expanded = new Set([...expanded, ...some]);
    layOut();
    changed();
  }

  /** @param {boolean} isShown */
  function showHelp(isShown) {
    help.hidden = !isShown;
    if (isShown) close.focus({ preventScroll: true });
  }

  const pointer = buflensMapInput(stage, canvas, view, panel, {
    pan, zoom, fit, select, open, zoomTo, reset, goToPeak, toggleSmall, expand, leaveOut, canOpen: host.open !== undefined,
    next: (by) => {
      next(sequence, by);
    },
    nextFound: (by) => {
      next(found, by);
    },
    isLeftOut: (value) => without.has(value),
  });
  /** Keys that work wherever the focus is in the map. @param {KeyboardEvent} event */
  function keyAnywhere(event) {
    const isTyping = event.target instanceof HTMLInputElement && event.target.type !== 'checkbox';
    if (event.key === 'Escape') escape();
    else if (!isTyping && event.key === '/') box.focus();
    else if (!isTyping && event.key === '?') showHelp(help.hidden);
    else return;
    event.preventDefault();
  }
  root.addEventListener('keydown', keyAnywhere);
  function escape() {
    pointer.hide();
    if (!help.hidden) showHelp(false);
    else if (document.activeElement === box && query === '') canvas.focus();
    else if (selected !== null && document.activeElement !== box) select(null, false);
    else if (query !== '') search('');
    else if (without.size > 0) {
      setLeftOut(new Set());
      select(null, false);
    }
    if (document.activeElement !== box) canvas.focus();
  }
  box.addEventListener('input', () => {
    search(box.value);
  });
  box.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    next(found, event.shiftKey ? -1 : 1);
    if (found.length > 0) canvas.focus();
  });
  colours.addEventListener('change', () => {
    setColouring(/** @type {MapColouring} */ (colours.value));
  });

  // The page around it.
  const sizes = new ResizeObserver(() => {
    view.resize();
    layOut();
    // Before the browser shows a canvas that its new size has emptied.
    drawNow();
  });
  function restyle() {
    view.setTheme();
    showLegend();
    redraw();
  }
  const themes = new MutationObserver(restyle);
  for (const node of [document.body, document.documentElement]) themes.observe(node, { attributes: true, attributeFilter: ['class', 'style', 'data-vscode-theme-kind'] });
  const queries = [matchMedia('(prefers-color-scheme: dark)'), matchMedia('(forced-colors: active)')];
  for (const media of queries) media.addEventListener('change', restyle);

  view.resize();
  view.setTheme();
  const state = host.restore?.();
  if (state) {
    expanded = new Set(state.expanded);
    colouring = COLOURINGS.some(([name]) => name === state.colouring) ? state.colouring : 'kind';
    query = state.query;
    without = new Set(state.without.flatMap((id) => model.byId.get(id) ?? []));
    selected = (state.selected === null ? null : model.byId.get(state.selected)) ?? null;
    if (model.spaces.some((space) => space.color === state.color && space.curve.length > 0)) color = state.color;
  }
  setSpace(color);
  if (without.size > 0) tellLeftOut();
  if (state) {
    Object.assign(seen, { x0: state.x0, x1: state.x1, y0: state.y0, zoom: state.zoom });
    view.clamp();
  }
  drawNow();
  sizes.observe(canvas);

  return {
    /** @param {number | null} id of a value */
    select(id) {
      select(id === null ? null : (model.byId.get(id) ?? null), true);
    },
    search,
    setSpace,
    /** @param {number[]} ids of values to leave out */
    setWithout(ids) {
      without = new Set(ids.flatMap((id) => model.byId.get(id) ?? []));
      think();
      select(selected, false);
    },
    destroy() {
      cancelAnimationFrame(frame);
      // What was selected a moment ago is not lost.
      clearTimeout(saving);
      if (saving !== undefined) save();
      sizes.disconnect();
      themes.disconnect();
      for (const media of queries) media.removeEventListener('change', restyle);
      root.removeEventListener('keydown', keyAnywhere);
      root.replaceChildren();
    },
  };
}
