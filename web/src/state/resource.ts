// Data of the server in a component: asked again when the address changes, the call before aborted, the data before
// kept on the screen meanwhile so that nothing jumps.

import { useEffect, useMemo, useState } from 'react';
import { type Answers, ApiError, fetchJson, remembered, resultUrl } from '../api/client';
import { useView } from './provider';
import { selectionQuery, type Without, withParams } from './query';
import type { ViewState } from './view-state';

export interface Resource<T> {
  /** The newest data; of the question before while `loading`. */
  data: T | undefined;
  error: ApiError | null;
  loading: boolean;
  /** Loading for longer than an answer should take: time for a skeleton, or to dim what is old. */
  slow: boolean;
  retry(): void;
}

/** What comes sooner is not worth dimming the whole pane twice, which costs browsers without a GPU as much as the answer. */
const PATIENCE_MS = 300;

interface Received<T> {
  url: string;
  data: T | undefined;
  error: ApiError | null;
}

/** The JSON answer at `url`; null asks nothing. */
export function useJson<T>(url: string | null): Resource<T> {
  const [received, setReceived] = useState<Received<T> | null>(null);
  const [slowUrl, setSlowUrl] = useState<string | null>(null);
  const [attempt, setAttempt] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt asks again, at the same address.
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

export type Params = Record<string, string | number | boolean | null | undefined>;

export interface CallOptions {
  /** What is asked beside the selection. */
  params?: Params | undefined;
  without?: Without | undefined;
  /** Ask nothing as long as false. */
  when?: boolean | undefined;
  /** Another result than the view's. */
  result?: string | undefined;
  /** Another selection than the view's, made from it. */
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
  // The facts about a result and its log are not selected from.
  const query = call === 'info' || call === 'log' ? new URLSearchParams() : selectionQuery(state, without);
  return resultUrl(id, call, withParams(query, params));
}

export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError(error instanceof Error ? error.message : String(error), null, 0);
}
