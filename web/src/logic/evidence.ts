// The evidence charts of a finding's card, and the view that "Show me" opens, one row per finding.

import { filterInRange, only } from '../state/actions';
import type { ViewState } from '../state/view-state';

export interface Finding {
  id: string;
  subject: string | null;
  cost_ns: number | null;
  /** The time range of the finding, if it has one. */
  from_ns?: number | null;
  to_ns?: number | null;
}

export type Evidence =
  /** The lengths of the waits that one filter selects. */
  | { kind: 'waits'; key: 'object' | 'object-type'; value: string }
  /** The finding's share of the CPU time. */
  | { kind: 'cpu-share' }
  /** Ready threads over time. */
  | { kind: 'concurrency' };

interface Case {
  evidence: (finding: Finding) => Evidence[];
  show: (state: ViewState, finding: Finding) => ViewState;
}

const named = ({ subject }: Finding) => subject ?? '';
const waits = (finding: Finding): Evidence[] => [{ kind: 'waits', key: 'object', value: named(finding) }];
const concurrency = (): Evidence[] => [{ kind: 'concurrency' }];

/** The waits on an object, in the view that shows their property. */
function showObject(tab: 'objects' | 'sockets') {
  return (state: ViewState, finding: Finding): ViewState => {
    const object = named(finding);
    return object === '' ? { ...state, tab } : only({ ...state, tab, object, socket: '' }, 'object', object);
  };
}

const WAITS: Case = { evidence: waits, show: showObject('objects') };
const SOCKET: Case = { evidence: waits, show: showObject('sockets') };

/** The activity of the threads, those with the most time in run queues first. */
const OUTLIERS: Case = {
  evidence: concurrency,
  show: (state) => ({ ...state, tab: 'platform', bands: 'thread', bandSort: 'preemption_ns' }),
};

/** The threads of one name. */
const CHURN: Case = {
  evidence: concurrency,
  show: (state, finding) => {
    const name = named(finding).replace(/^(threads|processes) named /, '');
    return only({ ...state, tab: 'platform', bands: 'thread' }, 'thread', name);
  },
};

/** CPU time of one function that did no work. */
const BURNT: Case = {
  evidence: () => [{ kind: 'cpu-share' }],
  show: (state, finding) =>
    only({ ...state, tab: 'caller-callee', function: named(finding) }, 'function', named(finding)),
};

/** CPU time of a process in the kernel: from where it was sampled. */
const CALLS: Case = {
  evidence: () => [{ kind: 'cpu-share' }],
  show: (state, finding) => only({ ...state, tab: 'bottom-up' }, 'process', named(finding)),
};

const CASES: Record<string, Case> = {
  'outliers-cpu-taken': OUTLIERS,
  'outliers-interrupted': OUTLIERS,
  'outliers-memory': OUTLIERS,
  'outliers-quota': OUTLIERS,
  'outliers-lock': OUTLIERS,
  'outliers-idle': OUTLIERS,
  'outliers-calls': OUTLIERS,
  'outliers-collector': OUTLIERS,
  'outliers-stolen': OUTLIERS,
  'outliers-signals': OUTLIERS,
  'fine-grained-waits': WAITS,
  'long-waits-by-counter': WAITS,
  'thundering-herd': WAITS,
  'nagle-delayed-ack': SOCKET,
  retransmission: SOCKET,
  'full-receive-window': SOCKET,
  'full-send-buffer': SOCKET,
  'chatty-protocol': SOCKET,
  'slow-connect': SOCKET,
  'head-of-line-blocking': SOCKET,
  'small-reads': CALLS,
  'small-writes': CALLS,
  'memory-churn': CALLS,
  'garbage-collection': CALLS,
  'accept-bottleneck': SOCKET,
  'slow-reader': {
    // No thread waits for the reader: the loop waits for whatever comes.
    evidence: () => [{ kind: 'waits', key: 'object-type', value: 'event' }],
    show: (state) => ({ ...state, tab: 'sockets', socket: '' }),
  },
  'connection-churn': {
    // By address, not by object: each connection is an object of its own.
    evidence: () => [{ kind: 'waits', key: 'object-type', value: 'socket' }],
    show: (state) => only({ ...state, tab: 'objects', socket: '' }, 'object-type', 'socket'),
  },
  'event-loop-blocked': {
    evidence: concurrency,
    show: (state, finding) => {
      const { from_ns: from, to_ns: to } = finding;
      const thread = only({ ...state, tab: 'platform', bands: 'thread' }, 'thread', named(finding));
      return from == null || to == null ? thread : filterInRange(thread, { from, to });
    },
  },
  spinning: BURNT,
  'lock-traffic': BURNT,
  'single-threaded-phase': {
    evidence: concurrency,
    show: (state, { from_ns: from, to_ns: to }) => {
      const platform: ViewState = { ...state, tab: 'platform', bands: 'thread', bandSort: 'cpu_ns' };
      return from == null || to == null ? platform : filterInRange(platform, { from, to });
    },
  },
  'thread-churn': CHURN,
  'process-churn': CHURN,
  'serial-children': CHURN,
};

/** The charts of a finding; none for an unknown finding. */
export function evidenceOf(finding: Finding): Evidence[] {
  return CASES[finding.id]?.evidence(finding) ?? [];
}

/** The view with its evidence, filtered to its subject. */
export function showFinding(state: ViewState, finding: Finding): ViewState {
  return CASES[finding.id]?.show(state, finding) ?? { ...state, tab: 'platform' };
}
