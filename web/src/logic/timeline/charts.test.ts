import { describe, expect, it } from 'vitest';
import { chartQuestion, curveOver, gripAt, valueAt } from './charts';
import { random } from './fixture';

const series = { id: 'running', title: '', unit: 'threads', max: 4, mean: [0, 2, 4, 1], peak: [1, 3, 4, 2] };
const charts = { from: 0, to: 400, series: [series] };

describe('charts', () => {
  it('average means and keep peaks when bins share a column', () => {
    const over = (from: number, to: number, width: number) => {
      const { mean, peak } = curveOver(charts, series, { from, to }, width);
      return { mean: [...mean], peak: [...peak] };
    };
    expect(over(0, 400, 2)).toEqual({ mean: [0.25, 0.625], peak: [0.75, 1] });
    expect(over(100, 200, 3)).toEqual({ mean: [0.5, 0.5, 0.5], peak: [0.75, 0.75, 0.75] });
    expect(over(300, 500, 2)).toEqual({ mean: [0.25, Number.NaN], peak: [0.5, Number.NaN] });
  });

  it('give the value at a time', () => {
    expect(valueAt(charts, series, 250)).toEqual({ mean: 4, peak: 4 });
    expect(valueAt(charts, series, 400)).toBeNull();
  });

  it('ask for more than the visible time, and the same after small steps', () => {
    const next = random(1);
    for (let round = 0; round < 200; round += 1) {
      const span = 100 + next() * 1e9;
      const view = { from: next() * 1e10, to: 0 };
      view.to = view.from + span;
      const asked = chartQuestion(view, 1000, 2e10);
      expect(asked.from).toBeLessThanOrEqual(view.from);
      expect(asked.to).toBeGreaterThanOrEqual(view.to);
      expect(asked.width / (asked.to - asked.from)).toBeCloseTo(1000 / span, 1);
      expect(Number.isInteger(asked.from) && Number.isInteger(asked.to)).toBe(true);
    }
  });

  it("distinguish the overview's handles from its middle", () => {
    const [range, whole] = [
      { from: 100, to: 200 },
      { from: 0, to: 1000 },
    ];
    expect([50, 95, 105, 150, 197, 210].map((x) => gripAt(x, range, whole, 1000))).toEqual([
      'outside',
      'from',
      'from',
      'middle',
      'to',
      'outside',
    ]);
    const narrow = { from: 100, to: 101 };
    expect([99, 102].map((x) => gripAt(x, narrow, whole, 1000))).toEqual(['from', 'to']);
  });
});
