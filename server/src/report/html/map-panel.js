// @ts-check
/// <reference path="./map-model.js" />
// What is said of a value, of the peak and of a place, in words. All texts of a dump go in as text, never as markup.

/**
 * An element with a class and a text.
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name @param {string} [className] @param {string} [text]
 * @returns {HTMLElementTagNameMap[Name]}
 */
function buflensMapElement(name, className, text) {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

/**
 * The panel beside the map: what is known of the selected value, or what the peak is made of.
 * @param {MapModel} model
 * @param {{select: (value: number) => void, leaveOut: (value: number, isOut: boolean) => void, open: ((value: number) => void) | null,
 *   zoomTo: (value: number) => void}} actions
 */
function buflensMapPanel(model, actions) {
  const { bytes, exact, fixed, grouped, counted } = buflensMapText;
  const element = buflensMapElement;
  const root = element('aside', 'map-details');
  root.setAttribute('aria-label', 'Details');
  /** Rows of a list at most. */
  const ROWS = 12;
  /** So many characters at the end of a name are not cut. */
  const TAIL = 6;

  /** @param {number} part @param {number} whole */
  const percent = (part, whole) => (whole > 0 ? `${fixed((100 * part) / whole, 1)} %` : '0 %');
  /** @param {number} step */
  const stepName = (step) => [`step ${step}`, model.instruction(step)].filter(Boolean).join(', ');
  /** @param {number} value */
  const stepsOf = (value) => {
    const [from, last] = [model.values.start[value], model.values.end[value]];
    return from === last ? `step ${from}` : `steps ${from}-${last}`;
  };
  /** @param {number} value */
  const peakOf = (value) => model.spaces.find(({ color }) => color === model.colorOf(value))?.peak ?? null;

  /** All that is known of a value, by row. @param {number} value @returns {[string, string][]} */
  function facts(value) {
    const { values, start, end } = model;
    const size = model.bytes[value];
    const shape = model.text(values.shape[value]);
    // A tuple's is a table of addresses, which is larger than they are without being padded.
    const logical = shape?.startsWith('(') ? null : (values.logical_bytes[value] ?? null);
    const allocation = model.allocations[model.allocation[value]];
    const [from, last] = [start[value], end[value] - 1];
    const peak = peakOf(value);
    const isAtPeak = peak !== null && from <= peak.step && last >= peak.step;
    const names = [...new Set([model.instruction(from), model.instruction(last)])].filter(Boolean).join(' to ');
    /** @type {[string, string | null][]} */
    const rows = [
      ['shape', shape],
      ['bytes', exact(size)],
      ['without padding', logical === null || logical === size ? null : `${exact(logical)}${logical > 0 ? `, ${fixed(size / logical, 2)}x` : ''}`],
      ['allocation', `${allocation.allocation}, ${kindOf(allocation)}`],
      ['place', `${grouped(model.offset[value])} to ${grouped(model.top[value])} of ${grouped(allocation.bytes)}`],
      ['alive', `${stepsOf(value)}${names === '' ? '' : `, ${names}`}`],
      ['at the peak', peak === null ? null : isAtPeak ? `${percent(size, peak.occupied_bytes)} of ${bytes(peak.occupied_bytes)} at step ${peak.step}` : 'not alive'],
      ['opcode', model.text(values.opcode[value])],
      ['op_name', model.text(values.op_name[value])],
      ['source', model.text(values.source[value])],
    ];
    return rows.filter(/** @returns {row is [string, string]} */ (row) => row[1] !== null);
  }

  /** @param {MapAllocation} allocation */
  const kindOf = ({ kind, parameter, is_donated }) => `${kind}${parameter === null ? '' : ` ${parameter}`}${is_donated ? ', donated' : ''}`;

  /** A definition list. @param {[string, string][]} rows */
  function list(rows) {
    const all = element('dl');
    for (const [name, content] of rows) all.append(element('dt', '', name), element('dd', '', content));
    return all;
  }

  /** @param {string} text @param {() => void} run */
  function button(text, run) {
    const made = element('button', '', text);
    made.type = 'button';
    made.addEventListener('click', run);
    return made;
  }

  /** @param {number} value @param {Set<number>} without @param {string} [text] */
  function tick(value, without, text = '') {
    const label = element('label', 'map-tick');
    const box = element('input');
    box.type = 'checkbox';
    box.checked = without.has(value);
    box.setAttribute('aria-label', `Leave out ${model.label(value)}`);
    box.title = 'Leave out: what if it went away?';
    box.addEventListener('change', () => {
      actions.leaveOut(value, box.checked);
    });
    label.append(box, text);
    return label;
  }

  /** A list of values that can be selected. @param {string} title @param {number[]} some @param {Set<number>} without @param {(value: number) => string} note */
  function valueList(title, some, without, note) {
    if (some.length === 0) return [];
    const rows = element('ul', 'map-values');
    for (const value of some.slice(0, ROWS)) {
      const row = element('li');
      const label = model.label(value);
      const name = button('', () => {
        actions.select(value);
      });
      // Names differ at their ends, so that is what stays where there is no room.
      name.append(element('span', 'map-head', label.slice(0, -TAIL)), element('span', '', label.slice(-TAIL)));
      name.title = [label, model.text(model.values.op_name[value])].filter(Boolean).join('\n');
      row.append(tick(value, without), name, element('span', 'map-note', note(value)));
      rows.append(row);
    }
    if (some.length > ROWS) rows.append(element('li', 'map-note', `and ${grouped(some.length - ROWS)} more`));
    return [element('h4', '', title), rows];
  }

  /** @param {number} value */
  const inTime = (value) => `${bytes(model.bytes[value])}, ${stepsOf(value)}`;

  /** @param {number} value @param {Set<number>} without */
  function showValue(value, without) {
    const { start, end } = model;
    const buttons = element('p', 'map-buttons');
    const { open } = actions;
    if (open) {
      buttons.append(
        button('Open line', () => {
          open(value);
        }),
      );
    }
    buttons.append(
      button('Zoom to it', () => {
        actions.zoomTo(value);
      }),
      tick(value, without, ' leave out'),
    );
    const others = model.overSameBytes(value);
    const before = others.filter((other) => end[other] <= start[value]).reverse();
    const after = others.filter((other) => start[other] >= end[value]);
    const besides = others.filter((other) => end[other] > start[value] && start[other] < end[value]);
    root.replaceChildren(
      element('h3', '', model.label(value)),
      buttons,
      list(facts(value)),
      ...valueList('Shares bytes at the same step with', besides, without, inTime),
      ...valueList('The same bytes before', before, without, inTime),
      ...valueList('The same bytes after', after, without, inTime),
    );
    if (others.length === 0) root.append(element('p', 'map-note', 'No other value lies over these bytes.'));
  }

  /** What the peak of a memory space is made of. @param {number} color @param {Set<number>} without */
  function showPeak(color, without) {
    const space = model.spaces.find((it) => it.color === color);
    const peak = space?.peak;
    if (!space || !peak) {
      root.replaceChildren(element('h3', '', space?.name ?? ''), element('p', 'map-note', 'No value is alive here at any step.'));
      return;
    }
    const own = new Map(model.aliveAt(color, peak.step));
    const idle = space.reserved_bytes - peak.occupied_bytes;
    root.replaceChildren(
      element('h3', '', `${space.name} at its peak`),
      list([
        ['occupied', exact(peak.occupied_bytes)],
        ['at', stepName(peak.step)],
        ['reserved', exact(space.reserved_bytes)],
        ...(idle > 0 ? [/** @type {[string, string]} */ (['idle then', exact(idle)])] : []),
      ]),
      ...valueList(`${counted(own.size, 'value')} alive`, [...own.keys()], without, (value) => {
        const counts = own.get(value) ?? 0;
        const share = percent(counts, peak.occupied_bytes);
        return counts === model.bytes[value] ? `${bytes(model.bytes[value])}, ${share}` : `${bytes(model.bytes[value])}, own ${bytes(counts)}`;
      }),
      element('p', 'map-note', 'Tick what should be left out: the curve shows what would remain. Static, of this module alone.'),
    );
  }

  /**
   * What is said at the pointer: a title and rows.
   * @param {ReturnType<MapView['at']>} place @param {MapView} view @returns {[string, [string, string][]] | null}
   */
  function tooltip(place, view) {
    const { values, row, step } = place;
    const isStep = step >= 0 && step < view.steps;
    if (values.length > 0) {
      const others = values.slice(1, 4).map(model.label);
      if (values.length > 4) others.push(`${grouped(values.length - 4)} more`);
      return [model.label(values[0]), [...facts(values[0]), ...(others.length > 0 ? [/** @type {[string, string]} */ (['here too', others.join(', ')])] : [])]];
    }
    if (place.isCurve && isStep) {
      const { curve, before } = view.scene();
      const rows = [/** @type {[string, string]} */ (['occupied', exact(model.occupiedAt(curve, step))])];
      if (before !== null) rows.push(['with all values', exact(model.occupiedAt(before, step))]);
      return [stepName(step), rows];
    }
    if (row === undefined) return null;
    const free = view.idleBytes(row);
    if (place.isGutter || row.isGathered) {
      const [only] = row.allocations.map((it) => model.allocations[it]);
      /** @type {[string, string][]} */
      const rows = [['bytes', exact(row.bytes)]];
      if (!row.isGathered && only.fullest !== null) rows.push(['fullest', `${exact(only.fullest[1])} at ${stepName(only.fullest[0])}`]);
      rows.push(['idle at the peak', exact(free)]);
      return [row.isGathered ? `${counted(row.allocations.length, `${row.kind} allocation`)}; click to show each` : `allocation ${only.allocation}, ${kindOf(only)}`, rows];
    }
    const allocation = model.allocations[row.allocations[0]];
    return isStep ? [`allocation ${allocation.allocation}, ${kindOf(allocation)}`, [['idle here', `at ${stepName(step)}`]]] : null;
  }

  return { root, showValue, showPeak, tooltip, list, facts, button, allocations: model.allocations };
}
