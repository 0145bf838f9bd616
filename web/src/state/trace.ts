// Questions about the view's instruction trace, on the view's machine.

import { useEffect, useState } from 'react';
import { fetchAnew } from '../api/client';
import type { ReplayProgress, TraceAnswers, ViewDocument } from '../api/types';
import { useView } from './provider';
import { type Params, withParams } from './query';
import { type Resource, useJson } from './resource';

/** The address of a question, without the machine if it is the default. */
export function traceUrl(trace: string, question: string, machine: string, params: Params = {}): string {
  const query = withParams(new URLSearchParams(), { machine, ...params });
  return `/api/t/${encodeURIComponent(trace)}/${question}${query.size > 0 ? `?${query}` : ''}`;
}

export function useTraceUrl(question: string, params: Params = {}): string {
  return useView(({ result, machine }) => traceUrl(result, question, machine, params));
}

/** The server's answer; null `params` send no request. */
export function useTrace<Q extends keyof TraceAnswers>(
  question: Q,
  params: Params | null = {},
): Resource<TraceAnswers[Q]> {
  const url = useTraceUrl(question, params ?? {});
  return useJson(params ? url : null);
}

/** A report as `dwell anatomy report NAME`, with its columns. */
export function useTraceView(name: string, params: Params | null = {}): Resource<ViewDocument> {
  const url = useTraceUrl(`view/${name}`, params ?? {});
  return useJson(params ? url : null);
}

const POLL_MS = 200;

/** The progress of a replay, 0 … 1, while `waiting`; null if unknown. */
export function useReplayProgress(waiting: boolean): number | null {
  const url = useTraceUrl('progress');
  const [done, setDone] = useState<number | null>(null);
  useEffect(() => {
    if (!waiting) return;
    const abort = new AbortController();
    const ask = () =>
      fetchAnew<ReplayProgress | null>(url, abort.signal).then(
        (found) => setDone(found && found.size_bytes > 0 ? found.read_bytes / found.size_bytes : null),
        () => undefined,
      );
    const timer = setInterval(ask, POLL_MS);
    return () => {
      clearInterval(timer);
      abort.abort();
      setDone(null);
    };
  }, [url, waiting]);
  return done;
}
