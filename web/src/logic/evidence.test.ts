import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { EMPTY } from '../state/view-state';
import { evidenceOf, showFinding } from './evidence';

const finding = (id: string, subject: string | null) => ({ id, subject, cost_ns: 1 });
const show = (id: string, subject: string | null) => showFinding(EMPTY, finding(id, subject));

test('a finding about waits leads to their lengths, filtered to them', () => {
  const filters = [{ key: 'object', value: 'queue_lock' }];
  expect(show('fine-grained-waits', 'queue_lock')).toMatchObject({ tab: 'objects', object: 'queue_lock', filters });
  expect(show('nagle-delayed-ack', 'TCP a -> b')).toMatchObject({ tab: 'sockets', socket: '' });
  expect(show('spinning', 'pthread_spin_lock')).toMatchObject({ tab: 'caller-callee', function: 'pthread_spin_lock' });
});

test('the filters of another finding are replaced', () => {
  const state = {
    ...EMPTY,
    filters: [
      { key: 'object', value: 'a' },
      { key: 'thread', value: 't' },
    ],
  };
  expect(showFinding(state, finding('fine-grained-waits', 'b')).filters).toEqual([
    { key: 'thread', value: 't' },
    { key: 'object', value: 'b' },
  ]);
});

test('a finding about threads filters to them, one about a time to that', () => {
  expect(show('thread-churn', 'threads named short')).toMatchObject({
    tab: 'platform',
    filters: [{ key: 'thread', value: 'short' }],
  });
  const phase = { ...finding('single-threaded-phase', 'f'), from_ns: 5, to_ns: 9 };
  expect(showFinding(EMPTY, phase)).toMatchObject({ tab: 'platform', range: { from: 5, to: 9 } });
});

test('every finding of the documentation has evidence and leads somewhere else than to the summary', () => {
  const text = readFileSync(new URL('../../../docs/findings.md', import.meta.url), 'utf8');
  const ids = [...text.matchAll(/^\| \[.*\| `([\w-]+)` \|/gm)].map(([, id]) => id ?? '');
  expect(ids.length).toBeGreaterThan(5);
  for (const id of ids) {
    expect(show(id, 'm').tab, id).not.toBe('summary');
    expect(evidenceOf(finding(id, 'm')), id).not.toEqual([]);
  }
  expect(evidenceOf(finding('of-a-later-version', 'm'))).toEqual([]);
});
