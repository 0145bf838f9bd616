// Groupings of the Bottom-up grid, and the filter for a row of each level.

import type { ChoiceWord } from '../api/types';
import { t, title } from '../base/texts';
import type { Filter } from '../state/view-state';

/** Every function of the stacks, in one list. */
export const ALL_FUNCTIONS = 'all-functions';
/** The level of a function's callers, which repeats to the end of the stack. */
export const CALLERS = 'callers';
export const CALLEES = 'callees';

/** The list's groupings; the reader can nest any other by hand. */
export const GROUPINGS: readonly (readonly string[])[] = [
  ['function', CALLERS],
  ['object', 'function', CALLERS],
  ['object-type', 'object', 'function', CALLERS],
  ['thread', 'function', CALLERS],
  ['thread', 'object', 'function', CALLERS],
  ['process', 'thread', 'function', CALLERS],
  ['module', 'function', CALLERS],
  ['source-file', 'source-line'],
  ['object', 'thread'],
  ['wait-kind', 'object'],
  ['waker', 'object', 'function'],
  ['cpu', 'thread'],
];

/** Filter keys of the levels whose rows are named. */
const KEYS: Record<string, string> = {
  function: 'function',
  'source-function': 'function',
  [ALL_FUNCTIONS]: 'function',
  [CALLERS]: 'function',
  [CALLEES]: 'function',
  module: 'module',
  'source-file': 'source-file',
  'thread-name': 'thread',
  object: 'object',
  'object-type': 'object-type',
  cpu: 'cpu',
};

/** Levels whose rows are named `name (id)`, and the filter by that id. */
const NUMBERED: Record<string, string> = { thread: 'tid', process: 'pid' };

/** The filter for a row of a level; null if none exists. */
export function filterOf(level: string, key: string): Filter | null {
  const byId = NUMBERED[level];
  if (byId) {
    const id = /\((\d+)\)$/.exec(key)?.[1];
    return id ? { key: byId, value: id } : null;
  }
  const byName = KEYS[level];
  return byName ? { key: byName, value: key } : null;
}

/** The level of the row at this depth; the last level, callers or callees, repeats. */
export function levelAt(groupBy: readonly string[], depth: number): string {
  return groupBy[Math.min(depth, groupBy.length - 1)] ?? '';
}

/** Filters for a row and those above it: one for each key, the innermost. */
export function filtersOf(groupBy: readonly string[], path: readonly string[]): Filter[] {
  const found = new Map<string, Filter>();
  path.forEach((key, depth) => {
    const filter = filterOf(levelAt(groupBy, depth), key);
    if (filter) found.set(filter.key, filter);
  });
  return [...found.values()];
}

/** The heading of names nested by these levels; callers or callees alone are functions. */
export function namesTitle(groupBy: readonly string[], levels: readonly ChoiceWord[]): string {
  const endless = groupBy.length === 1 && (groupBy[0] === CALLERS || groupBy[0] === CALLEES);
  return endless ? title('function', 'Function') : groupBy.map((level) => levelTitle(level, levels)).join(' / ');
}

/** The title of a level. */
export function levelTitle(id: string, levels: readonly ChoiceWord[]): string {
  if (id === ALL_FUNCTIONS) return title('function', 'Function');
  if (id === CALLERS) return t('grid.callers');
  if (id === CALLEES) return t('grid.callees');
  return title(id, levels.find((level) => level.id === id)?.title ?? id);
}
