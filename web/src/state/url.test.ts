import { expect, test } from 'vitest';
import { fromHash, toHash } from './url';
import { EMPTY, type ViewState } from './view-state';

const full: ViewState = {
  result: 'r003th',
  tab: 'blame',
  range: { from: 1_500_000_000, to: 3_200_000_000 },
  excludedRanges: [
    { from: 0, to: 5 },
    { from: 7, to: 9 },
  ],
  filters: [
    { key: 'thread', value: 'io-*' },
    { key: 'object', value: 'a=b&c #<script>,"ü' },
  ],
  excludes: [{ key: 'module', value: '/usr/lib/libc.so.6' }],
  includeIdle: true,
  stackMode: 'all',
  inlines: false,
  target: 8,
  thresholds: { poor: 0.25, ok: 0.5, ideal: 1 },
  groupBy: ['module', 'function'],
  metrics: ['wait_ns', 'wait_count'],
  sort: { metric: 'wait_ns', descending: false },
  selection: ['queue_lock', 'a,b', 'f(int, "x")'],
  callees: ['12', 'a,b'],
  stackKind: 'waker',
  search: 'push item',
  object: 'queue_lock',
  socket: '3',
  interval: 'wait on a=b',
  cause: 'slept|worker-N|f (a.c:3)',
  outlier: 'w17',
  finding: 'f2',
  function: 'std::vector<int, std::allocator<int> >::push_back',
  module: 'app',
  flame: { weight: 'both', inverted: true, byThread: true, focus: ['main', 'f'] },
  compare: 'r004th',
  machine: 'zen5',
  second: 'zen4',
  lit: ['soft interrupt', 'a,b'],
  call: 77,
  measure: 'buffer_cycles',
  zoom: { from: 1, to: 2 },
  mark: { from: 3, to: 4 },
  bands: 'cpu',
  bandSort: 'wait_ns',
  picked: { thread: 3, at: 1_234_567_890_123 },
  task: 7,
  pinned: [4, 1],
  hidden: [2],
  expanded: [1],
  off: ['running', 'samples'],
};

test('a link restores every part of the view', () => {
  expect(fromHash(`#${toHash(full)}`)).toEqual(full);
  // Every field differs from the empty view, so that the test notices a forgotten one.
  for (const key of Object.keys(EMPTY) as (keyof ViewState)[]) expect(full[key], key).not.toEqual(EMPTY[key]);
});

test('the empty view has an empty link', () => {
  expect(toHash(EMPTY)).toBe('');
  expect(fromHash('')).toEqual(EMPTY);
});

test('wrong parts of a link are dropped, the rest is kept', () => {
  const state = fromHash(
    '#r=r000th&tab=nonsense&range=9-3&xrange=x&filter=novalue&classes=2,1,0&flame=[1]&sel={}&target=no&sort=x&group=&at=3&pin=a,1&hide=&open=-1',
  );
  expect(state).toEqual({ ...EMPTY, result: 'r000th' });
});
