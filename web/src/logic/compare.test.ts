import { expect, test } from 'vitest';
import type { MetricInfo } from '../api/types';
import { comparison, sideOf } from './compare';

const metric = (id: string, unit: string): MetricInfo => ({
  id,
  unit,
  title: id.toUpperCase(),
  additive: true,
  better: 'lower',
  help: '',
  detail: '',
});

test('columns are told by the endings of their names', () => {
  expect(sideOf('wait_ns_difference')).toEqual({ metric: 'wait_ns', side: 'difference' });
  expect(sideOf('object')).toBeNull();
});

test('a comparison becomes a table with the kinds of its metrics', () => {
  const row = {
    object: 'm',
    wait_ns_first: 5,
    wait_ns_second: 2,
    wait_ns_difference: 3,
    wait_ns_ratio: 0.4,
    wait_count_first: 1,
  };
  const view = comparison(
    { rows: [{ ...row, share: 0.5 }], notes: ['n'] },
    [metric('wait_ns', 'ns'), metric('wait_count', 'count')],
    (known, id, side) => `${known?.title ?? id} ${side ?? ''}`.trim(),
  );
  expect(view.columns.map(({ kind }) => kind)).toEqual(['text', 'ns', 'ns', 'ns', 'real', 'count', 'fraction']);
  expect(view.columns[3]?.title).toBe('WAIT_NS difference');
  expect(view.rows[0]?.values[3]).toBe(3);
  expect(comparison({ notes: [] }, [], String).rows).toEqual([]);
});
