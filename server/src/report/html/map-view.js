// @ts-check
/// <reference path="./map-model.js" />
// The memory map as a picture: rectangles are put into pixels one by one, since there may be a hundred thousand; lines and
// texts are drawn over them.

/**
 * @typedef {{color: number, layout: MapLayout, categories: MapCategories, matches: Uint8Array | null, without: Set<number>,
 *   selected: number | null, curve: [number, number][], peak: MapMoment | null, before: [number, number][] | null}} MapScene
 *   What there is to draw. `before` is the curve without what-if.
 * @typedef {{x0: number, x1: number, y0: number, zoom: number}} MapWindow What is seen of it: steps, and pixels of the layout.
 * @typedef {{total: number, drawn: number, merged: number}} MapCounts Values of the space; those seen; those smaller than a pixel.
 */
/** @typedef {ReturnType<typeof buflensMapView>} MapView */

/**
 * @param {HTMLCanvasElement} canvas
 * @param {MapModel} model
 */
function buflensMapView(canvas, model) {
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d', { alpha: false }));
  const { start, end, offset, top, bytes, allocation, allocations, order } = model;
  const steps = Math.max(1, model.data.steps ?? 0);
  const { bytes: human } = buflensMapText;
  const CURVE_TOP = 36;
  const CURVE = 110;
  /** Pixels above and below the panels. */
  const ABOVE = CURVE_TOP + CURVE + 12;
  const BELOW = 36;

  // Places in CSS pixels, `ratio` of which are a pixel of the screen.
  let [width, height, ratio, gutter] = [0, 0, 1, 0];
  let panelWidth = 1;
  let panelHeight = 1;
  let image = context.createImageData(1, 1);
  let pixels = new Uint32Array(image.data.buffer);
  /** The picture of an allocation in which there is nothing. */
  let idle = new Uint32Array(1);
  /** By column of pixels, what has been drawn there last of the values that are smaller than a pixel. */
  let thinTop = new Int32Array(1);
  let thinBottom = new Int32Array(1);
  const labelled = new Int32Array(800);
  const x = (/** @type {number} */ step) => gutter + ((step - seen.x0) / (seen.x1 - seen.x0)) * (width - gutter);
  /** @type {MapWindow} */
  const seen = { x0: 0, x1: steps, y0: 0, zoom: 1 };
  /** @type {MapCounts} */
  const counts = { total: 0, drawn: 0, merged: 0 };
  /** @type {MapScene} */
  let scene = {
    color: 0, layout: model.layout(-1, 1, new Set()), categories: { of: new Uint8Array(0), names: [], bytes: [] }, matches: null,
    without: new Set(), selected: null, curve: [], peak: null, before: null,
  };
  let inScene = 0;

  /** Okabe and Ito's colours, which colour-blind people tell apart, and grey. @type {[number, number, number][]} */
  const PALETTE = [
    [86, 180, 233], [230, 159, 0], [0, 158, 115], [204, 121, 167], [240, 228, 66], [213, 94, 0], [0, 114, 178], [160, 160, 160],
  ];
  /** @typedef {[number, number, number]} Rgb */
  /** @type {Record<'page' | 'text' | 'quiet' | 'line' | 'peak' | 'select', string>} */
  const css = { page: '', text: '', quiet: '', line: '', peak: '', select: '' };
  /** @type {Rgb[]} */
  let palette = PALETTE;
  let fonts = { small: '', mono: '' };
  // By category: as it is, faded, and its edge. As pixels.
  const fills = new Uint32Array(PALETTE.length);
  const faded = new Uint32Array(PALETTE.length);
  const edgesOf = new Uint32Array(PALETTE.length);
  const seams = new Uint32Array(PALETTE.length);
  let [pagePixel, idlePixel, hatchPixel] = [0, 0, 0];

  /** @param {Rgb} rgb */
  const pixel = ([red, green, blue]) => ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
  /** @param {Rgb} a @param {Rgb} b @param {number} share of b @returns {Rgb} */
  const mix = (a, b, share) => [
    Math.round(a[0] * (1 - share) + b[0] * share),
    Math.round(a[1] * (1 - share) + b[1] * share),
    Math.round(a[2] * (1 - share) + b[2] * share),
  ];
  /** How bright a colour is, from 0 to 1. @param {Rgb} rgb */
  const luminance = (rgb) => {
    const [red, green, blue] = rgb.map((part) => (part <= 10 ? part / 3295 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  /** @param {string} color @returns {Rgb} */
  const parsed = (color) => {
    context.fillStyle = '#000';
    context.fillStyle = color;
    const text = String(context.fillStyle);
    const parts = text.startsWith('#') ? [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)) : (text.match(/[\d.]+/g) ?? []).map(Number);
    return [parts[0] ?? 0, parts[1] ?? 0, parts[2] ?? 0];
  };

  /** Reads the colours of the page again. */
  function setTheme() {
    const style = getComputedStyle(canvas);
    for (const name of /** @type {(keyof typeof css)[]} */ (Object.keys(css))) css[name] = style.getPropertyValue(`--map-${name}`).trim() || '#888';
    fonts = { small: `12px ${style.fontFamily}`, mono: `11px ${style.getPropertyValue('--map-mono').trim() || 'monospace'}` };
    const page = parsed(css.page);
    const isDark = luminance(page) < 0.4;
    palette = PALETTE.map((rgb) => mix(rgb, isDark ? [0, 0, 0] : [255, 255, 255], isDark ? 0.16 : 0.14));
    palette.forEach((rgb, place) => {
      fills[place] = pixel(rgb);
      faded[place] = pixel(mix(rgb, page, 0.72));
      edgesOf[place] = pixel(mix(rgb, isDark ? page : [0, 0, 0], isDark ? 0.65 : 0.42));
      seams[place] = pixel(mix(rgb, isDark ? page : [0, 0, 0], 0.22));
    });
    pagePixel = pixel(page);
    idlePixel = pixel(mix(page, parsed(css.line), 0.25));
    hatchPixel = pixel(mix(page, parsed(css.line), 0.75));
    drawIdle();
  }

  function drawIdle() {
    const period = Math.round(7 * ratio);
    const [wide, high] = [image.width, image.height];
    for (let row = 0, at = 0; row < high; row += 1) {
      for (let column = 0; column < wide; column += 1, at += 1) idle[at] = (column + row) % period < ratio ? hatchPixel : idlePixel;
    }
  }

  /** The text's colour that is read best on a category's. @param {number} category */
  const inkOn = (category) => (luminance(palette[category]) > 0.2 ? '#111' : '#fff');

  /** Takes the size that the page gives the canvas. */
  function resize() {
    const box = canvas.getBoundingClientRect();
    width = Math.max(200, Math.round(box.width));
    height = Math.max(ABOVE + BELOW + 40, Math.round(box.height));
    ratio = globalThis.devicePixelRatio || 1;
    gutter = width < 620 ? 132 : 178;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    panelWidth = Math.max(1, Math.round((width - gutter) * ratio));
    panelHeight = Math.max(1, Math.round((height - ABOVE - BELOW) * ratio));
    image = context.createImageData(panelWidth, panelHeight);
    pixels = new Uint32Array(image.data.buffer);
    idle = new Uint32Array(pixels.length);
    thinTop = new Int32Array(panelWidth);
    thinBottom = new Int32Array(panelWidth);
    drawIdle();
  }

  /** Pixels for the panels, in CSS pixels. */
  const room = () => height - ABOVE - BELOW;

  /** @param {number} left @param {number} upper @param {number} right @param {number} lower @param {number} color */
  function fill(left, upper, right, lower, color) {
    for (let row = upper * panelWidth; row < lower * panelWidth; row += panelWidth) pixels.fill(color, row + left, row + right);
  }
  /** @param {number} left @param {number} upper @param {number} right @param {number} lower @param {number} color */
  function stripe(left, upper, right, lower, color) {
    const period = Math.round(8 * ratio);
    const half = period >> 1;
    for (let row = upper; row < lower; row += 1) {
      for (let column = left, at = row * panelWidth + left; column < right; column += 1, at += 1) if ((column + row) % period < half) pixels[at] = color;
    }
  }
  /** @param {number} number @param {number} most */
  const within = (number, most) => (number < 0 ? 0 : number > most ? most : number);

  /** The edges of a value in pixels of the screen, before what is outside is cut off: where it was put last. */
  const edge = { left: 0, right: 0, upper: 0, lower: 0 };
  /** @param {number} value @param {number} perStep pixels */
  function put(value, perStep) {
    const place = allocation[value];
    const most = allocations[place].bytes;
    const scale = scene.layout.scale[place];
    const { y0, zoom } = seen;
    const bottom = scene.layout.bottom[place];
    edge.left = (start[value] - seen.x0) * perStep;
    edge.right = (end[value] - seen.x0) * perStep;
    // What a broken dump puts outside of its allocation is drawn at its edge.
    edge.upper = (bottom - Math.min(top[value], most) * scale - y0) * zoom * ratio;
    edge.lower = (bottom - Math.min(offset[value], most) * scale - y0) * zoom * ratio;
  }

  function drawPanels() {
    const { layout, categories, matches, without } = scene;
    const perStep = panelWidth / (seen.x1 - seen.x0);
    pixels.set(idle);
    let gap = 0;
    for (const row of layout.rows) {
      const upper = Math.round((row.y - seen.y0) * seen.zoom * ratio);
      fill(0, within(gap, panelHeight), panelWidth, within(upper, panelHeight), pagePixel);
      gap = Math.round((row.y + row.height - seen.y0) * seen.zoom * ratio);
    }
    fill(0, within(gap, panelHeight), panelWidth, panelHeight, pagePixel);
    // What is behind the last step is not idle, there is nothing.
    fill(within(Math.round((steps - seen.x0) * perStep), panelWidth), 0, panelWidth, panelHeight, pagePixel);
    fill(0, 0, within(Math.round(-seen.x0 * perStep), panelWidth), panelHeight, pagePixel);

    [counts.total, counts.drawn, counts.merged] = [inScene, 0, 0];
    let labels = 0;
    for (const row of layout.rows) {
      const upper = (row.y - seen.y0) * seen.zoom;
      if (upper > room() || upper + row.height * seen.zoom < 0) continue;
      for (const place of row.allocations) {
        const lowest = (layout.bottom[place] - seen.y0) * seen.zoom;
        if (lowest < -1 || lowest - allocations[place].bytes * layout.scale[place] * seen.zoom > room() + 1) continue;
        const [from, to] = model.between(place, seen.x0, seen.x1);
        // There may be thousands of allocations with a value or two.
        const isDense = to - from > 64;
        if (isDense) {
          thinTop.fill(1);
          thinBottom.fill(0);
        }
        for (let at = from; at < to; at += 1) {
          const value = order[at];
          if (end[value] <= seen.x0) continue;
          put(value, perStep);
          if (edge.lower < 0 || edge.upper > panelHeight || (edge.lower <= 0 && edge.upper < 0)) continue;
          const isThin = edge.right - edge.left < ratio || edge.lower - edge.upper < ratio;
          const left = Math.floor(within(edge.left, panelWidth - 1));
          const right = Math.max(left + 1, Math.floor(within(edge.right, panelWidth)));
          const up = Math.floor(within(edge.upper, panelHeight - 1));
          const low = Math.max(up + 1, Math.floor(within(edge.lower, panelHeight)));
          const category = categories.of[value];
          const isFaded = matches !== null && matches[value] === 0;
          const color = isFaded ? faded[category] : fills[category];
          if (isThin) {
            counts.merged += 1;
            if (without.size > 0 && without.has(value)) continue;
            if (isDense && right - left === 1) {
              if (up >= thinTop[left] && low <= thinBottom[left]) continue;
              thinTop[left] = up;
              thinBottom[left] = low;
            }
            fill(left, up, right, low, color);
            continue;
          }
          counts.drawn += 1;
          // What is left out is an empty box.
          fill(left, up, right, low, without.size > 0 && without.has(value) ? pagePixel : color);
          const line = Math.max(1, Math.floor(ratio));
          if (right - left > 3 * line && low - up > 3 * line) {
            const dark = isFaded ? hatchPixel : edgesOf[category];
            fill(left, up, right, up + line, dark);
            fill(left, low - line, right, low, dark);
            if (edge.left >= 0) fill(left, up, left + line, low, model.continues[value] && !isFaded ? seams[category] : dark);
            if (edge.right <= panelWidth && !model.continued[value]) fill(right - line, up, right, low, dark);
          }
          if (right - left > 26 * ratio && low - up > 12 * ratio && labels < labelled.length) labelled[labels++] = value;
        }
        drawOverlaps(place, perStep);
      }
    }
    context.putImageData(image, Math.round(gutter * ratio), Math.round(ABOVE * ratio));
    return labels;
  }

  /** The steps at which two values share bytes, in the colours of both. @param {number} place @param {number} perStep */
  function drawOverlaps(place, perStep) {
    const { categories, matches, without } = scene;
    const pairs = model.overlapsOf(place);
    for (let at = 0; at < pairs.length; at += 2) {
      const [under, over] = [pairs[at], pairs[at + 1]];
      if (start[over] >= seen.x1 || Math.min(end[under], end[over]) <= seen.x0 || without.has(under) || without.has(over)) continue;
      put(under, perStep);
      const { right, upper, lower } = edge;
      put(over, perStep);
      const [left, limit] = [Math.floor(within(edge.left, panelWidth)), Math.floor(within(Math.min(right, edge.right), panelWidth))];
      const [up, low] = [Math.floor(within(Math.max(upper, edge.upper), panelHeight)), Math.floor(within(Math.min(lower, edge.lower), panelHeight))];
      if (limit - left < 3 * ratio || low - up < 3 * ratio) continue;
      const same = categories.of[under] === categories.of[over];
      const isFaded = matches !== null && matches[under] === 0;
      stripe(left, up, limit, low, isFaded ? faded[categories.of[under]] : same ? seams[categories.of[under]] : fills[categories.of[under]]);
    }
  }

  /** Names in the rectangles in which they fit. @param {number} labels */
  function drawNames(labels) {
    context.save();
    context.beginPath();
    context.rect(gutter, ABOVE, width - gutter, room());
    context.clip();
    context.font = fonts.mono;
    context.textBaseline = 'top';
    const perStep = panelWidth / (seen.x1 - seen.x0);
    const wide = context.measureText('0').width;
    // The one that is drawn over the end of this one, where they share bytes, has its name there.
    let next = { left: Infinity, upper: 0, lower: 0 };
    for (let at = labels - 1; at >= 0; at -= 1) {
      const value = labelled[at];
      put(value, perStep);
      const left = Math.max(0, edge.left / ratio);
      const isUnder = next.left > left && next.upper < edge.lower && edge.upper < next.lower;
      const right = Math.min(width - gutter, edge.right / ratio, isUnder ? next.left : Infinity);
      next = { left, upper: edge.upper, lower: edge.lower };
      const fits = Math.floor((right - left - 8) / wide);
      if (fits < 2) continue;
      const upper = Math.max(0, edge.upper / ratio);
      const high = Math.min(room(), edge.lower / ratio) - upper;
      if (high < 12) continue;
      const isFaded = scene.matches !== null && scene.matches[value] === 0;
      context.fillStyle = isFaded || scene.without.has(value) ? css.quiet : inkOn(scene.categories.of[value]);
      const name = cut(model.label(value), fits);
      const y = high < 20 ? upper + (high - 10) / 2 : upper + 4;
      context.fillText(name, gutter + left + 4, ABOVE + y);
      if (high > 34) context.fillText(cut(human(bytes[value]), fits), gutter + left + 4, ABOVE + upper + 18);
    }
    context.restore();
  }

  /** A text of at most so many characters. @param {string} text @param {number} fits */
  const cut = (text, fits) => (text.length <= fits ? text : `${text.slice(0, Math.max(1, fits - 1))}…`);

  /** Steps or bytes at which the axis has a line. @param {number} from @param {number} to @param {number} most @param {number[]} bases */
  function ticks(from, to, most, bases) {
    const span = to - from;
    if (!(span > 0)) return [];
    const [base] = bases;
    let unit = base ** Math.floor(Math.log(span / most) / Math.log(base));
    unit = Math.max(1, [...bases.slice(1), base, base * base].map((factor) => unit * factor).find((it) => span / it <= most) ?? span);
    const found = [];
    for (let at = Math.max(0, Math.floor(from / unit) * unit); at < to && found.length < 40; at += unit) found.push(at);
    return found;
  }

  /** @param {[number, number][]} curve @param {number} scale @returns {Path2D} */
  function pathOf(curve, scale) {
    const path = new Path2D();
    const bottom = CURVE_TOP + CURVE;
    let begun = model.firstAfter(curve, seen.x0);
    let y = bottom - model.occupiedAt(curve, seen.x0) * scale;
    path.moveTo(gutter, y);
    const to = Math.min(seen.x1, steps);
    while (begun < curve.length && curve[begun][0] < to) {
      const column = x(curve[begun][0]);
      // Of what falls into one pixel the highest is drawn.
      let most = curve[begun][1];
      let last = most;
      for (begun += 1; begun < curve.length && curve[begun][0] < to && x(curve[begun][0]) < column + 0.5; begun += 1) {
        last = curve[begun][1];
        most = Math.max(most, last);
      }
      path.lineTo(column, y);
      path.lineTo(column, bottom - most * scale);
      y = bottom - last * scale;
      path.lineTo(column, y);
    }
    path.lineTo(x(to), y);
    return path;
  }

  function drawCurve() {
    const { curve, peak, before } = scene;
    const space = model.spaces.find(({ color }) => color === scene.color);
    const most = Math.max(1, peak?.occupied_bytes ?? 0, space?.peak?.occupied_bytes ?? 0);
    const scale = (CURVE - 4) / most;
    const bottom = CURVE_TOP + CURVE;
    context.font = fonts.small;
    context.textBaseline = 'middle';
    context.textAlign = 'right';
    const power = 1024 ** Math.floor(Math.log(most) / Math.log(1024));
    for (const at of ticks(0, most / power, 4, [10, 2, 5])) {
      const y = Math.round(bottom - at * power * scale) + 0.5;
      context.strokeStyle = css.line;
      context.lineWidth = 1;
      line(gutter, y, width, y);
      context.fillStyle = css.quiet;
      context.fillText(human(at * power), gutter - 6, y);
    }
    context.save();
    context.beginPath();
    context.rect(gutter, 0, width - gutter, bottom + 2);
    context.clip();
    if (before !== null) {
      context.strokeStyle = css.quiet;
      context.lineWidth = 1.5;
      context.setLineDash([5, 4]);
      context.stroke(pathOf(before, scale));
      context.setLineDash([]);
    }
    const path = pathOf(curve, scale);
    context.strokeStyle = css.select;
    context.lineWidth = 1.5;
    context.stroke(path);
    path.lineTo(x(Math.min(seen.x1, steps)), bottom);
    path.lineTo(x(Math.max(seen.x0, 0)), bottom);
    context.globalAlpha = 0.18;
    context.fillStyle = css.select;
    context.fill(path);
    context.restore();
    context.globalAlpha = 1;
  }

  /** @param {number} fromX @param {number} fromY @param {number} toX @param {number} toY */
  function line(fromX, fromY, toX, toY) {
    context.beginPath();
    context.moveTo(fromX, fromY);
    context.lineTo(toX, toY);
    context.stroke();
  }

  /** A line at a step through everything. @param {number} step @param {number} from @param {string} color @param {number[]} dash */
  function markLine(step, from, color, dash) {
    const at = x(step + 0.5);
    if (at < gutter - 1 || at > width + 1) return;
    context.strokeStyle = color;
    context.lineWidth = 1.5;
    context.setLineDash(dash);
    line(at, from, at, height - BELOW);
    context.setLineDash([]);
  }
  /** What such a line is, above it. @param {number} step @param {string} text @param {number} y @param {string} color */
  function markText(step, text, y, color) {
    const at = x(step + 0.5);
    if (at < gutter - 1 || at > width + 1) return;
    context.font = fonts.small;
    context.textBaseline = 'middle';
    context.textAlign = 'left';
    const wide = context.measureText(text).width;
    const left = Math.max(4, Math.min(at - 4, width - 4 - wide));
    context.fillStyle = css.page;
    context.fillRect(left - 3, y - 8, wide + 6, 16);
    context.fillStyle = color;
    context.fillText(text, left, y);
  }

  function drawMarks() {
    const { peak, before } = scene;
    // What the compiler prints is of all memory spaces: another one may have its peak elsewhere.
    const printed = model.data.xla_peak;
    const isSame = printed !== null && printed.step === peak?.step;
    if (peak !== null) markLine(peak.step, 17, css.peak, []);
    if (printed !== null && !isSame) markLine(printed.step, 35, css.quiet, [2, 3]);
    if (printed !== null && !isSame) markText(printed.step, `XLA's (peak): step ${printed.step}`, 27, css.quiet);
    if (peak === null) return;
    const what = before === null ? 'true peak' : 'peak that remains';
    markText(peak.step, `${what} ${buflensMapText.moment(peak)}${isSame ? ", XLA's (peak) too" : ''}`, 9, css.peak);
  }

  function drawSteps() {
    const y = height - BELOW;
    context.font = fonts.small;
    context.textBaseline = 'top';
    context.textAlign = 'center';
    const perStep = (width - gutter) / (seen.x1 - seen.x0);
    const isNamed = perStep > 44;
    for (const step of ticks(seen.x0, Math.min(seen.x1, steps), isNamed ? 40 : Math.max(2, (width - gutter) / 80), [10, 2, 5])) {
      // In the middle of what is seen of the step.
      const [left, right] = [Math.max(gutter, x(step)), Math.min(width, x(step + 1))];
      const at = (left + right) / 2;
      if (at < gutter || at > width || (isNamed && right - left < 24)) continue;
      context.fillStyle = css.text;
      context.fillText(String(step), Math.min(at, width - 3 * String(step).length - 2), y + 5);
      if (!isNamed) continue;
      context.font = fonts.mono;
      context.fillStyle = css.quiet;
      context.fillText(cut(model.instruction(step), Math.floor((right - left - 4) / 6.7)), at, y + 20);
      context.font = fonts.small;
    }
    context.textAlign = 'right';
    context.fillStyle = css.quiet;
    context.fillText('step', gutter - 6, y + 5);
  }

  /** What an allocation is called: `6 temp 645.7 MiB`. @param {MapRow} row */
  function title(row) {
    const size = human(row.bytes);
    if (row.isGathered) return `▸ ${buflensMapText.grouped(row.allocations.length)} ${row.kind}s ${size}`;
    const [place] = row.allocations;
    const { allocation, kind, parameter } = allocations[place];
    return `${allocation} ${kind}${parameter === null ? '' : ` ${parameter}`} ${size}`;
  }
  /** Bytes of a panel that nothing holds at the peak. @param {MapRow} row */
  const idleBytes = (row) => row.allocations.reduce((sum, place) => sum + allocations[place].bytes - (allocations[place].at_peak_bytes ?? allocations[place].bytes), 0);

  function drawLabels() {
    context.save();
    context.beginPath();
    context.rect(0, ABOVE, gutter, room());
    context.clip();
    context.font = fonts.small;
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    for (const row of scene.layout.rows) {
      const upper = Math.max(0, (row.y - seen.y0) * seen.zoom);
      const lower = Math.min(room(), (row.y + row.height - seen.y0) * seen.zoom);
      if (lower - upper < 12) continue;
      const notes = [];
      const [place] = row.allocations;
      if (!row.isGathered && allocations[place].is_donated) notes.push('donated');
      const free = idleBytes(row);
      if (free > 0) notes.push(`${human(free)} idle at peak`);
      const shown = notes.slice(0, Math.floor((lower - upper - 14) / 14));
      const y = ABOVE + (upper + lower) / 2 - 7 * shown.length;
      context.fillStyle = css.text;
      context.fillText(title(row), gutter - 6, y, gutter - 10);
      context.fillStyle = css.quiet;
      shown.forEach((note, at) => {
        context.fillText(note, gutter - 6, y + 14 * (at + 1), gutter - 10);
      });
    }
    context.restore();
  }

  function drawSelected() {
    if (scene.selected === null || model.colorOf(scene.selected) !== scene.color) return;
    const box = boxOf(scene.selected);
    context.save();
    context.beginPath();
    context.rect(gutter - 2, ABOVE - 2, width - gutter + 2, room() + 4);
    context.clip();
    context.lineWidth = 4;
    context.strokeStyle = css.page;
    context.strokeRect(box.left - 1, box.top - 1, box.width + 2, box.height + 2);
    context.lineWidth = 2;
    context.strokeStyle = css.text;
    context.strokeRect(box.left - 1, box.top - 1, box.width + 2, box.height + 2);
    context.restore();
  }

  /** Where a value is on the canvas, in CSS pixels; cut off at the edges of the panels. @param {number} value */
  function boxOf(value) {
    put(value, panelWidth / (seen.x1 - seen.x0));
    const left = gutter + within(edge.left / ratio, width - gutter);
    const upper = ABOVE + within(edge.upper / ratio, room());
    return {
      left, top: upper,
      width: Math.max(1, gutter + within(edge.right / ratio, width - gutter) - left),
      height: Math.max(1, ABOVE + within(edge.lower / ratio, room()) - upper),
    };
  }

  function draw() {
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = css.page;
    context.fillRect(0, 0, canvas.width, canvas.height);
    const labels = drawPanels();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.textAlign = 'left';
    drawNames(labels);
    drawCurve();
    drawSteps();
    drawLabels();
    drawMarks();
    drawSelected();
  }

  /** What is at a place of the canvas, in CSS pixels. @param {number} atX @param {number} atY */
  function at(atX, atY) {
    const step = seen.x0 + ((atX - gutter) / (width - gutter)) * (seen.x1 - seen.x0);
    const isCurve = atY >= CURVE_TOP - 10 && atY < ABOVE - 6;
    const y = (atY - ABOVE) / seen.zoom + seen.y0;
    const isPanel = atY >= ABOVE && atY < height - BELOW;
    const row = isPanel ? scene.layout.rows.find((it) => y >= it.y && y < it.y + it.height) : undefined;
    /** @type {number[]} */
    const values = [];
    let place = -1;
    for (const candidate of atX < gutter ? [] : (row?.allocations ?? [])) {
      const { bottom, scale } = scene.layout;
      const upper = bottom[candidate] - allocations[candidate].bytes * scale[candidate];
      const slack = 0.6 / seen.zoom;
      if (y < upper - slack || y >= bottom[candidate] + slack) continue;
      if (y >= upper && y < bottom[candidate]) place = candidate;
      const byte = (bottom[candidate] - y) / scale[candidate];
      const [from, to] = model.between(candidate, step, step + 1e-9);
      const near = slack / scale[candidate];
      for (let at = from; at < to; at += 1) {
        const value = order[at];
        if (start[value] <= step && end[value] > step && offset[value] <= byte + near && top[value] >= byte - near) values.push(value);
      }
      // Exactly there goes before nearly there, what was drawn last before what is below it.
      const isExact = (/** @type {number} */ value) => (offset[value] <= byte && top[value] > byte ? 1 : 0);
      values.sort((a, b) => isExact(b) - isExact(a) || start[b] - start[a] || bytes[a] - bytes[b]);
    }
    return { step: Math.floor(step), isCurve: isCurve && atX >= gutter, isGutter: atX < gutter, row, place, values };
  }

  /** @param {Partial<MapScene>} change */
  function setScene(change) {
    if (change.color !== undefined) {
      inScene = 0;
      for (const value of order) if (model.colorOf(value) === change.color) inScene += 1;
    }
    scene = { ...scene, ...change };
  }

  /** Keeps the seen where there is something to see. */
  function clamp() {
    const span = Math.min(Math.max(seen.x1 - seen.x0, Math.min(steps, 1)), steps);
    seen.x0 = within(seen.x0, steps - span);
    seen.x1 = seen.x0 + span;
    const whole = Math.min(1, room() / scene.layout.height);
    seen.zoom = Math.min(Math.max(seen.zoom, whole), 1e6);
    seen.y0 = within(seen.y0, Math.max(0, scene.layout.height - room() / seen.zoom));
  }

  return {
    seen, counts, steps, setScene, setTheme, resize, draw, at, boxOf, room, clamp, title, idleBytes, x,
    scene: () => scene,
    /** CSS colour of a category. @param {number} category */
    colour: (category) => `rgb(${palette[category].join(' ')})`,
    /** Where the panels are, in CSS pixels. */
    area: () => ({ left: gutter, top: ABOVE, width: width - gutter, height: room(), curve: CURVE_TOP }),
  };
}
