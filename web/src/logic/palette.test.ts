import { afterEach, expect, test } from 'vitest';
import type { Info } from '../api/types';
import { setLanguage } from '../base/texts';
import { EMPTY } from '../state/view-state';
import { changeEntries, found, nameEntries, screenEntries, threadEntries } from './palette';

afterEach(() => setLanguage('en'));

const info = {
  threads: [
    { id: 3, name: 'main', tid: 11 },
    { id: 4, name: 'worker', tid: 12 },
    { id: 5, name: 'worker', tid: 13 },
  ],
} as unknown as Info;
const texts = (search: string) =>
  found([...screenEntries('summary'), ...changeEntries()], search).map(({ text }) => text);

test('each word must be there; what begins with the search comes first', () => {
  expect(texts('co')).toEqual(['Collection Log', 'Compare']);
  expect(texts('la')).toEqual(['Latency', 'Flame Graph', 'Blame', 'Platform: timeline']);
  expect(texts('ca').slice(0, 2)).toEqual(['Causes', 'Caller/Callee']);
  expect(texts('timeline')[0]).toEqual('Platform: timeline');
  expect(texts('graph')).toEqual(['Flame Graph']);
  expect(texts('log COLL')).toEqual(['Collection Log']);
  expect(texts('no such command')).toEqual([]);
  expect(texts('').length).toBe(screenEntries('summary').length + changeEntries().length);
  setLanguage('ja');
  expect(texts('タイムライン').length).toBeGreaterThan(0);
});

test('a name leads to the screen that shows it', () => {
  const to = (...[group, name]: [Parameters<typeof nameEntries>[0], string]) =>
    nameEntries(group, [name])[0]?.change(EMPTY);
  expect(to('object', 'queue_lock')).toEqual({ ...EMPTY, tab: 'objects', object: 'queue_lock' });
  expect(to('function', 'main')).toEqual({ ...EMPTY, tab: 'caller-callee', function: 'main' });
  expect(to('task', 'push')).toEqual({ ...EMPTY, tab: 'tasks', search: 'push' });
});

test('a thread is found by its name or its number, and its band goes to the top', () => {
  const texts = (search: string, most = 9) => threadEntries(info, search, most).map(({ text }) => text);
  expect(texts('WORK')).toEqual(['worker (12)', 'worker (13)']);
  expect(texts('work', 1)).toEqual(['worker (12)']);
  expect(texts('13 worker')).toEqual(['worker (13)']);
  const state = { ...EMPTY, pinned: [2, 4], hidden: [3, 4] };
  const change = threadEntries(info, '12', 1)[0]?.change;
  expect(change?.(state)).toEqual({ ...EMPTY, tab: 'platform', pinned: [4, 2], hidden: [3] });
  expect(change?.({ ...state, bands: 'cpu' })).toEqual({ ...EMPTY, tab: 'platform', pinned: [4] });
});

test('the screens of an instruction trace are its own', () => {
  expect(screenEntries('calls').map(({ id }) => id)).toContain('view packets');
  expect(screenEntries('summary').map(({ id }) => id)).not.toContain('view packets');
});
