// Latency: the screen shows the numbers of the command line, and leads from an outlier to its place on the timeline.

import { describe, expect, test } from 'vitest';
import { word } from '../../src/base/texts';
import { count, duration } from '../../src/base/units';
import { fromHash } from '../../src/state/url';
import { report, skipped, useScreen } from './screen';

interface IntervalType {
  interval: string;
  count: number;
  p50_ns: number;
  p99_ns: number;
  max_ns: number;
  outliers: number;
  outlier_ns: number;
  outlier_limit_ns: number;
  worst: { id: string; start_ns: number; length_ns: number; cause: string }[];
}

describe.skipIf(skipped)('latency', () => {
  const screen = useScreen();
  const types = () => report<{ rows: IntervalType[] }>('r001th', 'latency', '--limit', '200').rows;
  const withOutliers = () => {
    const found = types().find(({ outliers }) => outliers > 0);
    if (!found) throw new Error('no outliers');
    return found;
  };
  const open = (type: IntervalType) =>
    screen().open(`r=r001th&tab=latency&${new URLSearchParams({ interval: type.interval })}`);

  test('types are those of the command line', async () => {
    const rows = types();
    await screen().open('r=r001th&tab=latency');
    const shown = await screen().rows('Latency');
    expect(shown.map(([interval]) => interval)).toEqual(rows.slice(0, shown.length).map(({ interval }) => interval));
    for (const [at, cells] of shown.entries()) {
      const row = rows[at] as IntervalType;
      const zero = (ns: number) => (ns === 0 ? '0' : duration(ns));
      const texts = [count(row.count), ...[row.p50_ns, row.p99_ns, row.max_ns, row.outlier_ns].map(zero)];
      for (const text of texts) expect(cells, row.interval).toContain(text);
    }
    expect(await screen().faults()).toEqual([]);
  });

  test('a type has its percentiles, its limit and its outliers with their causes', async () => {
    const type = withOutliers();
    await open(type);
    const curve = screen().page.locator('svg[role=img]').first();
    expect(await curve.getAttribute('aria-label')).toContain(`100 %: ${duration(type.max_ns)}`);
    expect(
      await screen()
        .page.getByText(`longer than ${duration(type.outlier_limit_ns)}`)
        .count(),
    ).toBe(1);
    const shown = await screen().rows('Outliers');
    for (const [at, { length_ns, cause }] of type.worst.slice(0, shown.length).entries()) {
      expect(shown[at]?.slice(1, 3)).toEqual([duration(length_ns), word('cause', cause)]);
    }
    expect(await screen().page.locator('circle.outlier').count()).toBe(Math.min(type.outliers, 2000));
  });

  test('by keyboard: an outlier, its story, the timeline where it begins', async () => {
    const type = withOutliers();
    await open(type);
    await screen().page.getByRole('treegrid', { name: 'Outliers' }).focus();
    await screen().press('ArrowDown');
    const [worst] = type.worst;
    expect(fromHash(screen().hash).outlier).toBe(worst?.id);
    expect(await screen().page.locator('.story i').count()).toBeGreaterThan(0);
    expect(await screen().faults()).toEqual([]);
    await screen().press('Enter');
    const { tab, picked, zoom } = fromHash(screen().hash);
    expect([tab, picked?.at]).toEqual(['platform', worst?.start_ns]);
    // Its story stays beside the timeline.
    expect(await screen().page.locator('.tl-detail .story i').count()).toBeGreaterThan(0);
    expect(zoom && worst && zoom.from <= worst.start_ns && zoom.to >= worst.start_ns + worst.length_ns).toBe(true);
  });
});
