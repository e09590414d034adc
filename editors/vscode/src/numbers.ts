// Numbers as people read them, in the words of the server's hovers.

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

/** So many digits behind the point; halves go to the even one, as the server has them. */
export function fixed(amount: number, digits: number): string {
  const isHalf = (amount * 2 ** (digits + 1)) % 2 === 1;
  const below = Math.floor(amount * 10 ** digits);
  return (isHalf ? (below + (below % 2)) / 10 ** digits : amount).toFixed(digits);
}

/** `325.0 MiB`, `1.25 GiB`. */
export function bytes(count: number): string {
  if (Math.abs(count) < 1024) return `${count.toString()} B`;
  let [amount, unit] = [Math.abs(count) / 1024, 0];
  while (amount >= 1023.95 && unit < UNITS.length - 1) {
    amount /= 1024;
    unit += 1;
  }
  return `${count < 0 ? '-' : ''}${fixed(amount, unit < 2 ? 1 : 2)} ${UNITS[unit] ?? ''}`;
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
  return whole === 0 ? '0 %' : `${fixed((100 * part) / whole, 1)} %`;
}

/** `1 value`, `2 values`. */
export function counted(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`;
}
