// The answers of crates/server, by the call that gives each. Every call is a GET that changes nothing, and answers JSON
// unless stated otherwise. Times are whole nanoseconds since the start of the collection. An error is HTTP 4xx or 5xx with
// {error: string, hint?: string}. GET /?token=ONE_TIME sets the session cookie (HttpOnly, SameSite=Strict) and redirects
// to /.
//
// Every data call takes a selection, written "…" below, in the words of the CLI's options:
//   from, to            ns; both or neither
//   filter              KEY=VALUE, repeatable; values of one key are alternatives, all keys must hold; `*` matches any text
//   exclude             KEY=VALUE, repeatable ("Filter out")
//   excluded-range      FROM-TO, repeatable
//   include-idle, call-stack-mode (all|user|user+1), inlines (on|off), target-concurrency,
//   poor, ok, ideal     limits of the classes, as fractions of the target concurrency

import type { Sentence } from '../base/prose';

/** GET /api/results -> ResultInfo[]: one for `dwell view r000th`, all of a folder for `dwell view FOLDER`. */
export interface ResultInfo {
  id: string;
  name: string;
  program: string;
  analysis: string;
  elapsed_ns: number;
  created: string;
  size_bytes: number;
  problem?: string | null;
  /** The server's id of the problem. */
  problem_kind?: string | null;
}

export interface MetricDef {
  id: string;
  title: string;
  unit: string;
  additive: boolean;
  better: 'lower' | 'higher' | 'neither';
  help: string;
  detail: string;
}

export interface Word {
  id: string;
  title: string;
  help: string;
}

/** One kind of loss; `time_ns` has the times of the first and the last. */
export interface Loss {
  name: string;
  count: number;
  doc: string;
  time_ns?: [number, number] | null;
}

/** GET /api/r/:id/info */
export interface Info {
  manifest: Record<string, unknown>;
  elapsed_ns: number;
  cpus: number;
  target_concurrency: number;
  metrics: MetricDef[];
  levels: Word[];
  filter_keys: Word[];
  reports: Word[];
  losses: Loss[];
  notices: string[];
  threads: {
    id: number;
    tid: number;
    pid: number;
    name: string;
    process: string;
    start_ns: number;
    end_ns: number;
    running_ns: number;
    runnable_ns: number;
    waiting_ns: number;
    waits: number;
    switches: number;
  }[];
  /** Names of tasks, frames, regions and markers; tasks refer to them by index. */
  task_types: { name: string; domain: string; kind: string }[];
  /** Number of counters. */
  counters: number;
}

/** Remarks about the numbers: English texts, and the same ones as sentences with values, for translation. */
export interface Noted {
  notes: string[];
  notes_parts?: Sentence[][];
}

/**
 * GET /api/r/:id/report/:name?…&subject=&group-by=a,b&metrics=a,b&sort=&limit=&bins=
 *
 * The output of `dwell report NAME --format json --limit 10000`, or with the requested limit, byte for byte, except that
 * texts above 4 KiB are cut.
 */
export interface Document extends Noted {
  rows?: Record<string, unknown>[];
  [field: string]: unknown;
}

/** GET /api/r/:id/view/:name?… with the parameters of a report: the report with its columns, for generic grids. */
export interface ViewDocument extends Noted {
  columns: {
    id: string;
    title: string;
    help: string;
    kind: 'text' | 'count' | 'ns' | 'fraction' | 'real' | 'by_class' | 'histogram' | 'parts' | 'stack' | 'rows';
  }[];
  rows: { depth: number; values: unknown[] }[];
  total: Record<string, unknown>;
}

/**
 * GET /api/r/:id/grid?…&group-by=a,b,c&metrics=&sort=&descending=&path=JSON&offset=&limit=&search=
 *
 * One level of the tree grid: the children of the row at `path`, an array of keys. `group-by` lists any levels; a last level
 * `callers` or `callees` continues a function row bottom-up or top-down.
 */
export interface Grid {
  total_rows: number;
  rows: { key: string; label: string; children: boolean; values: Record<string, unknown> }[];
  total: Record<string, unknown>;
}

/** GET /api/r/:id/stacks?…&kind=cpu|wait|waker|creation&group-by=&path=&index=N: a row's N-th heaviest stack. */
export interface StackPane {
  count: number;
  index: number;
  weight_ns: number;
  total_ns: number;
  waits: number;
  frames: {
    function: string;
    module: string;
    file: string;
    line: number;
    inlined: boolean;
    kernel: boolean;
    system: boolean;
  }[];
  end: string;
}

/**
 * GET /api/r/:id/flame?…&weight=cpu|wait|both&inverted=0|1&by-thread=0|1&min-share=0.0005
 *
 * Nodes as columns; the index of a parent is lower than those of its children.
 */
export interface Flame {
  total_ns: number;
  parent: number[];
  name: number[];
  self_ns: number[];
  total: number[];
  wait_share: number[];
  names: string[];
  modules: string[];
  module: number[];
  pruned_ns: number;
}

/**
 * GET /api/r/:id/histogram?…&of=wait|off_cpu|runnable[&object=NAME], and
 * GET /api/r/:id/socket-lengths?…[&subject=ROW] for the waits on one socket or on all.
 *
 * The upper limit of a bin is 2^(1/4) times its lower one.
 */
export interface Histogram {
  bins: { from_ns: number; to_ns: number; count: number; total_ns: number }[];
  humps: { centre_ns: number; count: number; total_ns: number }[];
}

/** GET /api/r/:id/latency?…[&subject=INTERVAL]: the intervals of one type, as drawn; without a subject, the first type. */
export interface LatencyPane {
  interval: string;
  count: number;
  limit_ns: number;
  percentiles: [part: number, ns: number][];
  lengths: Histogram;
  /** Intervals that are not outliers; an evenly spread choice where there are many. */
  points: [start: number, ns: number][];
  outliers: {
    id: string;
    thread: number;
    start_ns: number;
    length_ns: number;
    cause: string;
    causes: Record<string, number>;
  }[];
}

/**
 * GET /api/r/:id/filters?…&key=thread&search=&limit=
 *
 * The values of a filter, each with its share of CPU time plus wait time; `shown` is the share that the selection leaves.
 */
export interface FilterValues {
  values: { value: string; cpu_ns: number; wait_ns: number; share: number }[];
  shown: number;
}

/** GET /api/r/:id/bands?…&by=thread|process|object|cpu|task&sort=start|name|METRIC&search=: bands, in order. */
export interface Bands {
  bands: {
    id: number;
    label: string;
    process: string;
    start_ns: number;
    end_ns: number;
    /** Number of lanes that its tasks need. */
    lanes?: number;
    values: Record<string, number>;
  }[];
}

/**
 * GET /api/r/:id/tasks?from&to&width=PX&by=thread|task&bands=3,4
 *
 * Tasks, frames and markers of bands, lane by lane. Tasks shorter than a pixel are merged into one span without a task.
 */
export interface TaskSpans {
  from: number;
  to: number;
  bands: {
    id: number;
    lanes: { start: number[]; end: number[]; type: number[]; task: (number | null)[] }[];
    markers: { time: number[]; type: number[]; count: number[] };
  }[];
}

/** GET /api/r/:id/task?task=ROW: all facts about one task. */
export interface Task {
  name: string;
  domain: string;
  kind: string;
  thread: number;
  end_thread: number | null;
  start_ns: number;
  end_ns: number;
  finished: boolean;
  id: number;
  parent: string;
  metadata: [key: string, value: string][];
}

/** GET /api/r/:id/counters?from&to&width=PX: curves of the counters, one value per pixel, null before the first value. */
export interface CounterCurves {
  from: number;
  to: number;
  counters: {
    id: number;
    name: string;
    domain: string;
    process: string;
    unit: string;
    kind: string;
    /** The value never decreases. */
    grows: boolean;
    range: [least: number, most: number];
    values: number;
    mean: (number | null)[];
    peak: (number | null)[];
    last: (number | null)[];
    rate: number[];
  }[];
}

/**
 * GET /api/r/:id/tile?…&width=PX&by=thread&bands=3,4,5: binary, application/octet-stream, little endian.
 *
 *   u32 length of the header; the header as JSON, padded with blanks so that the arrays start at a multiple of 8
 *   for each band in order:
 *     f64 start[n], f64 end[n] in ns
 *     u32 object[n]: 0xffffffff is none
 *     u8 state[n]: index into `states`; of merged segments, the state with the most time in the pixel
 *     u8 flags[n]: 1 merged from several, 2 clipped; padded to a multiple of 8
 *     f64 sample_time[m]: at most one a pixel
 *     u8 sample_density[m], padded likewise
 */
export interface TileHeader {
  from: number;
  to: number;
  exact: boolean;
  states: string[];
  bands: { id: number; segments: number; samples: number }[];
}

/** GET /api/r/:id/charts?…&width=PX: CPU usage, running threads and concurrency, one column per pixel. */
export interface Charts {
  from: number;
  to: number;
  series: { id: string; title: string; unit: string; max: number; mean: number[]; peak: number[] }[];
}

/** GET /api/r/:id/arrows?from&to&thread=&limit=: wake-ups in a time range. */
export interface Arrows {
  total: number;
  arrows: { waker: number; woken: number; time_ns: number; run_ns: number; object: string }[];
}

/** GET /api/r/:id/interval?thread=&at=: what the thread did at that instant. */
export interface Interval {
  thread: number;
  state: string;
  start_ns: number;
  end_ns: number;
  wait_ns: number;
  runnable_ns: number;
  reason: string;
  outcome: string;
  syscall: string;
  object: string;
  object_type: string;
  cpu: number;
  waker: string;
  waker_kind: string;
  stack: StackPane['frames'];
  waker_stack: StackPane['frames'];
}

// Calls whose answers other files describe:
//   GET /api/r/:id/source?…&function=NAME[&module=]: the output of `dwell source --format json` (logic/source.ts)
//   GET /api/r/:id/log: { text: string }
//   GET /api/compare?…&a=ID&b=ID&level=function|object: the output of `dwell compare A B --format json`
//   (logic/compare.ts); difference = first − second
