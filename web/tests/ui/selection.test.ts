import { describe, expect, test } from 'vitest';
import type { Document, Info } from '../../src/api/types';
import { duration, span } from '../../src/base/units';
import { causesOf, sumsOf } from '../../src/logic/timeline/selection';
import { fromHash } from '../../src/state/url';
import { ask, skipped, useScreen } from './screen';

describe.skipIf(skipped)('a selected time', () => {
  const screen = useScreen();
  const view = () => fromHash(screen().hash);

  /** The selection of the middle third by dragging, and what the report says of it. */
  async function selected() {
    await screen().open('r=r000th&tab=platform');
    const { page } = screen();
    const box = await page.locator('.tl-pointer').boundingBox();
    if (!box) throw new Error('no timeline');
    await page.mouse.move(box.x + box.width / 3, box.y + 30);
    await page.mouse.down();
    await page.mouse.move(box.x + (2 * box.width) / 3, box.y + 40, { steps: 4 });
    await page.mouse.up();
    await page.getByRole('region', { name: 'Selected time' }).waitFor();
    await screen().idle();
    const { mark } = view();
    if (!mark) throw new Error('no selection in the link');
    const report = await ask<Document>('r000th', `report/explain?from=${mark.from}&to=${mark.to}`);
    return { mark, report, pane: page.getByRole('region', { name: 'Selected time' }) };
  }

  test('shows its length, what the threads did, and the largest causes', async () => {
    const { mark, report, pane } = await selected();
    const plain = (text: string) => text.replaceAll('\u00a0', ' ');
    const text = plain(await pane.innerText());
    expect(text).toContain(plain(span(mark.from, mark.to)));
    const sums = sumsOf(report);
    expect(sums.length).toBeGreaterThan(2);
    for (const { ns } of sums) expect(text).toContain(plain(duration(ns)));
    const account = report.notes_parts?.flat().find(({ id }) => id === 'time-account')?.values.life;
    expect(account && 'ns' in account && account.ns).toBe(sums.reduce((all, { ns }) => all + ns, 0));
    const causes = causesOf(report, 3);
    expect(causes.length).toBeGreaterThan(0);
    expect(await pane.getByRole('listitem').count()).toBe(causes.length);
    for (const { who, text: what, ns } of causes) {
      expect(text).toContain(plain(`${who} ${what} ${duration(ns)}`));
    }
    const { elapsed_ns: elapsed } = await ask<Info>('r000th', 'info');
    expect(mark.to - mark.from).toBeLessThan(elapsed / 2);
    expect(await screen().faults()).toEqual([]);
    await screen().press('Escape');
    expect(await pane.count()).toBe(0);
  });

  test('a cause leads to the explanation of the same time, by the keyboard', async () => {
    const { mark, report, pane } = await selected();
    await pane.getByRole('listitem').getByRole('button').first().focus();
    await screen().press('Enter');
    expect([view().tab, view().range, view().cause]).toEqual(['explain', mark, causesOf(report, 1)[0]?.id]);
    await screen().page.goBack();
    await screen().idle();
    expect([view().tab, view().mark]).toEqual(['platform', mark]);
  });
});
