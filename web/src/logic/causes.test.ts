import { expect, test } from 'vitest';
import { EMPTY } from '../state/view-state';
import { causeId, chainTexts, functionOf, showThreads } from './causes';
import type { ChainLink } from './chains';

const LINK: ChainLink = {
  chain: 0,
  wait_ns: 2_000_000_000,
  who: 'serve-N of web',
  waited_for: 'mutex log',
  place: 'log (log.c:7)',
  object: 'log',
  threads: 'serve-*',
  process: 'web',
};

test('causes of one role at one place differ by whose turn it was', () => {
  const queued = (behind: string) => causeId({ who: 'a', kind: 'run-queue', place: null, waited_for: null, behind });
  expect(queued('b')).not.toBe(queued('c'));
  expect(causeId({ who: 'a', kind: 'slept', place: 'f (a.c:3)', waited_for: null, behind: null })).toBe(
    'slept|a|f (a.c:3)',
  );
});

test('a chain is a line, the first wait first, cut where it is long', () => {
  expect(chainTexts([LINK, { ...LINK, who: 'main', waited_for: 'join of serve-N' }], 2)).toEqual([
    '2.00 s: serve-N of web waited for mutex log at log (log.c:7) ← main waited for join of serve-N at log (log.c:7)',
  ]);
  expect(chainTexts(Array(6).fill(LINK), 1)[0]).toMatch(/ ← …$/);
  expect(chainTexts([LINK, { ...LINK, chain: 1 }], 1).length).toBe(1);
});

test('threads are shown by their names and their process, in place of other filters of these', () => {
  const shown = showThreads({ ...EMPTY, filters: [{ key: 'thread', value: 'x' }] }, LINK);
  expect(shown.tab).toBe('platform');
  expect(shown.filters).toEqual([
    { key: 'thread', value: 'serve-*' },
    { key: 'process', value: 'web' },
  ]);
});

test('the function of a place is without its line', () => {
  expect(functionOf('log (log.c:7)')).toBe('log');
  expect(functionOf('operator()(int) (a.cpp:1)')).toBe('operator()(int)');
});
