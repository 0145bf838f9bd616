// Values of counters as text, and their curves.

import type { CounterCurves } from '../../api/types';
import { bytes, count, duration, real } from '../../base/units';

export type Counter = CounterCurves['counters'][number];

/** `1,460 B`, `0.25`, `12.3 MB`, `660 ms`: whole numbers up to a million in full. */
export function valueText(value: number, unit: string): string {
  if (unit === 'ns') return duration(value);
  if (unit === 'B' || unit === 'bytes') return bytes(value);
  if (unit === 'B/s') return `${bytes(Math.round(value))}/s`;
  const text = Number.isInteger(value) && Math.abs(value) < 1e6 ? count(value) : scaled(value);
  return unit === '' ? text : `${text} ${unit}`;
}

/** A counter's change per second: `1.20 MB/s`, `0.66 s/s`. */
export function rateText(perSecond: number, unit: string): string {
  if (unit === 'ns') return `${real(perSecond / 1e9)} s/s`;
  if (unit === 'B' || unit === 'bytes') return `${bytes(perSecond)}/s`;
  return unit === '' ? `${scaled(perSecond)}/s` : `${scaled(perSecond)} ${unit}/s`;
}

/** Counters of one domain, in order of appearance; each of the program's sockets is a group of its own. */
export interface Section {
  domain: string;
  counters: Counter[];
}

/** The counters by domain. */
export function sections(counters: readonly Counter[]): Section[] {
  const found = new Map<string, Counter[]>();
  for (const counter of counters) found.set(counter.domain, [...(found.get(counter.domain) ?? []), counter]);
  return [...found].map(([domain, of]) => ({ domain, counters: of }));
}

/** Domain of the total throughput of the program's sockets: it belongs to no single process, nor to the machine. */
const ALL_SOCKETS = 'Sockets';

/** Whether a counter belongs to the machine and not to the program. */
export function isOfMachine({ process, domain }: Counter): boolean {
  return process === '' && domain !== ALL_SOCKETS;
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

/** Whether to draw the rate: for sums that never decrease. */
export function isRate({ kind, grows }: Counter): boolean {
  return kind === 'sum' && grows;
}

/** The curve of a counter: its rate if it only grows, else its values. `low` is the bottom of the scale. */
export function curveOf(counter: Counter): { mean: number[]; peak: number[]; low: number; high: number } {
  if (isRate(counter)) {
    const low = Math.min(0, ...counter.rate);
    return { mean: counter.rate, peak: counter.rate, low, high: Math.max(low + 1e-9, ...counter.rate) };
  }
  const [least, most] = counter.range;
  const low = Math.min(0, least);
  const known = (values: readonly (number | null)[]) => values.map((value) => value ?? low);
  return { mean: known(counter.mean), peak: known(counter.peak), low, high: Math.max(most, low + 1e-9) };
}

/** The counter's name, with its process if another process has a counter of that name in the same domain. */
export function nameOf(counter: Counter, all: readonly Counter[]): string {
  const { name, domain, process } = counter;
  const others = all.filter((other) => other.name === name && other.domain === domain && other.process !== process);
  const pid = /\((\d+)\)$/.exec(process)?.[1];
  return others.length > 0 && pid ? `${name} (${pid})` : name;
}

/** Whether a counter was ever different from zero. */
export function isSilent({ range: [least, most] }: Counter): boolean {
  return least === 0 && most === 0;
}

/** Value and rate in the column at a time; null before the first value. */
export function at(
  { from, to }: CounterCurves,
  counter: Counter,
  time: number,
): { value: number; rate: number } | null {
  const bin = Math.floor(((time - from) / Math.max(to - from, 1)) * counter.last.length);
  const value = counter.last[bin];
  return value === null || value === undefined ? null : { value, rate: counter.rate[bin] ?? 0 };
}
