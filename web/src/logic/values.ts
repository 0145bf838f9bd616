// Values of tables: the text of each kind, and the length of its bar.

import { CLASSES, type Class } from '../base/palette';
import { word } from '../base/texts';
import { count, duration, percent, real } from '../base/units';

export type ByClass = Record<Class, number>;
/** Times by name, the largest first. */
export type Parts = Record<string, number>;
export type Kind =
  | 'text'
  | 'count'
  | 'ns'
  | 'fraction'
  | 'real'
  | 'by_class'
  | 'histogram'
  | 'parts'
  | 'stack'
  | 'rows';

export function isByClass(value: unknown): value is ByClass {
  return typeof value === 'object' && value !== null && CLASSES.every((name) => name in value);
}

export function isParts(value: unknown): value is Parts {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject && Object.values(value).every((part) => typeof part === 'number');
}

/** The kind of a column, by the ending of its id (docs/reports.md), or by one of its values. */
export function kindOf(id: string, value?: unknown): Kind {
  if (id.endsWith('_by_class') || isByClass(value)) return 'by_class';
  if (id.endsWith('_ns')) return 'ns';
  if (id.startsWith('histogram_')) return 'histogram';
  if (id === 'stack' || id.endsWith('_stack')) return 'stack';
  if (id === 'share' || id.endsWith('_share') || id === 'cpu_utilization') return 'fraction';
  if (id.startsWith('avg_')) return 'real';
  if (typeof value === 'number') return Number.isInteger(value) ? 'count' : 'real';
  return Array.isArray(value) ? 'rows' : 'text';
}

/** Whether a column has lengths of single intervals, such as the longest, and not sums: bars would compare nothing. */
export function isLength(id: string): boolean {
  return /^(max|min|mean|median|p\d+)_/.test(id);
}

/** Whether numbers of this kind are right-aligned and can have bars. */
export function isNumeric(kind: Kind): boolean {
  return (
    kind === 'count' ||
    kind === 'ns' ||
    kind === 'fraction' ||
    kind === 'real' ||
    kind === 'by_class' ||
    kind === 'parts'
  );
}

/** The number of a value: the sum of its classes or parts, or itself; null for text and unknown values. */
export function amount(value: unknown): number | null {
  if (typeof value === 'number') return value;
  return isParts(value) ? Object.values(value).reduce((sum, part) => sum + part, 0) : null;
}

/** The value as text; empty for an unknown value. */
export function asText(kind: Kind, value: unknown): string {
  if (value === null || value === undefined) return '';
  if (kind === 'stack' && Array.isArray(value)) return value.map(String).join(' ← ');
  const number = amount(value);
  if (number === null) return typeof value === 'object' ? '' : String(value);
  switch (kind) {
    case 'ns':
    case 'by_class':
    case 'parts':
      return number === 0 ? '0' : duration(number);
    case 'count':
      return count(number);
    case 'fraction':
      return percent(number);
    case 'real':
      return real(number);
    default:
      return String(number);
  }
}

/** The parts of a stacked bar, as fractions of `full`; classes without time are left out. */
export function barParts(value: ByClass, full: number): { name: Class; fraction: number }[] {
  if (full <= 0) return [];
  return CLASSES.map((name) => ({ name, fraction: value[name] / full })).filter(({ fraction }) => fraction > 0);
}

/** `Delayed ACK 1.65 s (91 %)`, one for each part. */
export function partTexts(parts: Parts): string[] {
  const whole = amount(parts) ?? 0;
  const share = (ns: number) => percent(whole > 0 ? ns / whole : 0);
  return Object.entries(parts).map(([name, ns]) => `${word('cause', name)} ${duration(ns)} (${share(ns)})`);
}

/** A field of CSV, quoted where RFC 4180 wants it. */
export function csvField(value: unknown): string {
  const plain = Array.isArray(value)
    ? value.map(String).join(';')
    : value === null || value === undefined
      ? ''
      : String(value);
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
