// Numbers as people read them, the same words as the command line's text output: three significant digits, the unit
// that fits, thousands apart.

const NONE = '–';

/** A duration in nanoseconds: `8.33 s`, `1.90 ms`, `640 ns`, `0`; negative ones (differences) with a minus sign. */
export function duration(ns: number): string {
  if (!Number.isFinite(ns)) return NONE;
  if (ns === 0) return '0';
  const size = Math.abs(ns);
  if (size < 1000) return `${signed(ns)}${Number.isInteger(size) ? size : significant(size)} ns`;
  const units: [string, number][] = [
    ['µs', 1e3],
    ['ms', 1e6],
    ['s', 1e9],
  ];
  const [unit, scale] = units.find(([, scale]) => size / scale < 999.5) ?? ['s', 1e9];
  return `${signed(ns)}${significant(size / scale)} ${unit}`;
}

/** A fraction of 1 as a percentage: `61.5 %`, `0.04 %`, `100 %`. */
export function percent(fraction: number): string {
  if (!Number.isFinite(fraction)) return NONE;
  const value = fraction * 100;
  const size = Math.abs(value);
  if (size === 0) return '0 %';
  if (size < 0.01) return '<0.01 %';
  return size < 0.995 ? `${value.toFixed(2)} %` : `${signed(value)}${significant(size)} %`;
}

/** A number with a fraction, three significant digits: `2.13`, `1,240`, `0.031`. */
export function real(value: number): string {
  return Number.isFinite(value) ? `${signed(value)}${significant(Math.abs(value))}` : NONE;
}

/** A count with its thousands apart: `4,210`. */
export function count(value: number): string {
  if (!Number.isFinite(value)) return NONE;
  return `${signed(value)}${grouped(Math.abs(Math.round(value)))}`;
}

/** A size in bytes: `12.3 MB`. */
export function bytes(value: number): string {
  if (!Number.isFinite(value)) return NONE;
  if (value < 1000) return `${value} B`;
  const units: [string, number][] = [
    ['kB', 1e3],
    ['MB', 1e6],
    ['GB', 1e9],
  ];
  const [unit, scale] = units.find(([, scale]) => value / scale < 999.5) ?? ['TB', 1e12];
  return `${significant(value / scale)} ${unit}`;
}

/** A time since the start, with enough decimals to tell two times `step` ns apart. */
export function instant(ns: number, step: number): string {
  const [unit, scale] = step >= 1e6 || ns >= 1e9 ? ['s', 1e9] : step >= 1e3 || ns >= 1e6 ? ['ms', 1e6] : ['µs', 1e3];
  const decimals = Math.min(9, Math.max(0, Math.ceil(Math.log10(Number(scale) / Math.max(step, 1)))));
  return `${(ns / Number(scale)).toFixed(decimals)} ${unit}`;
}

/** A span of time: `1.50–3.20 s`, with enough decimals for its length. */
export function span(from: number, to: number): string {
  const step = Math.max((to - from) / 100, 1);
  const end = instant(to, step);
  const scale = end.endsWith(' s') ? 1e9 : end.endsWith(' ms') ? 1e6 : 1e3;
  const decimals = end.split(' ')[0]?.split('.')[1]?.length ?? 0;
  return `${(from / scale).toFixed(decimals)}–${end}`;
}

/** The last part of a path. */
export function baseName(path: string): string {
  return path.replace(/.*\/(?=.)/, '');
}

function signed(value: number): string {
  return value < 0 ? '-' : '';
}

function grouped(whole: number): string {
  return whole.toFixed(0).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** Three significant digits of a number that is not negative. */
function significant(value: number): string {
  if (value === 0) return '0';
  if (value >= 999.5) return grouped(Math.round(value));
  const before = Math.floor(Math.log10(value)) + 1;
  const roundsUp = value >= 10 ** before - 0.5 * 10 ** (before - 3);
  return value.toFixed(Math.min(5, Math.max(0, 3 - before - (roundsUp ? 1 : 0))));
}

/** The program of a command line, without its folder: `redis-server`. */
export function programName(command: string): string {
  return baseName(command.split(' ', 1)[0] ?? '');
}

/** A command line with the program's folder left out, cut where it becomes long: `python3 server.py --port …`. */
export function commandName(command: string, most = 36): string {
  const short = `${programName(command)}${command.slice(command.split(' ', 1)[0]?.length ?? 0)}`;
  return short.length > most ? `${short.slice(0, most - 1).trimEnd()}…` : short;
}
