import { expect, test } from 'vitest';
import { decodeTile } from './tile';

/** A tile as the server lays it out, written independently of the reader. */
function encode(
  header: object,
  bands: { segments: [number, number, number, number, number][]; samples: [number, number][] }[],
) {
  const bytes: number[] = [];
  const pad = () => {
    while (bytes.length % 8 !== 0) bytes.push(0);
  };
  const put = (array: Float64Array | Uint32Array | Uint8Array) => bytes.push(...new Uint8Array(array.buffer));
  const text = new TextEncoder().encode(JSON.stringify(header));
  put(new Uint32Array([text.length]));
  bytes.push(...text);
  pad();
  for (const { segments, samples } of bands) {
    put(new Float64Array(segments.map(([start]) => start)));
    put(new Float64Array(segments.map(([, end]) => end)));
    put(new Uint32Array(segments.map(([, , object]) => object)));
    put(new Uint8Array(segments.map(([, , , state]) => state)));
    put(new Uint8Array(segments.map(([, , , , flags]) => flags)));
    pad();
    put(new Float64Array(samples.map(([time]) => time)));
    put(new Uint8Array(samples.map(([, density]) => density)));
    pad();
  }
  return new Uint8Array(bytes).buffer;
}

const header = {
  from: 0,
  to: 1e15,
  exact: true,
  states: ['running', 'lock'],
  bands: [
    { id: 3, segments: 3, samples: 1 },
    { id: 9, segments: 0, samples: 0 },
    { id: 4, segments: 1, samples: 2 },
  ],
};

test('every band has its own arrays, whatever its length', () => {
  const tile = decodeTile(
    encode(header, [
      {
        segments: [
          [0, 10, 0xffffffff, 0, 0],
          [10, 20, 7, 1, 2],
          [20, 1e15 + 1, 8, 1, 1],
        ],
        samples: [[5, 255]],
      },
      { segments: [], samples: [] },
      {
        segments: [[1, 2, 0, 0, 0]],
        samples: [
          [1, 1],
          [2, 2],
        ],
      },
    ]),
  );
  expect(tile.header).toEqual(header);
  const [first, none, last] = tile.bands;
  expect([...(first?.end ?? [])]).toEqual([10, 20, 1e15 + 1]);
  expect([...(first?.object ?? [])]).toEqual([0xffffffff, 7, 8]);
  expect([...(first?.flags ?? [])]).toEqual([0, 2, 1]);
  expect([...(first?.sampleDensity ?? [])]).toEqual([255]);
  expect(none).toMatchObject({ id: 9 });
  expect([...(last?.sampleTime ?? [])]).toEqual([1, 2]);
});

test('a tile that was cut off is an error', () => {
  const whole = encode({ ...header, bands: [{ id: 1, segments: 1, samples: 0 }] }, [
    { segments: [[0, 1, 0, 0, 0]], samples: [] },
  ]);
  expect(() => decodeTile(whole.slice(0, whole.byteLength - 16))).toThrow();
});
