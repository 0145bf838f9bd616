import { describe, expect, test } from 'vitest';
import { TABS } from '../../src/state/view-state';
import { report, served, skipped, useScreen } from './screen';

/** Four results, and the trace if it was recorded. */
const LISTED = served.trace ? 5 : 4;

describe.skipIf(skipped)('screens', () => {
  const screen = useScreen();

  test.each(TABS)('%s is shown, without faults of accessibility', async (tab) => {
    await screen().open(`r=r000th&tab=${tab}`);
    const main = screen().page.getByRole('main');
    expect((await main.innerText()).length).toBeGreaterThan(tab === 'platform' || tab === 'flame' ? 0 : 40);
    expect(await screen().page.getByRole('alert').allInnerTexts()).toEqual([]);
    expect(await screen().faults()).toEqual([]);
  });

  test.each(['light', 'ja'])('the page is readable in %s', async (choice) => {
    await screen().page.addInitScript((chosen) => {
      if (location.protocol === 'about:') return;
      localStorage.setItem('dwell', JSON.stringify(chosen === 'ja' ? { language: 'ja' } : { theme: 'light' }));
    }, choice);
    for (const tab of ['summary', 'bottom-up']) {
      await screen().open(`r=r000th&tab=${tab}`);
      expect(await screen().faults()).toEqual([]);
    }
    if (choice === 'ja') expect(await screen().text('nav')).toContain('タイムライン');
  });

  test.each(['objects', 'platform', 'findings', 'latency'])('%s is readable in light', async (tab) => {
    await screen().page.addInitScript(() => {
      if (location.protocol !== 'about:') localStorage.setItem('dwell', JSON.stringify({ theme: 'light' }));
    });
    await screen().open(`r=r000th&tab=${tab}`);
    expect(await screen().faults()).toEqual([]);
  });

  test('what several panes ask is asked once', async () => {
    await screen().open('r=r000th');
    const asked = await screen().page.evaluate(() =>
      performance
        .getEntriesByType('resource')
        .map(({ name }) => name)
        .filter((name) => name.includes('/api/')),
    );
    expect(asked.filter((name) => name.endsWith('/info')).length).toBe(1);
    expect([...asked].sort()).toEqual([...new Set(asked)].sort());
  });

  test('callers and callees begin with the hottest function', async () => {
    await screen().open('r=r000th&tab=caller-callee');
    for (const way of ['Callers', 'Callees']) {
      expect(await screen().page.locator(`section[aria-label^="${way} of "]`).count(), way).toBe(1);
    }
  });

  test('a folder shows its results, and one opens', async () => {
    await screen().open('');
    const { page } = screen();
    expect(await page.locator('tbody tr').count()).toBe(LISTED);
    await page.getByRole('button', { name: 'r001th' }).click();
    await screen().idle();
    expect(screen().hash).toBe('#r=r001th');
    expect(await screen().text('[data-figure=elapsed_ns] dd')).toMatch(/s$/);
  });

  test('columns become wider and narrower by keyboard, and are as they were', async () => {
    await screen().open('r=r000th&tab=bottom-up');
    const head = screen().page.getByRole('columnheader', { name: 'Wait Count' });
    const width = async () => (await head.boundingBox())?.width ?? 0;
    const before = await width();
    await head.getByRole('button').focus();
    await screen().press('Shift+ArrowRight', 'Shift+ArrowRight');
    const wide = await width();
    expect(wide).toBeGreaterThan(before + 20);
    await screen().press('Shift+ArrowLeft');
    expect(await width()).toBeLessThan(wide - 8);
    await screen().press('Shift+Backspace');
    expect(await width()).toBeCloseTo(before, 0);
  });

  test('what the server cannot answer is said in the language of the page', async () => {
    const link = 'r=r000th&tab=blame&object=no+such+object';
    await screen().open(link);
    expect(await screen().text('main [role=alert]')).toMatch(/There is no|there is no/);
    await screen().page.getByRole('combobox', { name: 'Language' }).selectOption('ja');
    await screen().idle();
    expect(await screen().text('main [role=alert]')).toMatch(/指定された名前.*no such object/);
    // The browser's own message for each answer with that status.
    expect(
      screen()
        .errors.splice(0)
        .filter((error) => !error.includes('400')),
    ).toEqual([]);
  });

  test('a link to a result that is gone shows the list', async () => {
    await screen().open('r=r999th&tab=flame');
    expect(await screen().page.locator('tbody tr').count()).toBe(LISTED);
  });

  test('the histogram of a socket with delayed acknowledgements has two humps with names', async () => {
    const { rows } = report<{ rows: { object: string; type: string; wait_count: number }[] }>(
      'r001th',
      'waits',
      '--include-idle',
    );
    const socket =
      rows.filter(({ type }) => type === 'socket').sort((a, b) => b.wait_count - a.wait_count)[0]?.object ?? '';
    await screen().open(`r=r001th&tab=objects&idle=1&${new URLSearchParams({ object: socket })}`);
    const names = await screen().page.locator('.hump').allTextContents();
    expect(names.length).toBeGreaterThanOrEqual(2);
    // A delayed acknowledgement takes 40 ms, more on a busy machine; other answers arrive at once.
    const lengths = names.map(
      (name) => Number.parseFloat(name) * (/^[\d.]+ (\S+)/.exec(name)?.[1] === 'ms' ? 1 : 0.001),
    );
    expect(
      names.every((name) => /^[\d.]+ (µs|ms) · [\d,]+ waits?$/.test(name)),
      names.join(),
    ).toBe(true);
    expect(
      lengths.some((ms) => ms > 30 && ms < 300),
      names.join(),
    ).toBe(true);
    expect(
      lengths.some((ms) => ms < 5),
      names.join(),
    ).toBe(true);
  });
});
