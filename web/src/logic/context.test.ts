import { expect, test } from 'vitest';
import type { Info } from '../api/types';
import { EMPTY } from '../state/view-state';
import { type Subject, subjectGroup, subjectsOf } from './context';

const info = { threads: [{ id: 4, name: 'worker', tid: 12 }] } as unknown as Info;
const texts = (subject: Subject, known: Info | null = info) =>
  subjectGroup(subject, known, 'summary').entries.map(({ text }) => text);
const run = (subject: Subject, text: string) =>
  subjectGroup(subject, info, 'summary')
    .entries.find((entry) => entry.text === text)
    ?.change?.(EMPTY);

test('each thing has the screens that make sense for it', () => {
  const usual = ['Filter in', 'Filter out', 'Copy the name'];
  expect(texts({ level: 'object', name: 'm' })).toEqual([
    ...usual,
    'Show in Sync Objects',
    'Show in Blame',
    'Show in Bottom-up',
  ]);
  expect(texts({ level: 'callers', name: 'main' })).toEqual([
    ...usual,
    'Show in Caller/Callee',
    'Show in Source',
    'Show in Flame Graph',
  ]);
  expect(texts({ level: 'thread', name: 'worker (12)' })).toEqual([...usual, 'Show in Platform', 'Show in Bottom-up']);
  expect(texts({ level: 'module', name: 'libc.so.6' })).toEqual(usual);
  // The screen where one is is no other screen.
  const here = subjectGroup({ level: 'object', name: 'm' }, info, 'blame');
  expect(here.entries.map(({ text }) => text)).not.toContain('Show in Blame');
  // No filter tells wakers apart, and a trace has no filters at all.
  expect(texts({ level: 'waker', name: '[timer]' })).toEqual(['Copy the name']);
  expect(texts({ level: 'function', name: 'main' }, null)).toEqual(['Copy the name']);
});

test('the entries filter and lead on', () => {
  const thread = { level: 'thread', name: 'worker (12)' };
  expect(run(thread, 'Filter in')?.filters).toEqual([{ key: 'tid', value: '12' }]);
  expect(run(thread, 'Filter out')?.excludes).toEqual([{ key: 'tid', value: '12' }]);
  expect(run(thread, 'Show in Platform')).toEqual({ ...EMPTY, tab: 'platform', pinned: [4] });
  expect(run(thread, 'Show in Bottom-up')).toMatchObject({
    tab: 'bottom-up',
    filters: [{ key: 'tid', value: '12' }],
    groupBy: ['thread', 'function', 'callers'],
  });
  expect(run({ level: 'object', name: 'm' }, 'Show in Blame')).toEqual({ ...EMPTY, tab: 'blame', object: 'm' });
  expect(run({ level: 'task', name: 'push' }, 'Show in Bottom-up')?.filters).toEqual([{ key: 'task', value: 'push' }]);
  expect(subjectGroup(thread, info, 'summary').entries.find(({ copy }) => copy)?.copy).toBe('worker (12)');
});

test('a row of a report names the things of its columns', () => {
  const columns = [{ id: 'object' }, { id: 'wait_ns' }, { id: 'thread' }, { id: 'function' }];
  expect(subjectsOf(columns, ['m', 5, 'worker (12)', null])).toEqual([
    { level: 'object', name: 'm' },
    { level: 'thread', name: 'worker (12)' },
  ]);
  expect(subjectsOf(columns, [])).toEqual([]);
});
