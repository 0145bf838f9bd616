import { describe, expect, it } from 'vitest';
import { axisOf, exactTime, roundStep, timeText } from './axis';
import { random } from './fixture';

describe('axis', () => {
  it('takes round steps', () => {
    const steps = [1, 1.1, 3, 7, 99, 100, 101, 2.5e9, 11e9, 45e9, 61e9, 4000e9, 100_000e9];
    expect(steps.map(roundStep)).toEqual([1, 2, 5, 10, 100, 100, 200, 5e9, 15e9, 60e9, 120e9, 7200e9, 172_800e9]);
  });

  it('labels every scale from ns to hours', () => {
    const texts = (from: number, to: number) => axisOf({ from, to }, 400).ticks.flatMap(({ text }) => text ?? []);
    expect(texts(0, 10)).toEqual(['0 ns', '5 ns', '10 ns']);
    expect(texts(0, 2000)).toEqual(['0.0 µs', '0.5 µs', '1.0 µs', '1.5 µs', '2.0 µs']);
    expect(texts(0, 40e6)).toEqual(['0 ms', '10 ms', '20 ms', '30 ms', '40 ms']);
    expect(texts(1e9, 3e9)).toEqual(['1.0 s', '1.5 s', '2.0 s', '2.5 s', '3.0 s']);
    expect(texts(30e9, 150e9)).toEqual(['0:30 min', '1:00 min', '1:30 min', '2:00 min', '2:30 min']);
    expect(texts(0, 4 * 3600e9)).toEqual(['0:00:00 h', '1:00:00 h', '2:00:00 h', '3:00:00 h', '4:00:00 h']);
  });

  it('counts from a base where labels would be rows of digits', () => {
    const axis = axisOf({ from: 3_200_000_004, to: 3_200_000_024 }, 400);
    expect(axis.base).toEqual({
      time: 3_200_000_000,
      text: '3.2\u202f000\u202f000 s'.replace('3.2\u202f000\u202f000', '3.200'),
    });
    expect(axis.ticks.flatMap(({ text }) => text ?? [])).toEqual(['+5 ns', '+10 ns', '+15 ns', '+20 ns']);
    expect(exactTime(3_200_000_010)).toBe('3.200\u202f000\u202f010 s');
    expect(exactTime(7e9)).toBe('7 s');
  });

  it('has labels that differ, with room between, in any view', () => {
    const next = random(7);
    for (let round = 0; round < 1000; round += 1) {
      const span = 10 * 3600e9 ** next();
      const from = next() * 3600e9;
      const axis = axisOf({ from, to: from + span }, 1200);
      const labelled = axis.ticks.filter(({ text }) => text !== null);
      expect(new Set(labelled.map(({ text }) => text)).size).toBe(labelled.length);
      expect(labelled.length).toBeGreaterThan(1);
      for (const [at, tick] of labelled.entries()) {
        const before = labelled[at - 1];
        if (before) expect(tick.x - before.x).toBeGreaterThan(85);
      }
    }
  });

  it('shows clock times beyond a minute', () => {
    expect(timeText(61.5e9, 0.5e9)).toBe('1:01.5 min');
    expect(timeText(3661e9, 1e9)).toBe('1:01:01 h');
  });
});
