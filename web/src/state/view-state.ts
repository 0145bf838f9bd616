// The view: one plain value, stored in the address bar, so that a link shows the same view again. Theme, language and pane
// sizes belong to the reader (preferences.ts).

/** The screens of a result, in groups. */
export const TAB_GROUPS = {
  overview: ['summary', 'explain'],
  code: ['bottom-up', 'caller-callee', 'top-down', 'flame'],
  waits: ['objects', 'sockets', 'latency', 'blame'],
  timeline: ['platform', 'tasks'],
  more: ['source', 'findings', 'log', 'compare'],
} as const;
export type TabGroup = keyof typeof TAB_GROUPS;
type ResultTab = (typeof TAB_GROUPS)[TabGroup][number];
export const TABS: readonly ResultTab[] = Object.values(TAB_GROUPS).flat();
/** The tabs of an instruction trace. */
export const TRACE_TABS = ['calls', 'functions', 'phases', 'packets', 'buffers', 'machines'] as const;
export type Tab = ResultTab | (typeof TRACE_TABS)[number];

/** The group of a result's screen. */
export function groupOf(tab: Tab): TabGroup {
  const groups = Object.entries(TAB_GROUPS) as [TabGroup, readonly Tab[]][];
  return groups.find(([, tabs]) => tabs.includes(tab))?.[0] ?? 'overview';
}

/** The tabs beside a tab: those of a result, or of an instruction trace. */
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

/** A thread at an instant: selects what it did then on the timeline. */
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
  /** The time that is filtered in; null: the whole collection. */
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
  /** Keys of the row selected in the Top-down tree. */
  callees: string[];
  stackKind: StackKind;
  search: string;

  /** Object of Sync Objects and Blame. */
  object: string;
  /** Row of the chosen socket; empty: all sockets. */
  socket: string;
  /** The chosen root cause, by kind, role and place; empty: the first. */
  cause: string;
  /** Latency's type of intervals (empty: the first), and the id of the chosen outlier (empty: none). */
  interval: string;
  outlier: string;
  /** Handle of the finding whose card is marked; empty: none. */
  finding: string;
  /** Function of Caller/Callee and Source. */
  function: string;
  module: string;
  flame: { weight: FlameWeight; inverted: boolean; byThread: boolean; focus: string[] };
  /** The other result of Compare. */
  compare: string;

  /** Machine that replays an instruction trace, and the one to compare it with; empty: Dwell's own choice. */
  machine: string;
  second: string;
  /** Phases to highlight in the chart; empty: all. */
  lit: string[];
  /** Number of the picked call. */
  call: number | null;
  /** Column of the buffer-size chart. */
  measure: string;

  /** The visible time of the timeline; null: all. */
  zoom: Range | null;
  /** The time selected on the timeline, not yet a filter. */
  mark: Range | null;
  bands: BandKind;
  bandSort: string;
  /** The picked interval, shown beside the timeline. */
  picked: Instant | null;
  /** Row of the picked task. */
  task: number | null;
  /** Pinned, hidden and expanded bands; ids of the kind in `bands`. */
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
  cause: '',
  interval: '',
  outlier: '',
  finding: '',
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
