// ViewState <-> the part of the address after `#`. Fields equal to those of the empty view are left out, which keeps links
// short; fields that cannot be read (a link typed by hand, or of another version) become those of the empty view.

import {
  BAND_KINDS,
  EMPTY,
  type Filter,
  FLAME_WEIGHTS,
  type Instant,
  type Range,
  STACK_KINDS,
  STACK_MODES,
  TABS,
  type Thresholds,
  TRACE_TABS,
  type ViewState,
} from './view-state';

/** How to write and read one field; `read` returns undefined for text that it does not understand. */
interface Field<T> {
  write(value: T): string[];
  read(texts: string[]): T | undefined;
}

const text: Field<string> = { write: (value) => [value], read: ([first]) => first };
const flag: Field<boolean> = { write: (value) => [value ? '1' : '0'], read: ([first]) => first === '1' };
const list: Field<string[]> = {
  write: (values) => [JSON.stringify(values)],
  read: ([first]) => {
    const values = parsed(first);
    return Array.isArray(values) && values.every((value) => typeof value === 'string') ? values : undefined;
  },
};
/** Ids, which contain no commas. */
const words: Field<string[]> = {
  write: (values) => [values.join(',')],
  read: ([first]) => (first === undefined || first === '' ? undefined : first.split(',')),
};

function oneOf<const W extends readonly string[]>(known: W): Field<W[number]> {
  return { write: (value) => [value], read: ([first]) => known.find((word) => word === first) };
}

function optional<T>(field: Field<T>): Field<T | null> {
  return { write: (value) => (value === null ? [] : field.write(value)), read: (texts) => field.read(texts) };
}

const range: Field<Range> = { write: (value) => [writeRange(value)], read: ([first]) => readRange(first) };
const ranges: Field<Range[]> = {
  write: (values) => values.map(writeRange),
  read: (texts) => texts.map(readRange).filter((value) => value !== undefined),
};
const filters: Field<Filter[]> = {
  write: (values) => values.map(({ key, value }) => `${key}=${value}`),
  read: (texts) => texts.map(readFilter).filter((value) => value !== undefined),
};
const number: Field<number> = {
  write: (value) => [String(value)],
  read: ([first]) => (first !== undefined && Number.isFinite(Number(first)) ? Number(first) : undefined),
};
/** Ids of rows. */
const ids: Field<number[]> = {
  write: (values) => [values.join(',')],
  read: ([first]) => {
    const texts = (first ?? '').split(',');
    return texts.every((id) => /^\d{1,15}$/.test(id)) ? texts.map(Number) : undefined;
  },
};
const instant: Field<Instant> = {
  write: ({ thread, at }) => [`${thread}@${at}`],
  read: ([first]) => {
    const [, thread, at] = /^(\d{1,10})@(\d{1,15})$/.exec(first ?? '') ?? [];
    return thread === undefined ? undefined : { thread: Number(thread), at: Number(at) };
  },
};
const thresholds: Field<Thresholds> = {
  write: ({ poor, ok, ideal }) => [`${poor},${ok},${ideal}`],
  read: ([first]) => {
    const [poor = Number.NaN, ok = Number.NaN, ideal = Number.NaN] = (first ?? '').split(',').map(Number);
    return 0 < poor && poor <= ok && ok <= ideal ? { poor, ok, ideal } : undefined;
  },
};
const sort: Field<{ metric: string; descending: boolean }> = {
  write: ({ metric, descending }) => [`${descending ? '-' : '+'}${metric}`],
  read: ([first]) =>
    first !== undefined && /^[-+]./.test(first)
      ? { metric: first.slice(1), descending: first.startsWith('-') }
      : undefined,
};
const flame: Field<ViewState['flame']> = {
  write: ({ weight, inverted, byThread, focus }) => [JSON.stringify([weight, inverted, byThread, ...focus])],
  read: ([first]) => {
    const values = parsed(first);
    if (!Array.isArray(values)) return undefined;
    const [weight, inverted, byThread, ...focus] = values;
    const known = FLAME_WEIGHTS.find((word) => word === weight);
    if (!known || !focus.every((name) => typeof name === 'string')) return undefined;
    return { weight: known, inverted: inverted === true, byThread: byThread === true, focus };
  },
};

/** Short names, in the order of the link. */
const FIELDS: { [K in keyof ViewState]: [name: string, field: Field<ViewState[K]>] } = {
  result: ['r', text],
  tab: ['tab', oneOf([...TABS, ...TRACE_TABS])],
  range: ['range', optional(range)],
  excludedRanges: ['xrange', ranges],
  filters: ['filter', filters],
  excludes: ['exclude', filters],
  includeIdle: ['idle', flag],
  stackMode: ['stacks', oneOf(STACK_MODES)],
  inlines: ['inlines', flag],
  target: ['target', optional(number)],
  thresholds: ['classes', optional(thresholds)],
  groupBy: ['group', words],
  metrics: ['metrics', words],
  sort: ['sort', optional(sort)],
  selection: ['sel', list],
  callees: ['down', list],
  stackKind: ['stack', oneOf(STACK_KINDS)],
  search: ['search', text],
  object: ['object', text],
  socket: ['socket', text],
  cause: ['cause', text],
  interval: ['interval', text],
  outlier: ['outlier', text],
  finding: ['finding', text],
  function: ['function', text],
  module: ['module', text],
  flame: ['flame', flame],
  compare: ['with', text],
  machine: ['machine', text],
  second: ['second', text],
  lit: ['lit', list],
  call: ['call', optional(number)],
  measure: ['measure', text],
  zoom: ['zoom', optional(range)],
  mark: ['mark', optional(range)],
  bands: ['bands', oneOf(BAND_KINDS)],
  bandSort: ['bandsort', text],
  picked: ['at', optional(instant)],
  task: ['task', optional(number)],
  pinned: ['pin', ids],
  hidden: ['hide', ids],
  expanded: ['open', ids],
  off: ['off', words],
};

/** The part of the link after `#`. */
export function toHash(state: ViewState): string {
  const query = new URLSearchParams();
  for (const key of Object.keys(FIELDS) as (keyof ViewState)[]) writeField(query, state, key);
  return query.toString();
}

/** The view that a link shows. */
export function fromHash(hash: string): ViewState {
  const query = new URLSearchParams(hash.replace(/^#/, ''));
  const state: ViewState = { ...EMPTY };
  for (const key of Object.keys(FIELDS) as (keyof ViewState)[]) readField(query, state, key);
  return state;
}

function writeField<K extends keyof ViewState>(query: URLSearchParams, state: ViewState, key: K): void {
  const [name, field] = FIELDS[key];
  if (JSON.stringify(state[key]) === JSON.stringify(EMPTY[key])) return;
  for (const value of field.write(state[key])) query.append(name, value);
}

function readField<K extends keyof ViewState>(query: URLSearchParams, state: ViewState, key: K): void {
  const [name, field] = FIELDS[key];
  if (!query.has(name)) return;
  const value = field.read(query.getAll(name));
  if (value !== undefined) state[key] = value;
}

function writeRange({ from, to }: Range): string {
  return `${from}-${to}`;
}

function readRange(value: string | undefined): Range | undefined {
  const [, from, to] = /^(\d{1,15})-(\d{1,15})$/.exec(value ?? '') ?? [];
  const read = { from: Number(from), to: Number(to) };
  return read.from < read.to ? read : undefined;
}

function readFilter(value: string): Filter | undefined {
  const at = value.indexOf('=');
  return at > 0 ? { key: value.slice(0, at), value: value.slice(at + 1) } : undefined;
}

function parsed(value: string | undefined): unknown {
  try {
    return JSON.parse(value ?? '');
  } catch {
    return undefined;
  }
}
