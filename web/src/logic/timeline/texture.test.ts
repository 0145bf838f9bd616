import { describe, expect, it } from 'vitest';
import { palette } from '../../base/palette';
import { newColumns, paintColumns } from './columns';
import { ALL_STATES, band } from './fixture';
import { fillTexture, inksOf, STATE_ROWS, TEXTURE_ROWS } from './texture';

function picture(timeline: string, flags: number[] = [], off: string[] = []) {
  const width = timeline.length * 8;
  const columns = newColumns(width);
  const data = {
    ...band(0, timeline),
    flags: Uint8Array.from(flags.length > 0 ? flags : Array(timeline.length).fill(0)),
  };
  data.sampleTime = Float64Array.of(0);
  data.sampleDensity = Uint8Array.of(1);
  paintColumns([{ data, from: 0, to: timeline.length }], { from: 0, to: timeline.length }, columns, ALL_STATES);
  const pixels = new Uint32Array(width * TEXTURE_ROWS);
  const inks = inksOf(palette('dark'), off);
  fillTexture(pixels, 0, columns, inks);
  return {
    pixels,
    width,
    inks,
    row: (row: number, from: number, to: number) => new Set(pixels.slice(row * width + from, row * width + to)),
  };
}

describe('texture', () => {
  it('has one colour for one event, none without an event', () => {
    const { row, inks } = picture('R.L');
    expect(row(0, 0, 8)).toEqual(new Set([inks.plain[0]]));
    expect(row(2, 8, 16)).toEqual(new Set([0]));
    // #1fa187, opaque, in the byte order of an ImageData.
    expect(inks.plain[0]).toBe(0xff87a11f);
  });

  it('has stripes where there are many events, and other stripes for spinning', () => {
    const { row, inks } = picture('RS', [1, 0]);
    for (let at = 0; at < STATE_ROWS; at += 1) {
      expect(row(at, 0, 8)).toEqual(new Set([inks.plain[0], inks.many[0]]));
      expect(row(at, 8, 16)).toEqual(new Set([inks.plain[1], inks.hatch[1]]));
    }
  });

  it('fades what the legend has switched off', () => {
    const [on, off] = [picture('R'), picture('R', [], ['running', 'samples'])];
    expect(on.row(0, 0, 8)).not.toEqual(off.row(0, 0, 8));
    expect(on.row(STATE_ROWS, 0, 1)).not.toEqual(new Set([0]));
    expect(off.row(STATE_ROWS, 0, 8)).toEqual(new Set([0]));
  });
});
