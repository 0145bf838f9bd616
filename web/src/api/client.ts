// Every call to the server: typed, abortable, with errors that say what to do. Answers that do not change (a result is
// immutable) are kept, so that going back in the view's history asks nothing again.

import { begin } from '../base/activity';
import { decodeTile, type Tile } from './tile';
import type {
  Arrows,
  Bands,
  Charts,
  CounterCurves,
  Document,
  FilterValues,
  Flame,
  Grid,
  Histogram,
  Info,
  Interval,
  LatencyPane,
  ResultInfo,
  StackPane,
  Task,
  TaskSpans,
  ViewDocument,
} from './types';

/** What went wrong, in one sentence, and the next thing to do. */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly hint: string | null,
    readonly status: number,
  ) {
    super(message);
  }
}

/** What each call answers. */
export interface Answers {
  report: Document;
  view: ViewDocument;
  info: Info;
  grid: Grid;
  stacks: StackPane;
  flame: Flame;
  histogram: Histogram;
  'socket-lengths': Histogram;
  latency: LatencyPane;
  filters: FilterValues;
  bands: Bands;
  charts: Charts;
  arrows: Arrows;
  interval: Interval;
  tasks: TaskSpans;
  task: Task;
  counters: CounterCurves;
  source: Document;
  log: { text: string };
}

const KEPT_BYTES = 32 << 20;
const kept = new Map<string, { value: unknown; bytes: number }>();
let keptBytes = 0;

/** The address of a call about one result: `info`, `report/waits`, `grid`, … */
export function resultUrl(result: string, call: string, query?: URLSearchParams): string {
  const text = query?.toString() ?? '';
  return `/api/r/${encodeURIComponent(result)}/${call}${text ? `?${text}` : ''}`;
}

export async function fetchResults(signal?: AbortSignal): Promise<ResultInfo[]> {
  return (await fetchJson('/api/results', signal)) as ResultInfo[];
}

/** One JSON answer, from memory when it was had before. */
export async function fetchJson(url: string, signal?: AbortSignal): Promise<unknown> {
  const known = remembered(url);
  if (known !== undefined) return known;
  const response = await request(url, signal);
  const text = await response.text();
  const value: unknown = JSON.parse(text);
  remember(url, value, text.length * 2);
  return value;
}

/** One JSON answer that is another one each time. */
export async function fetchAnew<T>(url: string, signal: AbortSignal): Promise<T> {
  return (await (await request(url, signal)).json()) as T;
}

/** One tile of the timeline; who asks keeps it. */
export async function fetchTile(url: string, signal?: AbortSignal): Promise<Tile> {
  const response = await request(url, signal);
  return decodeTile(await response.arrayBuffer());
}

/** An answer that is in memory already; undefined when it is not. */
export function remembered(url: string): unknown {
  const entry = kept.get(url);
  if (!entry) return undefined;
  // The least recently used goes first: a Map keeps the order of insertion.
  kept.delete(url);
  kept.set(url, entry);
  return entry.value;
}

function remember(url: string, value: unknown, bytes: number): void {
  kept.set(url, { value, bytes });
  keptBytes += bytes;
  for (const [oldest, entry] of kept) {
    if (keptBytes <= KEPT_BYTES) break;
    kept.delete(oldest);
    keptBytes -= entry.bytes;
  }
}

async function request(url: string, signal?: AbortSignal): Promise<Response> {
  const end = begin();
  try {
    const response = await fetch(url, { signal: signal ?? null, credentials: 'same-origin' });
    if (!response.ok) throw await failure(response);
    return response;
  } catch (error) {
    if (error instanceof ApiError || (error instanceof DOMException && error.name === 'AbortError')) throw error;
    throw new ApiError('The server does not answer', 'dwell view', 0);
  } finally {
    end();
  }
}

async function failure(response: Response): Promise<ApiError> {
  const body: unknown = await response.json().catch(() => null);
  if (typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'string') {
    const hint = 'hint' in body && typeof body.hint === 'string' ? body.hint : null;
    return new ApiError(body.error, hint, response.status);
  }
  return new ApiError(`The server answered ${response.status} ${response.statusText}`.trim(), null, response.status);
}
