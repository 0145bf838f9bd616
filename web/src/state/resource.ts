// The server's data in a component. When the address changes, it aborts the old call and keeps the old data on the screen
// until the new data arrives, so that nothing jumps.

import { useEffect, useMemo, useState } from 'react';
import { ApiError, fetchJson, remembered, resultUrl } from '../api/client';
import type { Answers } from '../api/types';
import { useView } from './provider';
import { type Params, selectionQuery, type Without, withParams } from './query';
import type { ViewState } from './view-state';

export interface Resource<T> {
  /** The newest data; while `loading`, that of the previous question. */
  data: T | undefined;
  error: ApiError | null;
  loading: boolean;
  /** Whether loading takes longer than it should: time for a skeleton, or to dim the old data. */
  slow: boolean;
  retry(): void;
}

/** Faster answers dim nothing: without a GPU, dimming a pane and undoing it costs as much as the answer. */
const PATIENCE_MS = 300;

interface Received<T> {
  url: string;
  data: T | undefined;
  error: ApiError | null;
}

/** The JSON answer at `url`; null sends no request. */
export function useJson<T>(url: string | null): Resource<T> {
  const [received, setReceived] = useState<Received<T> | null>(null);
  const [slowUrl, setSlowUrl] = useState<string | null>(null);
  const [attempt, setAttempt] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt repeats the request to the same address.
  useEffect(() => {
    if (url === null) return;
    const abort = new AbortController();
    const timer = setTimeout(() => setSlowUrl(url), PATIENCE_MS);
    fetchJson(url, abort.signal).then(
      (data) => !abort.signal.aborted && setReceived({ url, data: data as T, error: null }),
      (error) => !abort.signal.aborted && setReceived({ url, data: undefined, error: asApiError(error) }),
    );
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [url, attempt]);
  const retry = () => {
    setReceived(null);
    setAttempt((count) => count + 1);
  };
  if (url === null) return { data: undefined, error: null, loading: false, slow: false, retry };
  if (received?.url === url) return { ...received, loading: false, slow: false, retry };
  const known = remembered(url) as T | undefined;
  if (known !== undefined) return { data: known, error: null, loading: false, slow: false, retry };
  return { data: received?.data, error: null, loading: true, slow: slowUrl === url, retry };
}

export interface CallOptions {
  /** Parameters beside the selection. */
  params?: Params | undefined;
  without?: Without | undefined;
  /** False sends no request. */
  when?: boolean | undefined;
  /** A result other than the view's. */
  result?: string | undefined;
  /** A selection derived from the view's. */
  change?: ((state: ViewState) => ViewState) | undefined;
}

type CallName = Exclude<keyof Answers, 'report' | 'view'>;

/** A call about the view's result with the view's selection. */
export function useCall<C extends CallName>(call: C, options: CallOptions = {}): Resource<Answers[C]> {
  return useJson(useCallUrl(call, options));
}

/** A report of the view's selection, as `dwell report NAME --format json`. */
export function useReport(name: string, options: CallOptions = {}): Resource<Answers['report']> {
  return useJson(useCallUrl(`report/${name}`, options));
}

/** A report with its columns. */
export function useReportView(name: string, options: CallOptions = {}): Resource<Answers['view']> {
  return useJson(useCallUrl(`view/${name}`, options));
}

/** The address of a call with the view's selection. */
export function useCallUrl(call: string, options: CallOptions): string | null {
  const { params = {}, without, when = true, result, change = (state) => state } = options;
  const own = useView((state) => callUrl(change(state), call, params, without, result));
  return useMemo(() => (when ? own : null), [own, when]);
}

export function callUrl(state: ViewState, call: string, params: Params, without?: Without, result?: string): string {
  const id = result ?? state.result;
  // The selection does not affect the facts about a result, nor its log.
  const query = call === 'info' || call === 'log' ? new URLSearchParams() : selectionQuery(state, without);
  return resultUrl(id, call, withParams(query, params));
}

export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError(error instanceof Error ? error.message : String(error), null, 0);
}
