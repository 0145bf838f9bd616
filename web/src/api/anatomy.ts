// What the server answers about an instruction trace: GET /api/t/:id/QUESTION?machine=NAME. Times are ticks of the model's
// clock since the beginning of the trace; `ticks_per_cycle` of them are a cycle.

export interface TraceInfo {
  command: string;
  /** A whole machine with its kernel. */
  system: boolean;
  machines: { id: string; title: string }[];
  reports: { id: string; help: string }[];
  /** Names, by number. */
  phases: string[];
  ticks: number;
  ticks_per_cycle: number;
  depths: number;
  /** From when on calls are not kept. */
  missing: number | null;
  /** Whether there are calls below the last depth that is drawn. */
  is_cut: boolean;
  calls: number;
}

/** One call; its number is that of the annotated trace. */
export interface TraceCall {
  number: number;
  function: string;
  module: string;
  phase: string;
  depth: number;
  thread: number;
  begin: number;
  end: number;
  instructions: number;
}

/** GET …/call?number=N: the calls above it, the outermost first. */
export interface CallAnswer {
  call: TraceCall;
  above: TraceCall[];
}

/** GET …/calls?function=&module=&at=N: of a function, the one before and behind call N. */
export interface CallsAnswer {
  count: number;
  before: TraceCall | null;
  next: TraceCall | null;
  longest: TraceCall | null;
}

/** GET …/chart?from=&to=&width=&phase=…|function=&module=: pieces of calls as columns, begin and end since `from`. */
export interface ChartTile {
  from: number;
  to: number;
  depth: number[];
  begin: number[];
  end: number[];
  /** The call; of several in one pixel the longest. */
  call: number[];
  /** How many calls. */
  calls: number[];
  /** What they take of the piece. */
  ticks: number[];
  function: number[];
  phase: number[];
  /** Names of the functions. */
  names: Record<string, string>;
}

/** GET …/progress: of a replay that is under way. */
export interface ReplayProgress {
  read_bytes: number;
  size_bytes: number;
}
