import { expect, test } from 'vitest';
import { at, type Counter, curveOf, isOfMachine, isSilent, nameOf, rateText, sections, valueText } from './counters';

const counter: Counter = {
  id: 0,
  name: 'recv_ctrl',
  domain: '',
  process: '',
  unit: 'B',
  kind: 'set',
  grows: true,
  range: [8, 1460],
  values: 2,
  mean: [null, 8, 700],
  peak: [null, 8, 1460],
  last: [null, 8, 1460],
  rate: [0, 5, 7],
};

test('counters have all digits while they are readable, in their units', () => {
  expect(valueText(146, 'B')).toBe('146 B');
  expect(valueText(8, '')).toBe('8');
  expect(valueText(1460, 'items')).toBe('1,460 items');
  expect(valueText(-0.25, '')).toBe('-0.250');
  expect(valueText(12_300_000, 'items')).toBe('12.3 M items');
  expect(valueText(660e6, 'ns')).toBe('660 ms');
  expect(valueText(261_400.5, 'B/s')).toBe('261 kB/s');
  expect(rateText(12_345, '')).toBe('12.3 k/s');
  expect(rateText(1_200_000, 'B')).toBe('1.20 MB/s');
  expect(rateText(0.66e9, 'ns')).toBe('0.660 s/s');
});

test('counters lie below their domain; those of all sockets are the program’s', () => {
  const of = (domain: string, name: string) => ({ ...counter, domain, name });
  const all = [of('Sockets', 'Bytes sent'), of('TCP a -> b', 'Bytes sent'), of('Sockets', 'Bytes received')];
  const found = sections(all).map(({ domain, counters }) => [domain, ...counters.map(({ name }) => name)]);
  expect(found).toEqual([
    ['Sockets', 'Bytes sent', 'Bytes received'],
    ['TCP a -> b', 'Bytes sent'],
  ]);
  expect(isOfMachine(of('Sockets', 'Bytes sent'))).toBe(false);
  expect(isOfMachine(of('System', 'Processes'))).toBe(true);
});

test('a set counter draws its values, a sum its rate', () => {
  expect(curveOf(counter)).toEqual({ mean: [0, 8, 700], peak: [0, 8, 1460], low: 0, high: 1460 });
  expect(curveOf({ ...counter, kind: 'sum' })).toMatchObject({ mean: [0, 5, 7], high: 7 });
  expect(curveOf({ ...counter, range: [-4, 2] }).low).toBe(-4);
});

test('a sum that also decreases draws its values', () => {
  expect(curveOf({ ...counter, kind: 'sum', grows: false }).high).toBe(1460);
});

test('processes distinguish counters of one name', () => {
  const [server, client] = [12, 34].map((pid) => ({ ...counter, process: `app (${pid})` }));
  if (!server || !client) throw new Error();
  expect(nameOf(server, [server, client])).toBe('recv_ctrl (12)');
  expect(nameOf(server, [server, { ...client, name: 'other' }])).toBe('recv_ctrl');
});

test('the mouse shows the value at its time', () => {
  const curves = { from: 0, to: 300, counters: [counter] };
  expect(at(curves, counter, 50)).toBeNull();
  expect(at(curves, counter, 299)).toEqual({ value: 1460, rate: 7 });
  expect(at(curves, counter, 900)).toBeNull();
  expect(isSilent({ ...counter, range: [0, 0] })).toBe(true);
});
