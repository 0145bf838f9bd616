// The query string of a view, a part of every data call.

import type { Words } from '../api/types';
import type { Filter, ViewState } from './view-state';

/** The part of the selection that a call obeys. */
export interface Without {
  /** For the timeline, which draws all times, filtered or not. */
  time?: boolean;
}

/** Words of a request with their values; null, undefined and empty texts are left out. */
export type Params = { [Word in keyof Words]?: Words[Word] | null | undefined };

/** The selection as the server's parameters, in a fixed order: equal selections give equal strings. */
export function selectionQuery(state: ViewState, without: Without = {}): URLSearchParams {
  const time = !without.time;
  return withParams(new URLSearchParams(), {
    from: time ? state.range?.from : null,
    to: time ? state.range?.to : null,
    filter: state.filters.map(written),
    exclude: state.excludes.map(written),
    'excluded-range': time ? state.excludedRanges.map(({ from, to }) => `${from}-${to}`) : [],
    'include-idle': state.includeIdle || null,
    'call-stack-mode': state.stackMode === 'user+1' ? null : state.stackMode,
    inlines: state.inlines ? null : 'off',
    'target-concurrency': state.target,
    poor: state.thresholds?.poor,
    ok: state.thresholds?.ok,
    ideal: state.thresholds?.ideal,
  });
}

function written({ key, value }: Filter): string {
  return `${key}=${value}`;
}

/** Adds the parameters that are not empty. */
export function withParams(query: URLSearchParams, params: Params): URLSearchParams {
  const all = new URLSearchParams(query);
  for (const [word, value] of Object.entries(params)) {
    if (value === undefined || value === null || value === '') continue;
    all.delete(word);
    for (const each of [value].flat())
      all.append(word, typeof each === 'boolean' ? String(Number(each)) : String(each));
  }
  return all;
}
