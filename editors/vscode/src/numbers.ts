// Numbers as people read them, in the words of the server's hovers.

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

/** `325.0 MiB`. */
export function bytes(count: number): string {
  let [amount, unit] = [Math.abs(count), 0];
  while (amount >= 1024 && unit < UNITS.length - 1) {
    amount /= 1024;
    unit += 1;
  }
  const sign = count < 0 ? '-' : '';
  return `${sign}${unit === 0 ? amount.toString() : amount.toFixed(1)} ${UNITS[unit] ?? ''}`;
}

/** `325.0 MiB (340,787,200 B)`. */
export function exactBytes(count: number): string {
  return Math.abs(count) < 1024 ? bytes(count) : `${bytes(count)} (${grouped(count)} B)`;
}

/** `340,787,200`. */
export function grouped(count: number): string {
  return count.toLocaleString('en-US');
}

/** `33.7 %`. */
export function percent(part: number, whole: number): string {
  return whole === 0 ? '0 %' : `${((100 * part) / whole).toFixed(1)} %`;
}

/** `1 value`, `2 values`. */
export function counted(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`;
}
