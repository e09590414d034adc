// @ts-check
// The memory map without its picture: places, occupied bytes, what lies over what. Nothing here needs a browser.

/**
 * @typedef {{step: number, instruction: string | null, occupied_bytes: number}} MapMoment
 * @typedef {{color: number, name: string, reserved_bytes: number, peak: MapMoment | null, curve: [number, number][]}} MapSpace
 * @typedef {{allocation: number, space: number, kind: string, parameter: number | null, is_donated: boolean, bytes: number,
 *   fullest: [number, number] | null, at_peak_bytes: number | null}} MapAllocation
 * @typedef {{id: number[], name: number[], index: number[], allocation: number[], offset: number[], bytes: number[],
 *   logical_bytes: (number | null)[], start: number[], last: number[], end: number[], shape: (number | null)[], opcode: (number | null)[],
 *   op_name: (number | null)[], source: (number | null)[]}} MapValues
 * @typedef {{module: string, platform: string, reason: string | null, steps: number | null, instructions: number[], spaces: MapSpace[],
 *   xla_peak: {step: number} | null, allocations: MapAllocation[], values: MapValues, values_left_out: number,
 *   missing_live_ranges: number | null, missing_bytes: number | null, texts: string[]}} MapData What `buflens map --format json` writes.
 */
/**
 * @typedef {'kind' | 'op_name' | 'opcode' | 'source'} MapColouring
 * @typedef {{of: Uint8Array, names: string[], bytes: number[]}} MapCategories For each value the place of its category, and of
 *   each category its name and its bytes at the peak.
 * @typedef {{allocations: number[], kind: string, y: number, height: number, bytes: number, isGathered: boolean}} MapRow
 *   One panel, or several that are too small for their own. `y` is its upper edge, in pixels before any zoom.
 * @typedef {{rows: MapRow[], height: number, bottom: Float64Array, scale: Float64Array}} MapLayout For each allocation the lower
 *   edge of its panel, and its pixels for a byte.
 * @typedef {{curve: [number, number][], peak: MapMoment | null}} MapOccupancy
 */
/** @typedef {ReturnType<typeof buflensMapModel>} MapModel */

/**
 * The values of a map, by allocation and then in the order of time.
 * @param {MapData} data
 */
function buflensMapModel(data) {
  const { values, allocations, texts } = data;
  const count = values.id.length;
  const kinds = ['temp', 'output', 'parameter', 'constant'];
  /** Pixels that a label needs. */
  const FLOOR = 17;
  /** Pixels between panels. */
  const GAP = 4;
  /** Categories with a colour of their own. */
  const COLOURED = 7;

  const offset = Float64Array.from(values.offset);
  const bytes = Float64Array.from(values.bytes);
  const top = offset.map((from, value) => from + bytes[value]);
  const start = Float64Array.from(values.start);
  /** The step after the last. */
  const end = Float64Array.from(values.last, (last) => last + 1);
  const allocation = Uint32Array.from(values.allocation);

  // Drawn in this order: what begins later lies over what began before, the small over the large.
  const order = Uint32Array.from({ length: count }, (_, value) => value).sort(
    (a, b) => allocation[a] - allocation[b] || start[a] - start[b] || bytes[b] - bytes[a] || a - b,
  );
  /** Where the values of each allocation begin in `order`. */
  const first = new Uint32Array(allocations.length + 1);
  for (const place of allocation) first[place + 1] += 1;
  for (let place = 0; place < allocations.length; place += 1) first[place + 1] += first[place];
  /** The latest end of all values of the allocation up to here; never falls, so that it can be searched. */
  const latest = new Float64Array(count);
  for (let place = 0; place < allocations.length; place += 1) {
    for (let at = first[place], most = 0; at < first[place + 1]; at += 1) {
      most = Math.max(most, end[order[at]]);
      latest[at] = most;
    }
  }
  const byId = new Map(values.id.map((id, value) => [id, value]));
  const spaces = [...data.spaces].sort((a, b) => a.color - b.color);

  /** @param {number | null | undefined} place */
  const text = (place) => (place === null || place === undefined ? null : (texts[place] ?? null));
  /** `copy-start{0}`; the index `{}` is left out. @param {number} value */
  const label = (value) => {
    const index = text(values.index[value]) ?? '';
    return (text(values.name[value]) ?? '?') + (index === '{}' ? '' : index);
  };
  /** @param {number} step */
  const instruction = (step) => text(data.instructions[step]) ?? '';
  /** @param {number} value */
  const colorOf = (value) => allocations[allocation[value]].space;

  /** The places in `order` that may be seen between two steps, as [from, to). @param {number} place @param {number} from @param {number} to */
  function between(place, from, to) {
    return [search(latest, first[place], first[place + 1], from), firstAt(first[place], first[place + 1], to)];
  }
  /** The first place whose number is more than `than`. @param {Float64Array} numbers @param {number} low @param {number} high @param {number} than */
  function search(numbers, low, high, than) {
    while (low < high) {
      const middle = (low + high) >> 1;
      if (numbers[middle] > than) high = middle;
      else low = middle + 1;
    }
    return low;
  }
  /** The first place whose value does not begin before `step`. @param {number} low @param {number} high @param {number} step */
  function firstAt(low, high, step) {
    while (low < high) {
      const middle = (low + high) >> 1;
      if (start[order[middle]] >= step) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Where ranges of bytes begin and end, sorted, each once. @param {ArrayLike<number>} some */
  function edges(some) {
    const all = new Float64Array(2 * some.length);
    for (let at = 0; at < some.length; at += 1) {
      all[2 * at] = offset[some[at]];
      all[2 * at + 1] = top[some[at]];
    }
    all.sort();
    let kept = 0;
    for (let at = 0; at < all.length; at += 1) if (at === 0 || all[at] !== all[at - 1]) all[kept++] = all[at];
    return all.subarray(0, kept);
  }
  /** The place of a number that is there. @param {Float64Array} numbers @param {number} number */
  const placeIn = (numbers, number) => search(numbers, 0, numbers.length, number) - 1;

  /** Counts covers of ranges: a tree over the pieces between edges. @param {Float64Array} cuts */
  function cover(cuts) {
    const pieces = Math.max(1, cuts.length - 1);
    const covers = new Int32Array(4 * pieces);
    const covered = new Float64Array(4 * pieces);
    /** @param {number} node @param {number} low @param {number} high @param {number} from @param {number} to @param {number} by */
    const change = (node, low, high, from, to, by) => {
      if (from <= low && high <= to) covers[node] += by;
      else {
        const middle = (low + high) >> 1;
        if (from < middle) change(2 * node, low, middle, from, to, by);
        if (to > middle) change(2 * node + 1, middle, high, from, to, by);
      }
      if (covers[node] > 0) covered[node] = cuts[high] - cuts[low];
      else covered[node] = high - low === 1 ? 0 : covered[2 * node] + covered[2 * node + 1];
    };
    return {
      /** @param {number} value @param {number} by 1 or -1 */
      change(value, by) {
        if (bytes[value] > 0) change(1, 0, pieces, placeIn(cuts, offset[value]), placeIn(cuts, top[value]), by);
        return covered[1];
      },
    };
  }

  /**
   * The bytes of an allocation that are occupied, from the steps on at which they change.
   * @param {number} place @param {Set<number>} [without] values
   * @returns {[number, number][]}
   */
  function curveOf(place, without) {
    const some = order.subarray(first[place], first[place + 1]).filter((value) => !without?.has(value));
    const ends = some.slice().sort((a, b) => end[a] - end[b]);
    const tree = cover(edges(some));
    /** @type {[number, number][]} */
    const curve = [];
    let occupied = 0;
    for (let begun = 0, ended = 0; ended < ends.length; ) {
      const step = Math.min(begun < some.length ? start[some[begun]] : Infinity, end[ends[ended]]);
      for (; ended < ends.length && end[ends[ended]] === step; ended += 1) occupied = tree.change(ends[ended], -1);
      for (; begun < some.length && start[some[begun]] === step; begun += 1) occupied = tree.change(some[begun], 1);
      if (step < (data.steps ?? 0)) curve.push([step, occupied]);
    }
    return curve;
  }

  /**
   * The occupied bytes of a memory space if some values were not there.
   * @param {number} color @param {Set<number>} without values
   * @returns {MapOccupancy}
   */
  function occupancy(color, without) {
    const space = spaces.find((it) => it.color === color);
    if (space === undefined) return { curve: [], peak: null };
    const touched = new Set([...without].filter((value) => colorOf(value) === color).map((value) => allocation[value]));
    if (touched.size === 0) return { curve: space.curve, peak: space.peak };
    /** @type {Map<number, number>} */
    const changes = new Map();
    /** @param {[number, number][]} curve @param {number} sign */
    const add = (curve, sign) => {
      let before = 0;
      for (const [step, occupied] of curve) {
        changes.set(step, (changes.get(step) ?? 0) + sign * (occupied - before));
        before = occupied;
      }
    };
    add(space.curve, 1);
    for (const place of touched) {
      add(curveOf(place), -1);
      add(curveOf(place, without), 1);
    }
    let occupied = 0;
    /** @type {MapMoment | null} */
    let peak = null;
    const curve = [...changes.entries()].sort((a, b) => a[0] - b[0]);
    for (const change of curve) {
      occupied += change[1];
      change[1] = occupied;
      if (peak === null || occupied > peak.occupied_bytes) peak = { step: change[0], instruction: instruction(change[0]), occupied_bytes: occupied };
    }
    return { curve, peak };
  }

  /** The place of the first change behind a step. @param {[number, number][]} curve @param {number} step */
  function firstAfter(curve, step) {
    let [low, high] = [0, curve.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (curve[middle][0] > step) high = middle;
      else low = middle + 1;
    }
    return low;
  }
  /** The bytes on a curve at a step. @param {[number, number][]} curve @param {number} step */
  const occupiedAt = (curve, step) => curve[firstAfter(curve, step) - 1]?.[1] ?? 0;

  /** @type {Map<number, Uint32Array>} */
  const overlaps = new Map();
  /** Whether a value holds the very same bytes as one that was alive until it began; and whether one goes on after it. */
  const continues = new Uint8Array(count);
  const continued = new Uint8Array(count);

  /**
   * Values of an allocation that share bytes at the same step: the earlier and the later one, in turn. Of each value only a few
   * that it overlaps are there, those alive longest: a loop's state may have thousands of names.
   * @param {number} place
   */
  function overlapsOf(place) {
    const known = overlaps.get(place);
    if (known !== undefined) return known;
    const some = order.subarray(first[place], first[place + 1]);
    const cuts = edges(some);
    const pieces = Math.max(1, cuts.length - 1);
    // In each node the value that ends last of those that cover it whole, and of all below it; 0 is none.
    const whole = new Uint32Array(4 * pieces);
    const below = new Uint32Array(4 * pieces);
    /** @param {number} a @param {number} b each a value + 1 */
    const later = (a, b) => (a === 0 ? b : b === 0 || end[a - 1] >= end[b - 1] ? a : b);
    /** @param {number} node @param {number} low @param {number} high @param {number} from @param {number} to @param {number} entry */
    const put = (node, low, high, from, to, entry) => {
      below[node] = later(entry, below[node]);
      if (from <= low && high <= to) {
        whole[node] = later(entry, whole[node]);
        return;
      }
      const middle = (low + high) >> 1;
      if (from < middle) put(2 * node, low, middle, from, to, entry);
      if (to > middle) put(2 * node + 1, middle, high, from, to, entry);
    };
    /** @param {number} node @param {number} low @param {number} high @param {number} from @param {number} to @returns {number} */
    const find = (node, low, high, from, to) => {
      if (from <= low && high <= to) return below[node];
      const middle = (low + high) >> 1;
      let best = whole[node];
      if (from < middle) best = later(find(2 * node, low, middle, from, to), best);
      if (to > middle) best = later(find(2 * node + 1, middle, high, from, to), best);
      return best;
    };
    /** @type {number[]} */
    const pairs = [];
    /** @param {number} value @param {number} from @param {number} to @param {number} left how many more may be looked for */
    const pair = (value, from, to, left) => {
      if (from >= to || left === 0) return;
      const entry = find(1, 0, pieces, from, to);
      if (entry === 0 || end[entry - 1] <= start[value]) return;
      pairs.push(entry - 1, value);
      pair(value, from, placeIn(cuts, offset[entry - 1]), left - 1);
      pair(value, placeIn(cuts, top[entry - 1]), to, left - 1);
    };
    /** @type {Map<string, number>} */
    const holders = new Map();
    for (const value of some) {
      if (bytes[value] === 0) continue;
      const [from, to] = [placeIn(cuts, offset[value]), placeIn(cuts, top[value])];
      pair(value, from, to, 3);
      put(1, 0, pieces, from, to, value + 1);
      const key = `${offset[value]} ${bytes[value]}`;
      const before = holders.get(key);
      if (before !== undefined && end[before] >= start[value]) {
        continues[value] = 1;
        continued[before] = 1;
      }
      if (before === undefined || end[before] <= end[value]) holders.set(key, value);
    }
    const found = Uint32Array.from(pairs);
    overlaps.set(place, found);
    return found;
  }

  /** The values that hold some of the same bytes, at any step, in the order of time. @param {number} value */
  function overSameBytes(value) {
    const place = allocation[value];
    return [...order.subarray(first[place], first[place + 1])].filter(
      (other) => other !== value && offset[other] < top[value] && top[other] > offset[value],
    );
  }

  /** The values of a memory space alive at a step, the largest first, each with the bytes not counted before. @param {number} color @param {number} step */
  function aliveAt(color, step) {
    /** @type {[number, number][]} */
    const alive = [];
    allocations.forEach((it, place) => {
      if (it.space !== color) return;
      const [from, to] = between(place, step, step + 1);
      const there = order.subarray(from, to).filter((value) => start[value] <= step && end[value] > step);
      there.sort((a, b) => bytes[b] - bytes[a] || a - b);
      const tree = cover(edges(there));
      let before = 0;
      for (const value of there) {
        const covered = tree.change(value, 1);
        alive.push([value, covered - before]);
        before = covered;
      }
    });
    return alive.sort((a, b) => bytes[b[0]] - bytes[a[0]]);
  }

  /** The trace paths' groups: as many levels below what all have in common as make at least three groups. */
  function pathGroups() {
    const paths = [...new Set(values.op_name)].flatMap((place) => {
      const path = text(place);
      return path?.includes('/') ? [path.split('/')] : [];
    });
    let common = 0;
    const [some] = paths;
    while (some !== undefined && common < some.length - 1 && paths.every((path) => path[common] === some[common])) common += 1;
    for (let depth = 1; ; depth += 1) {
      const groups = new Set(paths.map((path) => path.slice(common, common + depth).join('/')));
      if (groups.size >= 3 || depth === 3) {
        return (/** @type {string} */ path) =>
          // Without the parameters of an operation, and of an argument without its members.
          path.includes('/')
            ? path.split('/').slice(common, common + depth).join('/').replace(/(?<=\w)\[.*$/s, '') || path
            : (/^[^.[(]+/.exec(path)?.[0] ?? path);
      }
    }
  }

  /** What colours stand for. The categories with the most bytes at the peak come first, all that have no colour are one. @param {MapColouring} by @param {number} color @returns {MapCategories} */
  function categories(by, color) {
    const groupOf = by === 'op_name' ? pathGroups() : (/** @type {string} */ it) => it;
    /** @type {Map<number | null, string>} */
    const groups = new Map();
    /** @param {number} value */
    const nameOf = (value) => {
      if (by === 'kind') return allocations[allocation[value]].kind;
      const place = values[by][value] ?? null;
      const known = groups.get(place);
      if (known !== undefined) return known;
      const name = text(place);
      const group = name === null ? 'not known' : groupOf(name);
      groups.set(place, group);
      return group;
    };
    /** @type {Map<string, [number, number]>} */
    const weights = new Map(by === 'kind' ? kinds.map((kind) => [kind, [0, 0]]) : []);
    for (let value = 0; value < count; value += 1) {
      if (colorOf(value) !== color) continue;
      const weight = weights.get(nameOf(value)) ?? [0, 0];
      weight[1] = Math.max(weight[1], bytes[value]);
      weights.set(nameOf(value), weight);
    }
    const peak = spaces.find((it) => it.color === color)?.peak;
    for (const [value, own] of peak ? aliveAt(color, peak.step) : []) (weights.get(nameOf(value)) ?? [0, 0])[0] += own;
    const known = [...weights].filter(([name]) => name !== 'not known');
    if (by !== 'kind') known.sort(([, a], [, b]) => b[0] - a[0] || b[1] - a[1]);
    // A kind keeps its colour where there are none of another.
    const names = known.slice(0, COLOURED).map(([name, weight]) => (by === 'kind' && weight[1] === 0 ? '' : name));
    const sums = known.slice(0, COLOURED).map(([, weight]) => weight[0]);
    const rest = known.slice(COLOURED);
    const unknown = weights.get('not known');
    // The last place is grey, and stands for what has no colour.
    if (rest.length > 0 || unknown !== undefined) {
      const others = rest.length === 1 ? '1 other' : `${rest.length} others`;
      names[COLOURED] = [rest.length > 0 && others, unknown && 'not known'].filter(Boolean).join(', ');
      sums[COLOURED] = rest.reduce((sum, [, weight]) => sum + weight[0], unknown?.[0] ?? 0);
    }
    const places = new Map(known.slice(0, COLOURED).map(([name], place) => [name, place]));
    const of = new Uint8Array(count).map((_, value) => places.get(nameOf(value)) ?? COLOURED);
    return { of, names, bytes: sums };
  }

  /**
   * Panels for the allocations of a memory space. Heights are as the bytes, but what is large enough for a label has one, and
   * what is not is gathered with all of its kind, unless that kind is in `expanded`.
   * @param {number} color @param {number} height pixels there are @param {Set<string>} expanded
   * @returns {MapLayout}
   */
  function layout(color, height, expanded) {
    const here = allocations.map((_, place) => place).filter((place) => allocations[place].space === color && first[place + 1] > first[place]);
    /** @param {number[]} some */
    const sum = (some) => some.reduce((total, place) => total + allocations[place].bytes, 0);
    const total = sum(here);
    /** @type {MapRow[]} */
    const rows = [];
    for (const kind of [...kinds, null]) {
      const some = here.filter((place) => (kind === null ? !kinds.includes(allocations[place].kind) : allocations[place].kind === kind));
      some.sort((a, b) => allocations[b].bytes - allocations[a].bytes || a - b);
      const isSmall = (/** @type {number} */ place) => !(allocations[place].bytes * height >= total * FLOOR);
      const small = expanded.has(kind ?? '') ? [] : some.filter(isSmall);
      const own = small.length < 2 ? some : some.filter((place) => !isSmall(place));
      for (const place of own) rows.push({ allocations: [place], kind: kind ?? '', y: 0, height: 0, bytes: allocations[place].bytes, isGathered: false });
      if (small.length > 1) rows.push({ allocations: small, kind: kind ?? '', y: 0, height: 0, bytes: sum(small), isGathered: true });
    }
    // Those at the floor take theirs first; the others share what is left.
    let room = Math.max(0, height - GAP * (rows.length - 1));
    let shared = rows.reduce((all, row) => all + row.bytes, 0);
    for (const row of [...rows].sort((a, b) => a.bytes - b.bytes)) {
      row.height = Math.max(FLOOR, shared > 0 ? (room * row.bytes) / shared : 0);
      room = Math.max(0, room - row.height);
      shared -= row.bytes;
    }
    const bottom = new Float64Array(allocations.length);
    const scale = new Float64Array(allocations.length);
    let y = 0;
    for (const row of rows) {
      row.y = y;
      let at = y + row.height;
      for (const place of row.allocations) {
        bottom[place] = at;
        scale[place] = row.bytes > 0 ? row.height / row.bytes : 0;
        at -= allocations[place].bytes * scale[place];
      }
      y += row.height + GAP;
    }
    return { rows, height: Math.max(1, y - GAP), bottom, scale };
  }

  /**
   * The values of a memory space with a text, or `/a pattern/`, in their name, op_name, shape or source. Throws what is wrong
   * with the pattern.
   * @param {string} query @param {number} color
   */
  function find(query, color) {
    const pattern = /^\/(.+)\/$/.exec(query);
    const expression = pattern && new RegExp(pattern[1] ?? '', 'i');
    const lower = query.toLowerCase();
    /** @param {string} it */
    const matches = (it) => (expression ? expression.test(it) : it.toLowerCase().includes(lower));
    const matching = Uint8Array.from(texts, (it) => (matches(it) ? 1 : 0));
    /** @param {number | null} place */
    const has = (place) => place !== null && matching[place] === 1;
    return inTime(color).filter(
      (value) =>
        has(values.op_name[value]) || has(values.shape[value]) || has(values.source[value]) || has(values.name[value]) || matches(label(value)),
    );
  }

  /** The values of a memory space in the order of time. @param {number} color */
  function inTime(color) {
    return [...order].filter((value) => colorOf(value) === color).sort((a, b) => start[a] - start[b] || bytes[b] - bytes[a] || a - b);
  }

  return {
    data, count, spaces, allocations, values, offset, bytes, top, start, end, allocation, order, first, byId, continues, continued, COLOURED,
    text, label, instruction, colorOf, between, curveOf, occupancy, firstAfter, occupiedAt, overlapsOf, overSameBytes, aliveAt, categories, layout,
    find, inTime,
  };
}

/** Numbers as people read them, as the server writes them. */
const buflensMapText = {
  /** So many digits behind the point; halves go to the even one, as the server has them. @param {number} amount @param {number} digits */
  fixed(amount, digits) {
    const isHalf = (amount * 2 ** (digits + 1)) % 2 === 1;
    const below = Math.floor(amount * 10 ** digits);
    return (isHalf ? (below + (below % 2)) / 10 ** digits : amount).toFixed(digits);
  },
  /** `325.0 MiB`. @param {number} count */
  bytes(count) {
    if (Math.abs(count) < 1024) return `${count} B`;
    const units = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
    let [amount, unit] = [Math.abs(count) / 1024, 0];
    while (amount >= 1023.95 && unit < units.length - 1) {
      amount /= 1024;
      unit += 1;
    }
    return `${count < 0 ? '-' : ''}${buflensMapText.fixed(amount, unit < 2 ? 1 : 2)} ${units[unit]}`;
  },
  /** `340,787,200`. @param {number} count */
  grouped: (count) => count.toLocaleString('en-US'),
  /** `325.0 MiB (340,787,200 B)`. @param {number} count */
  exact: (count) => (Math.abs(count) < 1024 ? `${count} B` : `${buflensMapText.bytes(count)} (${buflensMapText.grouped(count)} B)`),
  /** `1 value`, `2 values`. @param {number} count @param {string} noun */
  counted: (count, noun) => `${buflensMapText.grouped(count)} ${noun}${count === 1 ? '' : 's'}`,
  /** `960.9 MiB at step 16, copy.4`. @param {MapMoment} moment */
  moment: ({ step, instruction, occupied_bytes }) =>
    `${buflensMapText.bytes(occupied_bytes)} at step ${step}${instruction ? `, ${instruction}` : ''}`,
};
