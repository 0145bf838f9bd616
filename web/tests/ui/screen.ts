// The browser actions of the tests.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject } from 'vitest';
import { groupOf, TAB_GROUPS, type Tab } from '../../src/state/view-state';

export const served = inject('served');
export const skipped = served.origin === '';

/** The page under test, new for each test, in one session. */
export class Screen {
  readonly errors: string[] = [];

  constructor(readonly page: Page) {
    page.on('pageerror', (error) => this.errors.push(String(error)));
    page.on('console', (message) => message.type() === 'error' && this.errors.push(message.text()));
  }

  /** Opens the view of a link and waits until it is final. */
  async open(hash: string): Promise<void> {
    await this.page.goto('about:blank');
    await this.page.goto(`${served.origin}/#${hash}`);
    await this.idle();
  }

  /** Waits until the page is idle and everything is drawn. */
  async idle(): Promise<void> {
    await this.page.waitForFunction(() => document.documentElement.dataset.idle === 'true');
  }

  /** Goes to a screen of the result by its group and its tab. */
  async show(tab: Tab): Promise<void> {
    const group = groupOf(tab);
    await this.page.locator('.tab-group').nth(Object.keys(TAB_GROUPS).indexOf(group)).click();
    const tabs: readonly Tab[] = TAB_GROUPS[group];
    await this.page.locator('.group-tabs .tab').nth(tabs.indexOf(tab)).click();
    await this.idle();
  }

  async press(...keys: string[]): Promise<void> {
    for (const key of keys) {
      await this.page.keyboard.press(key);
      // The key's effect begins with the next frame at the latest.
      await this.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      await this.idle();
    }
  }

  async text(selector: string): Promise<string> {
    return (await this.page.locator(selector).first().innerText()).replaceAll('\u00a0', ' ').trim();
  }

  /** The text of every cell of a grid's rendered rows. */
  async rows(label: string): Promise<string[][]> {
    return this.page
      .getByRole('treegrid', { name: label, exact: true })
      .locator('.grid-data')
      .evaluateAll((rows) =>
        rows
          .sort((a, b) => Number(a.getAttribute('aria-rowindex')) - Number(b.getAttribute('aria-rowindex')))
          .map((row) =>
            [...row.querySelectorAll('[role=gridcell]')].map((cell) =>
              (cell as HTMLElement).innerText.replace(/^[▸▾]/, '').trim(),
            ),
          ),
      );
  }

  get hash(): string {
    return new URL(this.page.url()).hash;
  }

  /** Accessibility faults that axe calls serious or critical. */
  async faults(): Promise<string[]> {
    await this.page.evaluate(axe.source);
    const { violations } = await this.page.evaluate(() =>
      (window as unknown as { axe: typeof axe }).axe.run(document, { resultTypes: ['violations'] }),
    );
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`);
  }
}

/** One browser for a file of tests; `screen()` is the page of the running test, without state of earlier tests. */
export function useScreen(): () => Screen {
  let browser: Browser;
  let context: BrowserContext;
  let current: Screen;
  beforeAll(async () => {
    if (!skipped) browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
  });
  afterAll(async () => {
    if (!skipped) await browser.close();
  });
  beforeEach(async () => {
    if (skipped) return;
    context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' });
    current = new Screen(await context.newPage());
    await current.page.goto(`${served.origin}/#token=${served.token}`);
    await current.idle();
  });
  afterEach(async () => {
    if (skipped) return;
    await context.close();
    expect(current.errors, 'errors in the browser').toEqual([]);
  });
  return () => current;
}

/** An answer of the page's server about a result. */
export async function ask<T>(result: string, call: string): Promise<T> {
  const headers = { authorization: `Bearer ${served.token}` };
  return (await (await fetch(`${served.origin}/api/r/${result}/${call}`, { headers })).json()) as T;
}

/** The command line's output for the same result. */
export function report<T>(result: string, name: string, ...options: string[]): T {
  const text = execFileSync(
    served.dwell,
    ['report', ...name.split(' '), join(served.folder, result), '--format', 'json', ...options],
    {
      maxBuffer: 64 << 20,
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  return JSON.parse(text.toString()) as T;
}
