import { expect, test } from 'vitest';
import { BOX, type ChainLink, chainTree, draw } from './chains';

function link(chain: number, wait_ns: number, who: string, waited_for: string): ChainLink {
  return { chain, wait_ns, who, waited_for, place: 'f', object: null, threads: null, process: null };
}

/** serve-N waits for the log's lock, whose holder waits for the socket; and by itself for the socket. */
const LOG = [
  link(0, 6, 'serve-N', 'mutex log'),
  link(0, 6, 'serve-N', 'sendto'),
  link(1, 3, 'serve-N', 'sendto'),
  link(2, 1, 'main', 'join of serve-N'),
];

test('chains that end alike share their ends', () => {
  const [socket, join] = chainTree(LOG);
  expect(socket?.link.waited_for).toBe('sendto');
  expect(socket?.ns).toBe(9);
  expect(socket?.askers.map(({ link: { waited_for: object }, ns }) => [object, ns])).toEqual([['mutex log', 6]]);
  expect([join?.ns, join?.askers.length]).toEqual([1, 0]);
});

test('the cause is on the right, who waited first on the left, and nothing overlaps', () => {
  const { boxes, arrows, width, height } = draw(chainTree(LOG));
  expect(boxes.length).toBe(4);
  expect(arrows.length).toBe(3);
  const column = (name: string | null) => {
    const box = boxes.find(({ node }) => (node?.link.waited_for ?? null) === name);
    return (box?.x ?? Number.NaN) / (BOX.width + BOX.across);
  };
  expect([null, 'sendto', 'mutex log', 'join of serve-N'].map(column)).toEqual([2, 1, 0, 1]);
  expect(new Set(boxes.map(({ x, y }) => `${x} ${y}`)).size).toBe(4);
  for (const { x, y } of boxes) {
    expect(x + BOX.width).toBeLessThanOrEqual(width);
    expect(y + BOX.height).toBeLessThanOrEqual(height);
  }
  const widths = arrows.map((arrow) => arrow.width);
  expect(Math.max(...widths) / Math.min(...widths)).toBeGreaterThan(5);
});

test('a cause that nobody waited for is drawn alone', () => {
  expect(draw(chainTree([]))).toEqual({
    width: BOX.width,
    height: BOX.height,
    boxes: [{ node: null, x: 0, y: 0 }],
    arrows: [],
  });
});
