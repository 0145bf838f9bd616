import { describe, expect, test } from 'vitest';
import type { Bands, Info, IntervalInfo } from '../../src/api/types';
import { fromHash } from '../../src/state/url';
import { ask, skipped, useScreen } from './screen';

/** A wait on a lock that a thread of the program ended. */
async function wait(): Promise<IntervalInfo> {
  const { elapsed_ns: elapsed } = await ask<Info>('r000th', 'info');
  const { bands } = await ask<Bands>('r000th', 'bands?by=thread');
  for (const { id, start_ns: start, end_ns: end } of bands) {
    for (let part = 0.1; part < 1; part += 0.02) {
      const at = Math.floor(start + (Math.min(end, elapsed - 1) - start) * part);
      const interval = await ask<IntervalInfo>('r000th', `interval?thread=${id}&at=${at}`);
      if (interval.state === 'lock' && interval.waker_thread !== null) return interval;
    }
  }
  throw new Error('the sample waits for a lock');
}

describe.skipIf(skipped)('walking', () => {
  const screen = useScreen();
  const view = () => fromHash(screen().hash);

  test('the waker is a link to what it did then, and Back returns', async () => {
    const from = await wait();
    await screen().open(`r=r000th&tab=platform&at=${from.thread}@${from.start_ns}`);
    const before = view();
    const { page } = screen();
    await page.locator('.tl-facts button', { hasText: from.waker }).first().click();
    await screen().idle();
    const at = from.start_ns + from.wait_ns;
    expect(view().picked).toEqual({ thread: from.waker_thread, at });
    const there = await ask<IntervalInfo>('r000th', `interval?thread=${from.waker_thread}&at=${at}`);
    const { elapsed_ns: elapsed } = await ask<Info>('r000th', 'info');
    const shown = view().zoom ?? { from: 0, to: elapsed };
    expect(shown.from).toBeLessThanOrEqual(at);
    expect(shown.to).toBeGreaterThan(at);
    expect(
      (Math.min(there.end_ns, shown.to) - Math.max(there.start_ns, shown.from)) / (shown.to - shown.from),
    ).toBeGreaterThan(0.009);
    expect(await screen().text('.tl-chosen .tl-name')).toContain(from.waker.replace(/ \(\d+\)$/, ''));
    expect(await screen().faults()).toEqual([]);
    await page.goBack();
    await screen().idle();
    expect(view()).toEqual(before);
  });

  test('the holder of a lock is a link, where the lock told it', async () => {
    const from = await wait();
    expect(from.holder_thread).not.toBeNull();
    await screen().open(`r=r000th&tab=platform&at=${from.thread}@${from.start_ns}`);
    await screen().page.locator('.tl-facts div', { hasText: 'Held by' }).getByRole('button').click();
    await screen().idle();
    expect(view().picked).toEqual({ thread: from.holder_thread, at: from.start_ns });
  });
});

describe.skipIf(skipped)('command palette', () => {
  const screen = useScreen();
  const view = () => fromHash(screen().hash);

  test('leads to screens and names, by the keyboard only', async () => {
    await screen().open('r=r000th&tab=platform');
    const { page } = screen();
    await screen().press('Control+k');
    expect(await screen().faults()).toEqual([]);
    await page.keyboard.type('sync ob');
    await screen().press('Enter');
    expect(view().tab).toBe('objects');
    expect(await page.getByRole('dialog').count()).toBe(0);
    // From a text field, too.
    await screen().press('/', 'Control+k');
    await page.keyboard.type('queue_lock');
    await page
      .getByRole('option', { name: /queue_lock/ })
      .first()
      .waitFor();
    await screen().press('Enter');
    expect([view().tab, view().object]).toEqual(['objects', 'queue_lock']);
    await screen().press('Control+k', 'Escape');
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  test('finds threads and functions, and acts', async () => {
    const { bands } = await ask<Bands>('r000th', 'bands?by=thread');
    const last = bands.at(-1);
    if (!last) throw new Error('a thread');
    const { threads } = await ask<Info>('r000th', 'info');
    const tid = threads.find(({ id }) => id === last.id)?.tid ?? 0;
    await screen().open('r=r000th&tab=summary');
    const { page } = screen();
    // The summary has no search of its own.
    await screen().press('/');
    await page.keyboard.type(String(tid));
    await page.getByRole('option', { name: new RegExp(`\\(${tid}\\)`) }).click();
    await screen().idle();
    expect([view().tab, view().pinned]).toEqual(['platform', [last.id]]);
    await screen().press('Control+k');
    await page.keyboard.type('push_item');
    await page.getByRole('option', { name: 'push_item function' }).click();
    await screen().idle();
    expect([view().tab, view().function]).toEqual(['caller-callee', 'push_item']);
    await screen().open('r=r000th&tab=summary&filter=thread%3Dworker*');
    expect(view().filters.length).toBe(1);
    await screen().press('Control+k');
    await page.keyboard.type('clear all');
    await screen().press('Enter');
    expect(view().filters).toEqual([]);
  });

  test('Escape closes the help over a picked interval', async () => {
    const from = await wait();
    await screen().open(`r=r000th&tab=platform&at=${from.thread}@${from.start_ns}`);
    await screen().press('?', 'Escape');
    expect(await screen().page.getByRole('dialog').count()).toBe(0);
    expect(view().picked).not.toBeNull();
  });

  test('the first stop of Tab leads past the tabs and filters', async () => {
    await screen().open('r=r000th&tab=objects');
    await screen().press('Tab');
    const { page } = screen();
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to the view');
    await screen().press('Enter');
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('MAIN');
    await screen().press('Tab');
    expect(await page.evaluate(() => document.activeElement?.closest('main') !== null)).toBe(true);
  });
});
