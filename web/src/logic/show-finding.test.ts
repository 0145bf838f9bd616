import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { EMPTY } from '../state/view-state';
import { showFinding } from './show-finding';

const show = (id: string, subject: string | null) => showFinding(EMPTY, { id, subject, location: null });

test('a finding about a lock leads to what held it, one about waits to their lengths', () => {
  expect(show('lock-convoy', 'queue_lock')).toMatchObject({ tab: 'blame', object: 'queue_lock' });
  expect(show('fine-grained-waits', 'ready')).toMatchObject({ tab: 'objects', object: 'ready' });
  expect(show('spinning', 'pthread_spin_lock')).toMatchObject({ tab: 'caller-callee', function: 'pthread_spin_lock' });
});

test('a finding about threads filters to them', () => {
  expect(show('thread-churn', 'threads named short')).toMatchObject({
    tab: 'platform',
    filters: [{ key: 'thread', value: 'short' }],
  });
});

test('every finding of the documentation leads somewhere else than to the summary', () => {
  const text = readFileSync(new URL('../../../docs/metrics.md', import.meta.url), 'utf8');
  for (const [, id = ''] of text.matchAll(/^### .*\(`([\w-]+)`\)/gm)) expect(show(id, 'm').tab, id).not.toBe('summary');
});
