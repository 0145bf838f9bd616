// What is looked at: one plain value that the address bar holds, so that a link shows the same view again. Theme,
// language and the sizes of panes are the reader's own and not part of it.

export const TABS = [
  'summary',
  'bottom-up',
  'caller-callee',
  'top-down',
  'flame',
  'objects',
  'sockets',
  'latency',
  'blame',
  'platform',
  'tasks',
  'source',
  'findings',
  'log',
  'compare',
] as const;
/** Those of an instruction trace. */
export const TRACE_TABS = ['calls', 'functions', 'phases', 'packets', 'buffers', 'machines'] as const;
export type Tab = (typeof TABS)[number] | (typeof TRACE_TABS)[number];

/** The tabs beside one: those of a result, or of an instruction trace. */
export function tabsBeside(tab: Tab): readonly Tab[] {
  return TRACE_TABS.some((known) => known === tab) ? TRACE_TABS : TABS;
}

export const STACK_KINDS = ['wait', 'waker', 'cpu', 'creation'] as const;
export type StackKind = (typeof STACK_KINDS)[number];

export const FLAME_WEIGHTS = ['cpu', 'wait', 'both'] as const;
export type FlameWeight = (typeof FLAME_WEIGHTS)[number];

export const BAND_KINDS = ['thread', 'process', 'object', 'cpu', 'task'] as const;
export type BandKind = (typeof BAND_KINDS)[number];

export const STACK_MODES = ['all', 'user', 'user+1'] as const;
export type StackMode = (typeof STACK_MODES)[number];

/** Part of the collection: ns since its start, `to` excluded. */
export interface Range {
  from: number;
  to: number;
}

/** One condition, as in the command line's `--filter KEY=VALUE`. */
export interface Filter {
  key: string;
  value: string;
}

/** A thread at an instant: what it did then is selected on the timeline. */
export interface Instant {
  thread: number;
  at: number;
}

/** Limits of the utilization classes as fractions of the target concurrency. */
export interface Thresholds {
  poor: number;
  ok: number;
  ideal: number;
}

export interface ViewState {
  /** Id of the result; empty: the list of results. */
  result: string;
  tab: Tab;
  /** Filtered in by time; null: the whole collection. */
  range: Range | null;
  excludedRanges: Range[];
  /** Same key: alternatives; different keys: all must hold. */
  filters: Filter[];
  excludes: Filter[];
  includeIdle: boolean;
  stackMode: StackMode;
  inlines: boolean;
  /** T; null: as collected. */
  target: number | null;
  thresholds: Thresholds | null;

  /** Grouping of the Bottom-up grid, outermost first. */
  groupBy: string[];
  /** Columns of the grids; empty: the view's own. */
  metrics: string[];
  sort: { metric: string; descending: boolean } | null;
  /** Keys of the selected row, outermost first; empty: none. */
  selection: string[];
  /** Likewise of the row selected in the Top-down tree. */
  callees: string[];
  stackKind: StackKind;
  search: string;

  /** Object that Sync objects and Blame look at. */
  object: string;
  /** Row of the socket that Sockets looks at; empty: all. */
  socket: string;
  /** Type of intervals that Latency looks at, and the id of the chosen outlier; empty: the first type, none. */
  interval: string;
  outlier: string;
  /** Function that Caller/Callee and Source look at. */
  function: string;
  module: string;
  flame: { weight: FlameWeight; inverted: boolean; byThread: boolean; focus: string[] };
  /** The other result of Compare. */
  compare: string;

  /** Machine on which an instruction trace is replayed, and the one that it is compared with; empty: Dwell's own choice. */
  machine: string;
  second: string;
  /** Phases that stand out in the chart; none: all. */
  lit: string[];
  /** Number of the call that is looked at. */
  call: number | null;
  /** Column of the buffer-size chart. */
  measure: string;

  /** What the timeline shows; null: all. */
  zoom: Range | null;
  /** Selected on the timeline, not yet filtered. */
  mark: Range | null;
  bands: BandKind;
  bandSort: string;
  /** What a thread did at an instant, shown beside the timeline. */
  picked: Instant | null;
  /** Row of the picked task. */
  task: number | null;
  /** Bands that are held at the top, left out, shown higher; ids of the kind that `bands` says. */
  pinned: number[];
  hidden: number[];
  expanded: number[];
  /** States that the legend has switched off. */
  off: string[];
}

export const EMPTY: ViewState = {
  result: '',
  tab: 'summary',
  range: null,
  excludedRanges: [],
  filters: [],
  excludes: [],
  includeIdle: false,
  stackMode: 'user+1',
  inlines: true,
  target: null,
  thresholds: null,
  groupBy: ['function', 'callers'],
  metrics: [],
  sort: null,
  selection: [],
  callees: [],
  stackKind: 'wait',
  search: '',
  object: '',
  socket: '',
  interval: '',
  outlier: '',
  function: '',
  module: '',
  flame: { weight: 'cpu', inverted: false, byThread: false, focus: [] },
  compare: '',
  machine: '',
  second: '',
  lit: [],
  call: null,
  measure: '',
  zoom: null,
  mark: null,
  bands: 'thread',
  bandSort: 'start',
  picked: null,
  task: null,
  pinned: [],
  hidden: [],
  expanded: [],
  off: [],
};
