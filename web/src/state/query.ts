// The query string of a view, a part of every data call.

import type { ViewState } from './view-state';

/** The part of the selection that a call obeys. */
export interface Without {
  /** For the timeline, which draws all times, filtered or not. */
  time?: boolean;
}

/** The selection as the server's parameters, in a fixed order: equal selections give equal strings. */
export function selectionQuery(state: ViewState, without: Without = {}): URLSearchParams {
  const query = new URLSearchParams();
  if (state.range && !without.time) {
    query.set('from', String(state.range.from));
    query.set('to', String(state.range.to));
  }
  for (const { key, value } of state.filters) query.append('filter', `${key}=${value}`);
  for (const { key, value } of state.excludes) query.append('exclude', `${key}=${value}`);
  if (!without.time) for (const { from, to } of state.excludedRanges) query.append('excluded-range', `${from}-${to}`);
  if (state.includeIdle) query.set('include-idle', 'true');
  if (state.stackMode !== 'user+1') query.set('call-stack-mode', state.stackMode);
  if (!state.inlines) query.set('inlines', 'off');
  if (state.target !== null) query.set('target-concurrency', String(state.target));
  if (state.thresholds) {
    for (const [key, value] of Object.entries(state.thresholds)) query.set(key, String(value));
  }
  return query;
}

/** Adds the parameters that are not empty. */
export function withParams(
  query: URLSearchParams,
  params: Record<string, string | number | boolean | null | undefined>,
): URLSearchParams {
  const all = new URLSearchParams(query);
  for (const [key, value] of Object.entries(params)) {
    if (value !== undefined && value !== null && value !== '') all.set(key, String(value));
  }
  return all;
}
