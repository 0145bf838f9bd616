import { expect, test } from 'vitest';
import { groupOf, TAB_GROUPS, TABS } from '../state/view-state';
import { emptyTabs } from './tabs';

test('screens without data say why', () => {
  const empty = { manifest: { topics: ['threading'] }, task_types: [], counters: 0 };
  expect(emptyTabs(empty, 1)).toEqual({
    sockets: 'sockets.none',
    tasks: 'tasks.none',
    compare: 'compare.alone',
  });
  const tasks = [{ name: 'push', domain: '', kind: 'task' }];
  expect(emptyTabs({ manifest: { topics: ['threading', 'sockets'] }, task_types: tasks, counters: 0 }, 2)).toEqual({});
});

test('each screen is in one group, and the first nine have the keys 1 to 9', () => {
  expect(new Set(TABS).size).toBe(TABS.length);
  expect(TABS.slice(0, 9)).toEqual([
    'summary',
    'explain',
    'bottom-up',
    'caller-callee',
    'top-down',
    'flame',
    'objects',
    'sockets',
    'latency',
  ]);
  for (const tab of TABS) expect(TAB_GROUPS[groupOf(tab)]).toContain(tab);
});
