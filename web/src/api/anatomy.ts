// The server's answers about an instruction trace: GET /api/t/:id/QUESTION?machine=NAME. Times are ticks of the model's
// clock since the start of the trace; a cycle has `ticks_per_cycle` of them.

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
  /** The trace keeps no calls after this time. */
  missing: number | null;
  /** Whether calls exist below the last drawn depth. */
  is_cut: boolean;
  calls: number;
}

/** One call; its number is the one of the annotated trace. */
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

/** GET …/calls?function=&module=&at=N: the calls of a function before and after call N. */
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
  /** The call; the longest one when several share the pixel. */
  call: number[];
  /** How many calls. */
  calls: number[];
  /** Their share of the piece's time. */
  ticks: number[];
  function: number[];
  phase: number[];
  /** Names of the functions. */
  names: Record<string, string>;
}

/** GET …/progress: how far a running replay is. */
export interface ReplayProgress {
  read_bytes: number;
  size_bytes: number;
}
