// The time axis: round steps, labels relative to the start of the collection. When steps are so short that labels would be
// rows of digits, the axis shows a base once and the labels count from it: "3.200 000 s" and "+20 ns".

import type { Viewport } from './viewport';
import { xOf } from './viewport';

const SECOND = 1e9;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** Steps above ten seconds are those of a clock. */
const CLOCK_STEPS = [15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 18_000, 36_000, 86_400].map((s) => s * SECOND);
/** Labels count from a base when the view starts this many steps after the start. */
const MANY_STEPS = 1e5;

export interface Tick {
  time: number;
  x: number;
  /** Null for a short line without a label. */
  text: string | null;
}

export interface Axis {
  step: number;
  /** The time that the labels count from, unless it is the start. */
  base: { time: number; text: string } | null;
  ticks: Tick[];
}

/** The shortest round step of at least `ns`: 1, 2, 5, 10, …; clock steps above ten seconds. */
export function roundStep(ns: number): number {
  if (ns > 10 * SECOND) return CLOCK_STEPS.find((step) => step >= ns) ?? Math.ceil(ns / (24 * HOUR)) * 24 * HOUR;
  const power = 10 ** Math.floor(Math.log10(Math.max(ns, 1)));
  // 1000 * 10^k is not always an exact power, so the comparison has a tolerance.
  const found = [1, 2, 5, 10].find((digit) => digit * power >= ns * (1 - 1e-9)) ?? 10;
  return found * power;
}

export function axisOf(view: Viewport, width: number, labelWidth = 90): Axis {
  const step = roundStep(((view.to - view.from) / Math.max(width, 1)) * labelWidth);
  const base = baseOf(view, step);
  const minor = minorStep(step);
  const ticks: Tick[] = [];
  const first = Math.ceil(view.from / minor);
  const last = Math.floor(view.to / minor);
  for (let index = first; index <= last; index += 1) {
    const time = index * minor;
    const major = time % step === 0;
    ticks.push({ time, x: xOf(time, view, width), text: major ? label(time, step, { base, last: view.to }) : null });
  }
  return { step, base: base === null ? null : { time: base, text: exactTime(base) }, ticks };
}

/** The step of short lines between labels: a fifth or a half, whole ns only. */
function minorStep(step: number): number {
  const digit = step / 10 ** Math.floor(Math.log10(step));
  const parts = step > 10 * SECOND ? 3 : digit === 2 ? 4 : 5;
  return Number.isInteger(step / parts) ? step / parts : step;
}

/** The base of the labels: a round time at or before the left edge, if labels from the start would be long. */
function baseOf({ from }: Viewport, step: number): number | null {
  if (from / step < MANY_STEPS) return null;
  const coarse = step * 1000;
  return Math.floor(from / coarse) * coarse;
}

/** All labels of an axis have the unit that suits its end. */
function label(time: number, step: number, { base, last }: { base: number | null; last: number }): string {
  return base === null ? timeText(time, step, last) : `+${timeText(time - base, step, last - base)}`;
}

/** A time since the start with as many digits as tell it from its neighbours `step` ns away: `1.50 s`, `20 µs`,
 * `1:30 min`; in the unit that suits `largest`. */
export function timeText(time: number, step: number, largest = time): string {
  if (largest >= MINUTE && step >= 1e6) return clockText(time, step, largest);
  const [unit, scale] = largest >= SECOND || step >= SECOND ? (['s', 1e9] as const) : subSecond(largest, step);
  const decimals = Math.max(0, Math.ceil(Math.log10(scale) - Math.log10(step) - 1e-9));
  return `${(time / scale).toFixed(Math.min(decimals, 9))} ${unit}`;
}

function subSecond(time: number, step: number): readonly [string, number] {
  const size = Math.max(time, step);
  if (size >= 1e6) return ['ms', 1e6];
  return size >= 1e3 ? ['µs', 1e3] : ['ns', 1];
}

/** `1:30 min`, `2:05:00 h`. */
function clockText(time: number, step: number, largest: number): string {
  const decimals = Math.max(0, Math.ceil(9 - Math.log10(step) - 1e-9));
  const hours = Math.floor(time / HOUR);
  const minutes = Math.floor((time % HOUR) / MINUTE);
  const seconds = ((time % MINUTE) / SECOND).toFixed(decimals).padStart(decimals > 0 ? decimals + 3 : 2, '0');
  if (largest < HOUR) return `${minutes}:${seconds} min`;
  return `${hours}:${String(minutes).padStart(2, '0')}:${seconds} h`;
}

/** A time to the ns, in groups of three digits without trailing zero groups: `3.200 000 010 s`. */
export function exactTime(time: number): string {
  const whole = Math.floor(time);
  const seconds = Math.floor(whole / SECOND);
  const rest = String(whole - seconds * SECOND).padStart(9, '0');
  const groups = [rest.slice(0, 3), rest.slice(3, 6), rest.slice(6)];
  while (groups.at(-1) === '000') groups.pop();
  const text = groups.length > 0 ? `${seconds}.${groups.join('\u202f')}` : String(seconds);
  return `${text} s`;
}
