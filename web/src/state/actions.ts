// Changes of the view that several screens make. Each gives a new view, or the same one where nothing changes.

import type { Filter, Range, ViewState } from './view-state';

/** Only what matches `value` is shown; with a filter of the same key, either. */
export function filterIn(state: ViewState, key: string, value: string): ViewState {
  if (has(state.filters, key, value)) return state;
  return { ...state, filters: [...state.filters, { key, value }], excludes: without(state.excludes, key, value) };
}

/** No filter of the key any more. */
export function anyOf(state: ViewState, key: string): ViewState {
  const others = (filters: Filter[]) => filters.filter((filter) => filter.key !== key);
  return { ...state, filters: others(state.filters), excludes: others(state.excludes) };
}

/** Only what matches `value` is shown, whatever other values of the key were. */
export function only(state: ViewState, key: string, value: string): ViewState {
  const others = anyOf(state, key);
  return { ...others, filters: [...others.filters, { key, value }] };
}

/** What matches `value` is not shown. */
export function filterOut(state: ViewState, key: string, value: string): ViewState {
  if (has(state.excludes, key, value)) return state;
  return { ...state, excludes: [...state.excludes, { key, value }], filters: without(state.filters, key, value) };
}

/** Takes both a filter in and a filter out of this value away. */
export function removeFilter(state: ViewState, key: string, value: string): ViewState {
  return {
    ...state,
    filters: without(state.filters, key, value),
    excludes: without(state.excludes, key, value),
  };
}

/** Only this time is shown, and the timeline zooms to it. */
export function filterInRange(state: ViewState, range: Range): ViewState {
  return { ...state, range: whole(range), zoom: whole(range), mark: null };
}

/** This time is not shown. */
export function filterOutRange(state: ViewState, range: Range): ViewState {
  return { ...state, excludedRanges: [...state.excludedRanges, whole(range)], mark: null };
}

/** Every filter is taken away; the timeline stays where it is. */
export function clearFilters(state: ViewState): ViewState {
  return { ...state, range: null, excludedRanges: [], filters: [], excludes: [] };
}

/** Whether anything is filtered. */
export function filtered(state: ViewState): boolean {
  const { range, excludedRanges, filters, excludes } = state;
  return range !== null || excludedRanges.length + filters.length + excludes.length > 0;
}

/** The view of another result: what belongs to the names of this one is dropped. */
export function openResult(state: ViewState, result: string): ViewState {
  return {
    ...clearFilters(state),
    result,
    selection: [],
    callees: [],
    object: '',
    socket: '',
    interval: '',
    outlier: '',
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
