import { afterEach, expect, test } from 'vitest';
import type { Document, Info } from '../api/types';
import { setLanguage } from '../base/texts';
import { EMPTY } from '../state/view-state';
import { handleEntries, handleKind } from './handles';

afterEach(() => setLanguage('en'));

const info = { threads: [{ id: 7, name: 'worker', tid: 12 }] } as unknown as Info;

test('a handle is a letter and a number, and nothing else', () => {
  expect(['w12', ' t0 ', 'f2', 'ow525', 'ot1'].map(handleKind)).toEqual([
    'object',
    'thread',
    'finding',
    'outlier',
    'outlier',
  ]);
  for (const text of ['', 'w', 'w01', 'f0', 'o3', 'w1x', 'wait', 'W1']) expect(handleKind(text)).toBeNull();
});

test('each leads to what it names', () => {
  const waits = { rows: [{ handle: 'w3', object: 'queue_lock' }] } as unknown as Document;
  const [object] = handleEntries('w3', info, waits);
  expect(object?.text).toBe('w3: queue_lock');
  expect(object?.change(EMPTY)).toEqual({ ...EMPTY, tab: 'objects', object: 'queue_lock' });
  const [thread] = handleEntries('t7', info, undefined);
  expect(thread?.text).toBe('t7: worker (12)');
  expect(thread?.change(EMPTY)).toEqual({ ...EMPTY, tab: 'platform', pinned: [7] });
  const findings = {
    rows: [{ handle: 'f2', id: 'thundering-herd', title: 'Thundering herd', subject: 'gate' }],
  } as unknown as Document;
  const [finding] = handleEntries(' f2', info, findings);
  expect(finding?.text).toBe('f2: Thundering herd: gate');
  expect(finding?.change(EMPTY)).toEqual({ ...EMPTY, tab: 'findings', finding: 'f2' });
  setLanguage('ja');
  expect(handleEntries('f2', info, findings)[0]?.text).not.toContain('Thundering');
  const [outlier] = handleEntries('ow525', info, undefined);
  expect(outlier?.change(EMPTY)).toEqual({ ...EMPTY, tab: 'latency', interval: 'ow525', outlier: 'w525' });
});

test('what is not there has no entry', () => {
  const other = { rows: [{ handle: 'w3', object: 'queue_lock' }] } as unknown as Document;
  expect(handleEntries('w4', info, other)).toEqual([]);
  expect(handleEntries('t8', info, undefined)).toEqual([]);
  expect(handleEntries('f1', info, { rows: [] } as unknown as Document)).toEqual([]);
});
