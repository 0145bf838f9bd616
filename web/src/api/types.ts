import type { Sentence } from '../base/prose';

// Contract between crates/server and web/ (lands as web/src/api/types.ts; the server's tests check its answers against the shapes named here).
// All JSON unless said otherwise. Times: integer nanoseconds since the start of the collection. Errors: HTTP 4xx/5xx with {error: string, hint?: string}.
// The session cookie (HttpOnly, SameSite=Strict) comes from GET /?token=ONE_TIME, which redirects to /. Mutations do not exist: every call is a GET.

// Query string that every data call takes ("selection"), the same words as the CLI's options:
//   from, to            ns; both or none
//   filter              KEY=VALUE, repeatable; same key = alternatives, different keys = all must hold; `*` globs as in the CLI
//   exclude             KEY=VALUE, repeatable ("Filter out"); excluded-range=FROM-TO repeatable likewise
//   include-idle, call-stack-mode (all|user|user+1), inlines (on|off), target-concurrency, poor, ok, ideal (fractions of T)

export interface ResultInfo {
  id: string;
  name: string;
  program: string;
  analysis: string;
  elapsed_ns: number;
  created: string;
  size_bytes: number;
  problem?: string | null;
  /** The server's name for it. */
  problem_kind?: string | null;
}
// GET /api/results -> ResultInfo[]         (one when `dwell view r000th`; all of a folder when `dwell view FOLDER`)

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
/** One kind of loss; `time_ns` is from the first to the last, since the start. */
export interface Loss {
  name: string;
  count: number;
  doc: string;
  time_ns?: [number, number] | null;
}

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
  /** Names of tasks, frames, regions and markers; a task says its row. */
  task_types: { name: string; domain: string; kind: string }[];
  /** Number of counters. */
  counters: number;
}
// GET /api/r/:id/info -> Info

/** What a reader must know of the numbers: texts in English, and the same sentence by sentence. */
export interface Noted {
  notes: string[];
  notes_parts?: Sentence[][];
}

// GET /api/r/:id/report/:name?…&subject=&group-by=a,b&metrics=a,b&sort=&limit=&bins=  -> the document of `dwell report NAME --format json --limit 10000` (or the limit asked for), byte for byte but for texts of more than 4 KiB, which are cut
export interface Document extends Noted {
  rows?: Record<string, unknown>[];
  [field: string]: unknown;
}
// GET /api/r/:id/view/:name?same  -> the same view with its columns, for generic grids
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

// GET /api/r/:id/grid?…&group-by=a,b,c&metrics=&sort=&descending=&path=JSON array of keys&offset=&limit=&search=  -> one level of the tree grid, children fetched on demand.
// Any level list; the pseudo level `callers` / `callees` (at the end) gives the bottom-up / top-down continuation of a function row.
export interface Grid {
  total_rows: number;
  rows: { key: string; label: string; children: boolean; values: Record<string, unknown> }[];
  total: Record<string, unknown>;
}

// GET /api/r/:id/stacks?…&kind=cpu|wait|waker|creation&group-by=&path=&index=N -> the N-th heaviest stack behind the selected row
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

// GET /api/r/:id/flame?…&weight=cpu|wait|both&inverted=0|1&by-thread=0|1&min-share=0.0005 -> columns, node i's parent is below i
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

// GET /api/r/:id/histogram?…&of=wait|off_cpu|runnable[&object=NAME] -> log2-of-2^(1/4) bins
export interface Histogram {
  bins: { from_ns: number; to_ns: number; count: number; total_ns: number }[];
  humps: { centre_ns: number; count: number; total_ns: number }[];
}

// GET /api/r/:id/socket-lengths?…[&subject=ROW] -> likewise, of the waits on one socket or on all

// GET /api/r/:id/latency?…[&subject=INTERVAL] -> the intervals of one type, as they are drawn; of the first one without a subject
export interface LatencyPane {
  interval: string;
  count: number;
  limit_ns: number;
  percentiles: [part: number, ns: number][];
  lengths: Histogram;
  /** Those that are no outliers; of many, evenly spread ones. */
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

// GET /api/r/:id/filters?…&key=thread&search=&limit= -> the entries of a filter's list, with the share of CPU + wait time that each has; and what part of the whole is shown now
export interface FilterValues {
  values: { value: string; cpu_ns: number; wait_ns: number; share: number }[];
  shown: number;
}

// GET /api/r/:id/bands?…&by=thread|process|object|cpu|task&sort=start|name|METRIC&search= -> order of the timeline's bands
export interface Bands {
  bands: {
    id: number;
    label: string;
    process: string;
    start_ns: number;
    end_ns: number;
    /** Lanes of the tasks in it. */
    lanes?: number;
    values: Record<string, number>;
  }[];
}
// GET /api/r/:id/tasks?from&to&width=PX&by=thread|task&bands=3,4 -> tasks, frames and markers of bands, lane by lane; what is
// shorter than a pixel is one span without a task
export interface TaskSpans {
  from: number;
  to: number;
  bands: {
    id: number;
    lanes: { start: number[]; end: number[]; type: number[]; task: (number | null)[] }[];
    markers: { time: number[]; type: number[]; count: number[] };
  }[];
}
// GET /api/r/:id/task?task=ROW -> everything that is known of one task
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
// GET /api/r/:id/counters?from&to&width=PX -> curves of the counters, a value per pixel, null before the first
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
    /** No value is below the one before. */
    grows: boolean;
    range: [least: number, most: number];
    values: number;
    mean: (number | null)[];
    peak: (number | null)[];
    last: (number | null)[];
    rate: number[];
  }[];
}
// GET /api/r/:id/tile?from&to&width=PX&by=thread&bands=3,4,5…(selection) -> BINARY application/octet-stream, little endian:
//   u32 length of header; header JSON (TileHeader), padded with blanks so that the arrays start at a multiple of 8;
//   then for each band in order: f64 start[n], f64 end[n] (ns), u32 object[n] (0xffffffff none), u8 state[n] (index into TileHeader.states), u8 flags[n] (1 = many merged, majority state shown; 2 = clipped), padded to 8;
//   then f64 sample_time[m] (decimated to one a pixel), u16 … padded likewise: u8 sample_density[m]
export interface TileHeader {
  from: number;
  to: number;
  exact: boolean;
  states: string[];
  bands: { id: number; segments: number; samples: number }[];
}
// states: running, spin, overhead, lock, condition, idle, socket, io, sleep, other-wait, preempted, starting, absent  (majority by time in a pixel)
// GET /api/r/:id/charts?from&to&width=PX(selection) -> per-pixel columns
export interface Charts {
  from: number;
  to: number;
  series: { id: string; title: string; unit: string; max: number; mean: number[]; peak: number[] }[];
} // cpu_usage, running (n), concurrency (c), counters
// GET /api/r/:id/arrows?from&to&thread=…&limit= -> transitions in range
export interface Arrows {
  total: number;
  arrows: { waker: number; woken: number; time_ns: number; run_ns: number; object: string }[];
}
// GET /api/r/:id/interval?thread=&at= -> what the thread did at that instant
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

// GET /api/r/:id/source?…&function=NAME[&module=] -> see the document of `dwell source --format json` (made by another change; keep the route, pass it through)
// GET /api/r/:id/log -> { text: string }
// GET /api/compare?a=ID&b=ID&level=function|object&… -> Document of `dwell compare A B --format json`; difference = first − second
