import { expect, test } from 'vitest';
import { amount, asText, barParts, csvField, isLength, kindOf } from './values';

const classes = { idle: 1e6, poor: 3e6, ok: 0, ideal: 0, over: 0 };

test('columns are known by the endings of their names', () => {
  expect(kindOf('wait_ns')).toBe('ns');
  expect(kindOf('wait_by_class')).toBe('by_class');
  expect(kindOf('gain_share')).toBe('fraction');
  expect(kindOf('wait_count', 4)).toBe('count');
  expect(kindOf('top_stack')).toBe('stack');
  expect(kindOf('object', 'queue_lock')).toBe('text');
});

test('values are shown in the units of their kind', () => {
  expect(asText('by_class', classes)).toBe('4.00 ms');
  expect(asText('ns', 0)).toBe('0');
  expect(asText('ns', null)).toBe('');
  expect(asText('count', 4210)).toBe('4,210');
  expect(asText('stack', ['lock', 'main'])).toBe('lock ← main');
  expect(asText('text', '<b>')).toBe('<b>');
  expect(amount(classes)).toBe(4e6);
});

test('a stacked bar has the parts of the classes that have time', () => {
  expect(barParts(classes, 8e6)).toEqual([
    { name: 'idle', fraction: 0.125 },
    { name: 'poor', fraction: 0.375 },
  ]);
  expect(barParts(classes, 0)).toEqual([]);
});

test('CSV quotes fields that would break a row', () => {
  expect(csvField('a,"b"')).toBe('"a,""b"""');
  expect(csvField(['x', 'y'])).toBe('x;y');
  expect(csvField(null)).toBe('');
});

test('bars are for sums, not for single lengths', () => {
  expect(['max_wait_ns', 'p99_wait_ns', 'median_wait_ns'].filter((id) => !isLength(id))).toEqual([]);
  expect(['wait_ns', 'preemption_ns', 'gain_ns'].filter(isLength)).toEqual([]);
});
