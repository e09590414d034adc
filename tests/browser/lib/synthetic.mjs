// A compilation that nobody made: `count` values in one temp allocation over as many steps, packed first fit, and one parameter.

/** What `buflens map --format json` would write of it. The same for the same count. */
export function synthetic(count) {
  let state = 12345;
  const random = () => (state = (state * 1103515245 + 12345) % 2 ** 31) / 2 ** 31;
  const values = { id: [], name: [], index: [], allocation: [], offset: [], bytes: [], logical_bytes: [], start: [], last: [], end: [], shape: [], opcode: [], op_name: [], source: [] };
  const texts = ['{}', 'f32[1024]{0}', 'fusion', 'copy', 'dot', ...Array.from({ length: 20 }, (_, layer) => `jit(f)/layer_${layer}/dot_general`), 'model.py:12'];
  const lanes = new Float64Array(140);
  const unit = 4096;
  for (let value = 0; value < count; value += 1) {
    const lane = lanes.findIndex((free) => free <= value);
    const at = lane < 0 ? value % lanes.length : lane;
    const length = Math.min(count - value, 1 + Math.floor(random() ** 3 * 400));
    lanes[at] = value + length;
    texts.push(`fusion.${value}`);
    const bytes = Math.ceil(random() * unit);
    const rows = { id: value, name: texts.length - 1, index: 0, allocation: 0, offset: at * unit, bytes, logical_bytes: bytes, start: value, last: value + length - 1, end: value + length - 1, shape: 1, opcode: 2 + (value % 3), op_name: 5 + Math.floor((20 * value) / count), source: 25 };
    for (const [name, entry] of Object.entries(rows)) values[name].push(entry);
  }
  const allocation = { allocation: 0, space: 0, kind: 'temp', parameter: null, is_donated: false, bytes: lanes.length * unit, fullest: null, at_peak_bytes: null };
  const instructions = values.name;
  return {
    schema: 1, module: 'synthetic', platform: 'tpu', reason: null, steps: count, instructions,
    spaces: [{ color: 0, name: 'HBM', reserved_bytes: allocation.bytes, thread_local_bytes: 0, padding_bytes: 0, ...curveOf(values, texts) }],
    xla_peak: null, allocations: [allocation], values, values_left_out: 0, missing_live_ranges: 0, missing_bytes: 0, texts,
  };
}

/** No two values share bytes at a step, but where lanes ran out; these few do not matter for a picture. */
function curveOf({ start, last, bytes, name }, texts) {
  const changes = new Map();
  const add = (step, by) => changes.set(step, (changes.get(step) ?? 0) + by);
  start.forEach((step, value) => {
    add(step, bytes[value]);
    if (last[value] + 1 < start.length) add(last[value] + 1, -bytes[value]);
  });
  let occupied = 0;
  let peak = { step: 0, instruction: '', occupied_bytes: -1 };
  const curve = [...changes].sort((a, b) => a[0] - b[0]).map(([step, by]) => {
    occupied += by;
    if (occupied > peak.occupied_bytes) peak = { step, instruction: texts[name[step]], occupied_bytes: occupied };
    return [step, occupied];
  });
  return { curve, peak };
}
