// Every call to the server: typed, abortable, with errors that say what to do. A result never changes, so its answers stay
// in memory: going back in the view's history sends no requests.

import { begin } from '../base/activity';
import { problemHint, problemText } from '../base/texts';
import { decodeTile, type Tile } from './tile';
import { authorization } from './token';
import type { ResultInfo } from './types';

/** What went wrong, in one sentence, and the next thing to do. */
export class ApiError extends Error {
  constructor(
    message: string,
    readonly hint: string | null,
    readonly status: number,
    /** The server's id of the problem, or `offline`. */
    readonly kind: string = '',
  ) {
    super(message);
  }

  /** The problem as a sentence in the chosen language. */
  get text(): string {
    return problemText(this.kind, this.message);
  }

  /** What to do, in the chosen language. */
  get advice(): string | null {
    return problemHint(this.kind, this.hint);
  }
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

/** An open request, shared by all callers that ask the same. */
interface Pending {
  answer: Promise<unknown>;
  abort: AbortController;
  askers: number;
}

const pending = new Map<string, Pending>();

/** One JSON answer, from memory if possible; concurrent callers share one request. */
export async function fetchJson(url: string, signal?: AbortSignal): Promise<unknown> {
  const known = remembered(url);
  if (known !== undefined) return known;
  signal?.throwIfAborted();
  const shared = pending.get(url) ?? ask(url);
  shared.askers += 1;
  return new Promise((resolve, reject) => {
    const leave = () => {
      shared.askers -= 1;
      reject(signal?.reason);
      // A caller of the same turn, such as the next screen, takes the request over.
      setTimeout(() => shared.askers === 0 && shared.abort.abort());
    };
    signal?.addEventListener('abort', leave, { once: true });
    shared.answer.then(resolve, reject).finally(() => signal?.removeEventListener('abort', leave));
  });
}

function ask(url: string): Pending {
  const abort = new AbortController();
  const answer = received(url, abort.signal).finally(() => pending.get(url) === shared && pending.delete(url));
  const shared: Pending = { answer, abort, askers: 0 };
  // Only when the last caller gives up, nobody waits for it.
  answer.catch(() => {});
  abort.signal.addEventListener('abort', () => pending.delete(url));
  pending.set(url, shared);
  return shared;
}

async function received(url: string, signal: AbortSignal): Promise<unknown> {
  const text = await awaited(url, signal, (response) => response.text());
  const value: unknown = JSON.parse(text);
  remember(url, value, text.length * 2);
  return value;
}

/** Reads the answer; the page stays busy until then. */
async function awaited<T>(url: string, signal: AbortSignal, read: (response: Response) => Promise<T>): Promise<T> {
  const end = begin();
  try {
    return await read(await request(url, { signal }));
  } finally {
    end();
  }
}

/** One JSON answer that changes from call to call. */
export async function fetchAnew<T>(url: string, signal: AbortSignal): Promise<T> {
  return awaited(url, signal, (response) => response.json() as Promise<T>);
}

/** The same for what is asked again and again: the page is not busy meanwhile. */
export async function fetchQuietly<T>(url: string, signal?: AbortSignal): Promise<T> {
  return (await request(url, { signal })).json() as Promise<T>;
}

/** A file to be saved. Nothing of it stays in memory. */
export async function fetchFile(url: string, signal: AbortSignal = new AbortController().signal): Promise<Blob> {
  return awaited(url, signal, (response) => response.blob());
}

/** Sends a request that may change something, and gives the answer. */
export async function send<T>(url: string, body: unknown, signal?: AbortSignal): Promise<T> {
  return (await request(url, { signal, method: 'POST', body: JSON.stringify(body) })).json() as Promise<T>;
}

/** One tile of the timeline. The caller stores it, and decides whether the page waits for it. */
export async function fetchTile(url: string, signal: AbortSignal): Promise<Tile> {
  const response = await request(url, { signal });
  return decodeTile(await response.arrayBuffer());
}

/** An answer from memory, or undefined. */
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

async function request(url: string, init: RequestInit): Promise<Response> {
  try {
    const response = await fetch(url, { ...init, headers: authorization(), credentials: 'omit' });
    if (!response.ok) throw await failure(response);
    return response;
  } catch (error) {
    if (error instanceof ApiError || (error instanceof DOMException && error.name === 'AbortError')) throw error;
    throw new ApiError('The server does not answer', 'dwell view', 0, 'offline');
  }
}

async function failure(response: Response): Promise<ApiError> {
  const body: unknown = await response.json().catch(() => null);
  if (typeof body === 'object' && body !== null && 'error' in body && typeof body.error === 'string') {
    const hint = 'hint' in body && typeof body.hint === 'string' ? body.hint : null;
    const kind = 'kind' in body && typeof body.kind === 'string' ? body.kind : '';
    return new ApiError(body.error, hint, response.status, kind);
  }
  return new ApiError(`The server answered ${response.status} ${response.statusText}`.trim(), null, response.status);
}
