// Changes of the view that several screens make. Each returns a new view, or the same one if nothing changes.

import type { Filter, Range, ViewState } from './view-state';

/** Shows only what matches `value`, or another filter of the same key. */
export function filterIn(state: ViewState, key: string, value: string): ViewState {
  if (has(state.filters, key, value)) return state;
  return { ...state, filters: [...state.filters, { key, value }], excludes: without(state.excludes, key, value) };
}

/** Removes the filters of a key. */
export function anyOf(state: ViewState, key: string): ViewState {
  const others = (filters: Filter[]) => filters.filter((filter) => filter.key !== key);
  return { ...state, filters: others(state.filters), excludes: others(state.excludes) };
}

/** Shows only what matches `value`, in place of other values of the key. */
export function only(state: ViewState, key: string, value: string): ViewState {
  const others = anyOf(state, key);
  return { ...others, filters: [...others.filters, { key, value }] };
}

/** Hides what matches `value`. */
export function filterOut(state: ViewState, key: string, value: string): ViewState {
  if (has(state.excludes, key, value)) return state;
  return { ...state, excludes: [...state.excludes, { key, value }], filters: without(state.filters, key, value) };
}

/** Removes the filter in and the filter out of this value. */
export function removeFilter(state: ViewState, key: string, value: string): ViewState {
  return {
    ...state,
    filters: without(state.filters, key, value),
    excludes: without(state.excludes, key, value),
  };
}

/** Shows only this time, and zooms the timeline to it. */
export function filterInRange(state: ViewState, range: Range): ViewState {
  return { ...state, range: whole(range), zoom: whole(range), mark: null };
}

/** Hides this time. */
export function filterOutRange(state: ViewState, range: Range): ViewState {
  return { ...state, excludedRanges: [...state.excludedRanges, whole(range)], mark: null };
}

/** Removes all filters; the timeline keeps its zoom. */
export function clearFilters(state: ViewState): ViewState {
  return { ...state, range: null, excludedRanges: [], filters: [], excludes: [] };
}

/** Whether any filter is set. */
export function filtered(state: ViewState): boolean {
  const { range, excludedRanges, filters, excludes } = state;
  return range !== null || excludedRanges.length + filters.length + excludes.length > 0;
}

/** The view of another result, without the names that only this result has. */
export function openResult(state: ViewState, result: string): ViewState {
  return {
    ...clearFilters(state),
    result,
    selection: [],
    callees: [],
    object: '',
    socket: '',
    cause: '',
    interval: '',
    outlier: '',
    finding: '',
    function: '',
    module: '',
    search: '',
    target: null,
    zoom: null,
    mark: null,
    picked: null,
    task: null,
    lit: [],
    call: null,
    pinned: [],
    hidden: [],
    expanded: [],
    compare: '',
    flame: { ...state.flame, focus: [] },
  };
}

function has(filters: Filter[], key: string, value: string): boolean {
  return filters.some((filter) => filter.key === key && filter.value === value);
}

function without(filters: Filter[], key: string, value: string): Filter[] {
  return filters.filter((filter) => filter.key !== key || filter.value !== value);
}

/** Whole nanoseconds, never empty. */
function whole({ from, to }: Range): Range {
  const start = Math.max(0, Math.floor(from));
  return { from: start, to: Math.max(start + 1, Math.ceil(to)) };
}
