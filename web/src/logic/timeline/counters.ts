// Values of counters as text.

import { count, real } from '../../base/units';

/** `1,460 B`, `0.25`, `12.3 MB`: whole numbers up to a million in full. */
export function valueText(value: number, unit: string): string {
  const text = Number.isInteger(value) && Math.abs(value) < 1e6 ? count(value) : scaled(value);
  return unit === '' ? text : `${text} ${unit}`;
}

/** Per second: `1.2 k B/s`, without a unit `12 /s`. */
export function rateText(perSecond: number, unit: string): string {
  return `${scaled(perSecond)} ${unit}/s`;
}

const PREFIXES: [string, number][] = [
  ['', 1],
  ['k', 1e3],
  ['M', 1e6],
  ['G', 1e9],
];

function scaled(value: number): string {
  const size = Math.abs(value);
  const [prefix, scale] = PREFIXES.find(([, scale]) => size / scale < 999.5) ?? ['G', 1e9];
  return `${real(value / scale)}${prefix === '' ? '' : ` ${prefix}`}`;
}
