// Which screens have nothing to show of a result, and why.

import type { Info } from '../api/types';
import type { TextKey } from '../base/texts';
import type { Tab } from '../state/view-state';

/** The text that says why, and what would record it. */
export type EmptyTab = Extract<TextKey, 'sockets.none' | 'tasks.none' | 'compare.alone'>;

/** Whether sockets were recorded. */
export function hasSockets({ manifest: { topics } }: Pick<Info, 'manifest'>): boolean {
  return Array.isArray(topics) && topics.includes('sockets');
}

/** Whether the program told of tasks, frames or counters. */
export function hasTasks({ task_types, counters }: Pick<Info, 'task_types' | 'counters'>): boolean {
  return task_types.length > 0 || counters > 0;
}

/** The screens without data; `results` is how many results the folder has, this one included. */
export function emptyTabs(
  info: Pick<Info, 'manifest' | 'task_types' | 'counters'>,
  results: number,
): Partial<Record<Tab, EmptyTab>> {
  return {
    ...(hasSockets(info) ? {} : { sockets: 'sockets.none' as const }),
    ...(hasTasks(info) ? {} : { tasks: 'tasks.none' as const }),
    ...(results > 1 ? {} : { compare: 'compare.alone' as const }),
  };
}
