import { describe, expect, test } from 'vitest';
import type { Bands } from '../../src/api/types';
import { fromHash } from '../../src/state/url';
import { ask, skipped, useScreen } from './screen';

describe.skipIf(skipped)('the menu of a right click', () => {
  const screen = useScreen();
  const view = () => fromHash(screen().hash);
  const entry = (name: string) => screen().page.getByRole('menuitem', { name });

  test('filters a row of a list and shows it elsewhere', async () => {
    await screen().open('r=r000th&tab=objects');
    const { page } = screen();
    const row = page.locator('.grid-data', { hasText: 'queue_lock' }).first();
    await row.click({ button: 'right' });
    expect(await screen().faults()).toEqual([]);
    expect(view().object).toBe('queue_lock');
    await entry('Filter in').click();
    await screen().idle();
    expect(view().filters).toEqual([{ key: 'object', value: 'queue_lock' }]);
    expect(await page.getByRole('menu').count()).toBe(0);
    await row.click({ button: 'right' });
    await entry('Show in Blame').click();
    await screen().idle();
    expect([view().tab, view().object]).toEqual(['blame', 'queue_lock']);
  });

  test('opens at the selected row for the keyboard, and gives the focus back', async () => {
    await screen().open('r=r000th&tab=caller-callee');
    const { page } = screen();
    const grid = page.getByRole('treegrid').first();
    await grid.focus();
    await screen().press('ArrowDown', 'ArrowDown', 'Shift+F10');
    expect(await entry('Filter in').evaluate((element) => element === document.activeElement)).toBe(true);
    await screen().press('ArrowUp');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Show in Flame Graph');
    await screen().press('Escape');
    expect(await page.getByRole('menu').count()).toBe(0);
    expect(await grid.evaluate((element) => element === document.activeElement)).toBe(true);
    await screen().press('Shift+F10', 'ArrowDown', 'ArrowDown', 'ArrowDown', 'Enter');
    expect(view().tab).toBe('source');
    expect(view().function).not.toBe('');
  });

  test('of a band has its interval, its thread and what can be done with the band', async () => {
    await screen().open('r=r000th&tab=platform');
    const { page } = screen();
    const { bands } = await ask<Bands>('r000th', 'bands?by=thread');
    const [, second] = bands;
    const box = await page.locator('.tl-pointer').boundingBox();
    if (!box || !second) throw new Error('two bands');
    await page.mouse.move(box.x + box.width / 2, box.y + 28);
    await screen().idle();
    await page.mouse.click(box.x + box.width / 2, box.y + 28, { button: 'right' });
    expect(await screen().faults()).toEqual([]);
    const names = await page.getByRole('menuitem').allInnerTexts();
    expect(names.slice(0, 2)).toEqual(['Zoom to it', 'Filter in its time']);
    await entry('Zoom to it').click();
    await screen().idle();
    expect(view().zoom).not.toBeNull();
    await page.locator('.tl-labels .tl-label').nth(1).click({ button: 'right' });
    await entry('Pin to the top').click();
    await screen().idle();
    expect(view().pinned).toEqual([second.id]);
    await page.locator('.tl-labels .tl-label').first().click({ button: 'right' });
    await entry('Filter out').click();
    await screen().idle();
    expect(view().excludes).toEqual([{ key: 'tid', value: /\((\d+)\)$/.exec(second.label)?.[1] }]);
  });

  test('of a frame leads to its function', async () => {
    await screen().open('r=r000th&tab=bottom-up');
    const { page } = screen();
    await page.getByRole('treegrid').first().focus();
    await screen().press('ArrowDown');
    const frame = page.locator('.frame', { hasText: 'push_item' }).first();
    await frame.click({ button: 'right' });
    await entry('Show in Caller/Callee').click();
    await screen().idle();
    expect([view().tab, view().function]).toEqual(['caller-callee', 'push_item']);
  });
});
