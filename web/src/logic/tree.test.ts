import { expect, test } from 'vitest';
import type { Grid } from '../api/types';
import { Tree } from './tree';

/** A server whose level at any path has `width` rows r0, r1, …, `depth` levels deep. */
function server(width: number, depth: number) {
  const asked: string[] = [];
  const fetchPage = async (path: readonly string[], offset: number, limit: number): Promise<Grid> => {
    asked.push(`${path.join('/')}+${offset}`);
    const rows = Array.from({ length: Math.min(limit, width - offset) }, (_, at) => ({
      key: `r${offset + at}`,
      label: `row ${offset + at}`,
      children: path.length + 1 < depth,
      values: {},
    }));
    return { total_rows: width, rows, total: { wait_ns: 7 } };
  };
  return { asked, fetchPage };
}

const labels = (tree: Tree) => tree.rows().map(({ parent, row }) => [...parent, row?.key ?? '?'].join('/'));

test('a row shows its children when it is opened', async () => {
  const { fetchPage, asked } = server(2, 2);
  let changes = 0;
  const tree = new Tree(fetchPage, new Set(), () => {
    changes += 1;
  });
  expect(tree.ready).toBe(false);
  await tree.start();
  expect(labels(tree)).toEqual(['r0', 'r1']);
  tree.toggle(['r0'], true);
  await Promise.resolve();
  await Promise.resolve();
  expect(labels(tree)).toEqual(['r0', 'r0/r0', 'r0/r1', 'r1']);
  expect(tree.find(['r0', 'r1'])).toBe(2);
  expect(tree.labels(['r0', 'r1'])).toEqual(['row 0', 'row 1']);
  expect(tree.labels(['r9', 'r1'])).toEqual([]);
  tree.toggle(['r0'], false);
  tree.toggle(['r0'], true);
  expect(labels(tree)).toHaveLength(4);
  expect(asked).toEqual(['+0', 'r0+0']);
  expect(changes).toBeGreaterThan(2);
  expect(tree.total).toEqual({ wait_ns: 7 });
});

test('a long level loads in pages, as the reader scrolls', async () => {
  const { fetchPage, asked } = server(100_000, 1);
  const tree = new Tree(fetchPage, new Set(), () => undefined);
  await tree.start();
  expect(tree.rows()).toHaveLength(100_000);
  expect(tree.rows()[51_234]?.row).toBeUndefined();
  tree.need(51_190, 51_210);
  tree.need(51_190, 51_210);
  await new Promise((resolve) => setTimeout(resolve));
  expect(tree.rows()[51_205]?.row?.key).toBe('r51205');
  expect(asked).toEqual(['+0', '+51100', '+51200']);
});

test('open rows stay open in the next question', async () => {
  const first = new Tree(server(2, 3).fetchPage, new Set(), () => undefined);
  await first.start();
  first.toggle(['r1'], true);
  const { fetchPage, asked } = server(3, 3);
  const second = new Tree(fetchPage, first.open, () => undefined);
  await second.start();
  second.need(0, 10);
  await new Promise((resolve) => setTimeout(resolve));
  expect(labels(second)).toEqual(['r0', 'r1', 'r1/r0', 'r1/r1', 'r1/r2', 'r2']);
  expect(asked).toEqual(['+0', 'r1+0']);
});

test('expand all opens level by level and ends', async () => {
  const tree = new Tree(server(3, 4).fetchPage, new Set(), () => undefined);
  await tree.start();
  await tree.expandAll([]);
  expect(tree.rows()).toHaveLength(3 + 9 + 27 + 81);
  const endless = new Tree(server(3, 1000).fetchPage, new Set(), () => undefined);
  await endless.start();
  await endless.expandAll(['r0']);
  expect(endless.rows().length).toBeLessThan(5_000);
});

test('an error is kept, and asking again is possible', async () => {
  let fail = true;
  const good = server(1, 1).fetchPage;
  const tree = new Tree(
    (...question) => (fail ? Promise.reject(new Error('gone')) : good(...question)),
    new Set(),
    () => undefined,
  );
  await tree.start();
  expect(tree.error?.message).toBe('gone');
  fail = false;
  await tree.start();
  expect(tree.ready).toBe(true);
});

test('rows that only lead to matches are open, until the reader closes them', async () => {
  const { fetchPage } = server(2, 3);
  const named = async (path: readonly string[], offset: number, limit: number): Promise<Grid> => {
    const page = await fetchPage(path, offset, limit);
    return { ...page, rows: page.rows.map((row) => (path.length === 1 ? { ...row, label: 'found' } : row)) };
  };
  const search = new Tree(named, new Set(), () => undefined, 'Found');
  await search.start();
  for (let round = 0; round < 4; round += 1) {
    search.need(0, 10);
    await new Promise((done) => setTimeout(done, 0));
  }
  expect(labels(search)).toEqual(['r0', 'r0/r0', 'r0/r1', 'r1', 'r1/r0', 'r1/r1']);
  search.toggle(['r0'], false);
  expect(labels(search)).toEqual(['r0', 'r1', 'r1/r0', 'r1/r1']);
  search.toggle(['r0'], true);
  expect(labels(search)).toHaveLength(6);
});
