// Filters in every view, links, undo, the keyboard, and untrusted names.

import { describe, expect, test } from 'vitest';
import { report, served, skipped, useScreen } from './screen';

describe.skipIf(skipped)('state', () => {
  const screen = useScreen();

  test('filtering in by the selected row changes every view, and undo brings it back', async () => {
    const tabs = ['summary', 'caller-callee', 'top-down', 'flame', 'objects', 'findings'] as const;
    const seen = async () => {
      const looks: Record<string, string> = {};
      for (const tab of tabs) {
        await screen().show(tab);
        looks[tab] = await screen().page.getByRole('main').innerText();
      }
      return looks;
    };
    await screen().open('r=r000th&tab=summary');
    const before = await seen();
    await screen().open('r=r000th&tab=bottom-up&group=object,function,callers');
    await screen().page.getByRole('treegrid').focus();
    const at = (await screen().rows('Bottom-up')).findIndex(([name]) => name === 'Sleep in sleep_until');
    await screen().press(...Array.from({ length: at + 1 }, () => 'ArrowDown'), 'f');
    expect(screen().hash).toContain('filter=object%3DSleep+in+sleep_until');
    expect(await screen().text('.shown')).toMatch(/^\d[\d.]* % is shown$/);
    expect((await screen().rows('Bottom-up')).map(([name]) => name)).toEqual(['Sleep in sleep_until']);
    const after = await seen();
    for (const tab of tabs) expect(after[tab], tab).not.toBe(before[tab]);
    await screen().press('x');
    expect(await screen().text('.shown')).toBe('No filters are applied');
    await screen().press('[');
    expect(await screen().text('.shown')).toMatch(/is shown$/);
  });

  test('screens are in groups; one without data says what would record it, and is shown all the same', async () => {
    const { page } = screen();
    await screen().open('r=r000th');
    const groups = page.getByRole('navigation', { name: 'Views' });
    expect(await groups.getByRole('button').allInnerTexts()).toEqual(['Overview', 'Code', 'Waits', 'Timeline', 'More']);
    await groups.getByRole('button', { name: 'Waits' }).click();
    await screen().idle();
    expect(screen().hash).toContain('tab=objects');
    const sockets = page.getByRole('navigation', { name: 'Waits' }).getByRole('button', { name: 'Sockets' });
    expect(await sockets.getAttribute('data-tip')).toContain('--analyze threading,sockets');
    expect(await sockets.getAttribute('class')).toContain('tab-empty');
    await sockets.click();
    await page.getByRole('main', { name: 'Sockets' }).waitFor();
    // A group goes back to the screen that it showed last.
    await groups.getByRole('button', { name: 'Code' }).click();
    await groups.getByRole('button', { name: 'Waits' }).click();
    await page.getByRole('main', { name: 'Sockets' }).waitFor();
    await screen().open('r=r003th&tab=objects');
    expect(await sockets.getAttribute('data-tip')).toBeNull();
    await page.setViewportSize({ width: 390, height: 844 });
    for (const name of ['Overview', 'Code', 'Waits', 'Timeline', 'More']) {
      const place = await groups.getByRole('button', { name }).boundingBox();
      expect((place?.x ?? -1) >= 0 && (place?.x ?? 0) + (place?.width ?? 0) <= 390, name).toBe(true);
    }
    expect(await screen().faults()).toEqual([]);
  });

  test('the filter bar lists values with their share and filters in and out', async () => {
    const { page } = screen();
    await screen().open('r=r000th&tab=objects');
    await page.getByRole('button', { name: /^Thread:/ }).click();
    await screen().idle();
    const entry = page.locator('.filter-entry', { hasText: 'worker-1' });
    expect(await entry.innerText()).toMatch(/%/);
    await entry.getByRole('checkbox').check();
    await screen().idle();
    expect(screen().hash).toContain('filter=thread%3Dworker-1');
    await entry.getByRole('button').click();
    await screen().idle();
    expect(screen().hash).toContain('exclude=thread%3Dworker-1');
    expect(screen().hash).not.toContain('filter=');
  });

  test('a link restores the view', async () => {
    await screen().open('r=r000th&tab=bottom-up&group=object,function,callers&filter=thread%3Dworker*');
    await screen().page.getByRole('treegrid').focus();
    await screen().press('ArrowDown', 'ArrowRight', 'ArrowDown', 'f');
    const [hash, rows] = [screen().hash, await screen().rows('Bottom-up')];
    expect(rows.length).toBeGreaterThan(0);
    await screen().open(hash.slice(1));
    expect(
      await screen()
        .rows('Bottom-up')
        .then((again) => again[0]),
    ).toEqual(rows[0]);
    expect(screen().hash).toBe(hash);
  });

  test('a tab without the token says how to get in, and the printed address opens it with its view', async () => {
    const page = await screen().page.context().newPage();
    await page.goto(`${served.origin}/#r=r000th&tab=flame`);
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').innerText()).toContain('open the address that dwell view printed');
    // Only the part after `#` changes: the browser does not load the page again.
    await page.goto(`${served.origin}/#token=${served.token}&r=r000th&tab=flame`);
    await page.getByRole('main', { name: 'Flame Graph' }).waitFor();
    expect(page.url()).toBe(`${served.origin}/#r=r000th&tab=flame`);
    await page.reload();
    await page.getByRole('main', { name: 'Flame Graph' }).waitFor();
    expect(await page.evaluate(() => document.cookie + JSON.stringify(localStorage))).not.toContain(served.token);
    expect(await page.context().cookies()).toEqual([]);
    await page.close();
  });

  test('everything can be done with the keyboard alone', async () => {
    await screen().open('r=r000th');
    await screen().press('2');
    expect(screen().hash).toContain('tab=explain');
    await screen().press('.');
    expect(screen().hash).toContain('tab=bottom-up');
    await screen().press('.', '.', ',');
    expect(screen().hash).toContain('tab=caller-callee');
    await screen().press('/');
    await screen().page.keyboard.type('push_item');
    await screen().page.waitForFunction(() => location.hash.includes('search=push_item'));
    await screen().idle();
    expect((await screen().rows('Caller/Callee')).map(([name]) => name)).toEqual(['push_item']);
    await screen().press('Escape', '?');
    expect(await screen().page.getByRole('dialog').innerText()).toContain('filter in');
    await screen().press('Escape');
    expect(await screen().page.getByRole('dialog').count()).toBe(0);
    // From the start of the page, Tab reaches the tabs, the filters and the list.
    const reached = new Set<string>();
    await screen().page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    for (let step = 0; step < 60; step += 1) {
      await screen().page.keyboard.press('Tab');
      reached.add(
        await screen().page.evaluate(() => {
          const place = document.activeElement?.closest(
            'nav, .filter-bar, .toolbar, [role=treegrid], [role=separator]',
          );
          return place?.getAttribute('role') ?? place?.className ?? place?.tagName ?? '';
        }),
      );
    }
    for (const place of ['tabs', 'filter-bar', 'toolbar', 'treegrid', 'separator']) expect(reached).toContain(place);
  });

  test('a caller is shown by going into a row', async () => {
    await screen().open('r=r000th&tab=bottom-up');
    await screen().page.getByRole('treegrid').focus();
    const first = (await screen().rows('Bottom-up'))[0]?.[0];
    expect(first).toBe('pthread_mutex_lock');
    await screen().press('ArrowDown', 'ArrowRight');
    const names = (await screen().rows('Bottom-up')).map(([name]) => name);
    expect(names.slice(0, 2)).toEqual(['pthread_mutex_lock', 'push_item']);
    expect(await screen().text('.stack-head')).toMatch(/^Viewing 1 of \d+ selected stacks?/m);
    expect(await screen().page.locator('.frame-name').allInnerTexts()).toContain('push_item');
  });

  test('a cause leads to its chains, and these to the object, the threads and the code', async () => {
    const { page } = screen();
    const box = (text: string) => page.locator('.chain-box', { hasText: text }).first();
    await screen().open('r=r000th');
    // On a busy machine the run queue comes first.
    const cause = page.locator('article.card', { hasText: 'sleep_until' }).first();
    await cause.getByRole('button', { name: 'Show me' }).click();
    await screen().idle();
    expect(screen().hash).toMatch(/tab=explain&cause=slept/);
    expect(await page.locator('.chain-cause').innerText()).toContain('sleep_until');
    const chains = page.url();
    await box('queue_lock').getByRole('button', { name: 'queue_lock' }).click();
    await screen().idle();
    expect(screen().hash).toContain('tab=blame&object=queue_lock');
    expect((await screen().rows('Blame'))[0]?.[0]).toContain('queue_lock');
    await page.goto(chains);
    await screen().idle();
    await box('queue_lock').getByRole('button', { name: 'worker' }).click();
    await screen().idle();
    expect(screen().hash).toMatch(/tab=platform.*filter=thread%3Dworker/);
    await page.goto(chains);
    await screen().idle();
    await box('queue_lock').getByRole('button', { name: 'convoy.c' }).click();
    await screen().idle();
    expect(screen().hash).toMatch(/tab=source.*function=\w+/);
    expect(await screen().text('main')).toContain('convoy.c');
  });

  test('the selected time is explained', async () => {
    const { page } = screen();
    await screen().open('r=r000th&tab=platform&mark=100000000-300000000');
    await page.getByLabel('Selected time').getByRole('button', { name: 'Explain the Selection' }).click();
    await screen().idle();
    expect(screen().hash).toContain('tab=explain');
    expect(screen().hash).toContain('range=100000000-300000000');
    const [first] = await screen().rows('Causes');
    const { rows } = report<{ rows: { who: string; wall_ns: number }[] }>(
      'r000th',
      'explain',
      '--time-range',
      '100ms-300ms',
    );
    expect(first?.[0]).toBe(rows[0]?.who);
    expect(rows[0]?.wall_ns).toBeLessThanOrEqual(200_000_000);
  });

  test('a card has its evidence as a chart: the lengths of the waits', async () => {
    await screen().open('r=r003th&tab=findings');
    const card = screen().page.locator('.card', { hasText: 'Small writes wait' }).first();
    expect(await card.getByRole('img').getAttribute('aria-label')).toMatch(/^Lengths of the waits: .*· \d+ waits?/);
    expect(await card.locator('.wait-count').count()).toBeGreaterThan(1);
  });

  test('lists are copied as text, as CSV and as a link', async () => {
    const { page } = screen();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await screen().open('r=r000th&tab=objects');
    const copied = async (choice: string) => {
      await page.locator('main .copy').first().getByRole('button').first().click();
      await page.locator('.menu-entry', { hasText: choice }).click();
      return page.evaluate(() => navigator.clipboard.readText());
    };
    expect(await copied('Copy as text')).toMatch(/^Sync Object\t.*\n/);
    expect(await copied('Copy as CSV')).toMatch(/^object,handle,type,.*\r\nqueue_lock,w\d+,mutex,\d+/m);
    expect(await copied('Copy link')).toBe(page.url());
  });

  test('hostile names are text', async () => {
    const { rows } = report<{ rows: { name: string }[] }>('r001th', 'threads');
    expect(rows.some(({ name }) => name.startsWith('<b>x</b>'))).toBe(true);
    await screen().open('r=r001th&tab=bottom-up&group=thread,function,callers');
    const names = (await screen().rows('Bottom-up')).map(([name]) => name);
    expect(names.some((name) => name?.startsWith('<b>x</b>"\'&'))).toBe(true);
    expect(await screen().page.locator('main b').count()).toBe(0);
    await screen().open(`r=r001th&tab=objects&${new URLSearchParams({ object: '<img src=x onerror=alert(1)>' })}`);
    expect(await screen().page.locator('img').count()).toBe(0);
  });
});
