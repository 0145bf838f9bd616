import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { fromHash } from '../../src/state/url';
import { report, skipped, useScreen } from './screen';

describe.skipIf(skipped)('the menu Share', () => {
  const screen = useScreen();
  const menu = () =>
    screen()
      .page.locator('.share-menu')
      .getByRole('button', { name: /Share|共有/ });
  const entry = (text: string) => screen().page.locator('.share-menu .menu-entry', { hasText: text });

  /** The file that an entry saves. */
  async function saved(text: string): Promise<{ name: string; content: Buffer }> {
    await menu().click();
    const download = screen().page.waitForEvent('download');
    await entry(text).click();
    const file = await download;
    return { name: file.suggestedFilename(), content: readFileSync(await file.path()) };
  }

  test('copies the link, without the token', async () => {
    const { page } = screen();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await screen().open('r=r000th&tab=objects');
    await menu().click();
    expect(await screen().faults()).toEqual([]);
    await entry('Copy link').click();
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(page.url());
  });

  test('saves what the view shows, with its filters', async () => {
    const lines = ({ content }: { content: Buffer }) => content.toString().trim().split('\n');
    const sum = (texts: string[]) => texts.reduce((all, line) => all + Number(line.split(' ').at(-1)), 0);
    await screen().open('r=r000th&tab=objects');
    const all = await saved('wait time');
    expect(all.name).toBe('r000th.wait.folded');
    await screen().open(`r=r000th&tab=objects&${new URLSearchParams({ filter: 'object=queue_lock' })}`);
    const some = await saved('wait time');
    const { rows } = report<{ rows: { wait_ns: number }[] }>('r000th', 'waits', '--filter', 'object=queue_lock');
    expect(sum(lines(some))).toBe(rows[0]?.wait_ns);
    expect(sum(lines(some))).toBeLessThanOrEqual(sum(lines(all)));
  });

  test('has every format and the packed result, for the keyboard too', async () => {
    await screen().open('r=r000th&tab=summary');
    const { page } = screen();
    expect(gunzipSync((await saved('for pprof')).content).length).toBeGreaterThan(100);
    const profile = JSON.parse(gunzipSync((await saved('Firefox Profiler')).content).toString());
    expect(profile.threads.length).toBeGreaterThan(1);
    expect((await saved('Perfetto')).name).toBe('r000th.pftrace');
    expect(JSON.parse((await saved('speedscope')).content.toString()).profiles.length).toBe(2);
    await menu().focus();
    await screen().press('Enter', 'ArrowDown', 'ArrowUp', 'ArrowUp');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Copy link to this view');
    for (let at = 0; at < 9; at += 1) await screen().press('ArrowDown');
    const download = page.waitForEvent('download');
    await screen().press('Enter');
    expect((await download).suggestedFilename()).toBe('r000th.dwell');
    expect(await page.locator('.share-menu .menu-entry').count()).toBe(0);
    await menu().click();
    await screen().press('Escape');
    expect(await menu().evaluate((element) => element === document.activeElement)).toBe(true);
  });

  test('says why there is no file, and is in Japanese', async () => {
    await screen().open(`r=r000th&tab=summary&${new URLSearchParams({ filter: 'utilization=poor' })}`);
    await menu().click();
    await entry('Perfetto').click();
    await screen().idle();
    expect(await screen().text('.share-problem')).toContain('this format has events');
    expect(
      screen()
        .errors.splice(0)
        .every((error) => error.includes('400')),
    ).toBe(true);
    await screen().press('Escape');
    await screen().page.getByLabel('Language').selectOption('ja');
    await menu().click();
    expect(await entry('ダウンロード').count()).toBe(8);
  });
});

describe.skipIf(skipped)('a handle in the search', () => {
  const screen = useScreen();
  const view = () => fromHash(screen().hash);

  async function goTo(handle: string): Promise<void> {
    await screen().press('Control+k');
    await screen().page.keyboard.type(handle);
    await screen()
      .page.locator('.palette-list button', { hasText: `${handle}: ` })
      .first()
      .waitFor();
    await screen().press('Enter');
  }

  test('leads to the object, the thread, the finding and the outlier', async () => {
    const rows = (name: string, result = 'r000th') => report<{ rows: Record<string, string>[] }>(result, name).rows;
    await screen().open('r=r000th&tab=summary');
    const lock = rows('waits').find(({ object }) => object === 'queue_lock');
    await goTo(lock?.handle ?? '');
    expect([view().tab, view().object]).toEqual(['objects', 'queue_lock']);
    await goTo('t1');
    expect([view().tab, view().pinned]).toEqual(['platform', [1]]);
    const latency = report<{ rows: { worst: { handle: string }[] }[] }>('r000th', 'latency').rows;
    const outlier = latency.flatMap(({ worst }) => worst ?? [])[0]?.handle ?? '';
    await goTo(outlier);
    expect([view().tab, view().outlier]).toEqual(['latency', outlier.slice(1)]);
    expect(await screen().page.locator('[aria-label="Outliers"] [aria-selected=true]').count()).toBe(1);
    const finding = rows('findings', 'r003th')[0]?.handle ?? '';
    await screen().open('r=r003th&tab=summary');
    await goTo(finding);
    expect([view().tab, view().finding]).toEqual(['findings', finding]);
    expect(await screen().page.locator('.card-marked').count()).toBe(1);
  });

  test('of nothing is said', async () => {
    await screen().open('r=r000th&tab=summary');
    await screen().press('Control+k');
    await screen().page.keyboard.type('w999');
    await screen().page.getByText('there is no object `w999`').waitFor();
    expect(
      screen()
        .errors.splice(0)
        .every((error) => error.includes('400')),
    ).toBe(true);
  });
});
