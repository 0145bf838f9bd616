import { describe, expect, it } from 'vitest';
import { newColumns, paintColumns } from './columns';
import { ALL_STATES, band, random, text } from './fixture';

function painted(timeline: string, width: number, view = { from: 0, to: timeline.length }): string {
  const columns = newColumns(width);
  const data = band(0, timeline);
  paintColumns([{ data, from: 0, to: timeline.length }], view, columns, ALL_STATES);
  return text(columns);
}

describe('columns', () => {
  it('show events as they are where there is room', () => {
    expect(painted('RRLLLL..PR', 10)).toBe('RRLLLL..PR');
    expect(painted('RLP', 12)).toBe('RRRRLLLLPPPP');
  });

  it('show the majority and say that there are many', () => {
    expect(painted('RRRLRRRR' + 'LLLLLLLR', 2)).toBe('rl');
    expect(painted('RLRLRLRL' + 'LLLLLLLL', 2)).toBe('rL');
    expect(painted('RRLRLLLL', 4)).toBe('RrLL');
  });

  it('lose no event, however short', () => {
    expect(painted(`${'.'.repeat(500)}D${'.'.repeat(499)}`, 10)).toBe('.....D....');
    expect(painted(`${'R'.repeat(549)}D${'R'.repeat(450)}`, 10)).toBe('RRRRRrRRRR');
  });

  it('cut at the edges of the view', () => {
    expect(painted('RRRRLLLLPPPP', 4, { from: 3, to: 7 })).toBe('RLLL');
    expect(painted('RRRR', 4, { from: 2, to: 6 })).toBe('RR..');
  });

  it('do not depend on how the data is cut into parts', () => {
    const next = random(3);
    for (let round = 0; round < 200; round += 1) {
      const timeline = Array.from({ length: 120 }, () => 'RRRRLLLIP.'[Math.floor(next() * 10)])
        .flatMap((letter) => Array(1 + Math.floor(next() * 6)).fill(letter))
        .join('');
      const data = band(0, timeline);
      const view = { from: next() * 20, to: timeline.length - next() * 20 };
      const cut = Math.floor(next() * timeline.length);
      const [whole, parts] = [newColumns(90), newColumns(90)];
      paintColumns([{ data, from: 0, to: timeline.length }], view, whole, ALL_STATES);
      const two = [
        { data, from: 0, to: cut },
        { data, from: cut, to: timeline.length },
      ];
      paintColumns(two, view, parts, ALL_STATES);
      expect(text(parts).toUpperCase()).toBe(text(whole).toUpperCase());
      expect(text(whole).length).toBe(90);
    }
  });

  it('agree with counting every unit of time', () => {
    const next = random(11);
    for (let round = 0; round < 100; round += 1) {
      const timeline = Array.from({ length: 400 }, () => 'RL'[Math.floor(next() * 2)]).join('');
      const counted = Array.from({ length: 16 }, (_, column) => {
        const running = [...timeline.slice(column * 25, column * 25 + 25)].filter((letter) => letter === 'R').length;
        return running > 12 ? 'R' : 'L';
      });
      expect(painted(timeline, 16).toUpperCase()).toBe(counted.join(''));
    }
  });

  it('count samples', () => {
    const data = {
      ...band(0, 'RRRRRRRRRR'),
      sampleTime: Float64Array.of(0, 1, 4, 4.5, 9),
      sampleDensity: Uint8Array.of(1, 200, 100, 0, 1),
    };
    const columns = newColumns(5);
    paintColumns([{ data, from: 0, to: 10 }], { from: 0, to: 10 }, columns, ALL_STATES);
    expect([...columns.samples]).toEqual([201, 0, 101, 0, 1]);
    paintColumns([{ data, from: 0, to: 10 }], { from: 4, to: 9 }, columns, ALL_STATES);
    expect([...columns.samples]).toEqual([101, 0, 0, 0, 0]);
  });
});
