// Collections from the page: a program is started, marked and stopped, a running one attached to; what cannot be is refused.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { served, skipped, useScreen } from './screen';

/** `dwell view` on a folder; its address and its end. */
function view(...args: string[]): Promise<[server: ChildProcess, url: string]> {
  return new Promise((done) => {
    const server = spawn(served.dwell, ['view', '--no-browser', ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
    server.stdout?.once('data', (chunk: Buffer) => done([server, chunk.toString().trim()]));
  });
}

const end = (server: ChildProcess) =>
  new Promise((done) => {
    server.on('exit', done);
    server.kill('SIGINT');
  });

/** Whether the process that collects into `folder` looks at threads. */
function isLooking(folder: string): boolean {
  const commandOf = (pid: string) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    } catch {
      return '';
    }
  };
  const pid = readdirSync('/proc').find((pid) => commandOf(pid).includes(`\0collector\0${folder}\0`));
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.some((tid) => readFileSync(`/proc/${pid}/task/${tid}/comm`, 'utf8').trim() === 'live-looks');
}

describe.skipIf(skipped)('collections', () => {
  const screen = useScreen();
  let folder: string;
  let server: ChildProcess;
  let url: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'dwell-ui-collect-'));
    [server, url] = await view('--collect', folder);
  });
  afterAll(async () => {
    await end(server);
    rmSync(folder, { recursive: true, force: true });
  });

  async function page(): Promise<Page> {
    const page = await screen().page.context().newPage();
    await page.goto(url);
    await page.getByRole('button', { name: 'New collection' }).waitFor();
    return page;
  }

  /** Opens the form, where it is not open: a folder without results begins with it. */
  async function form(page: Page): Promise<void> {
    const button = page.getByRole('button', { name: 'New collection' });
    if ((await button.getAttribute('aria-expanded')) === 'false') await button.click();
  }
  const type = (page: Page, command: string) => page.getByLabel('Program and arguments').fill(command);
  const start = (page: Page) => page.getByRole('button', { name: 'Start', exact: true });
  /** The newest collection. */
  const newest = (page: Page) => page.locator('.collection').first();
  const state = (page: Page, words: string) =>
    newest(page).getByText(words, { exact: true }).waitFor({ timeout: 20_000 });

  test('a program is recorded from the page, and its result opened', async () => {
    const open = await page();
    await form(open);
    await type(open, `sh -c 'echo "hello  page"; sleep 0.3'`);
    await open.getByText(`sudo dwell collect threading -- sh -c 'echo "hello  page"; sleep 0.3'`).waitFor();
    await start(open).click();
    await state(open, 'Finished');
    await open.getByText('hello  page', { exact: true }).waitFor();
    await open.getByRole('button', { name: 'Open', exact: true }).click();
    await open.getByRole('main', { name: 'Summary' }).waitFor();
    await open.getByText('sleep slept').first().waitFor();
    await open.close();
  });

  test('a collection is paused, marked and stopped, by a tab that did not start it', async () => {
    const first = await page();
    await form(first);
    await type(first, 'sleep 60');
    await start(first).click();
    await state(first, 'Recording');
    await first.close();
    const second = await page();
    const region = newest(second);
    await region.getByLabel('What happens now').fill('deployed 1.2');
    await region.getByRole('button', { name: 'Mark' }).click();
    await region.getByRole('button', { name: 'Pause' }).click();
    await state(second, 'Paused');
    await region.getByRole('button', { name: 'Resume' }).click();
    await state(second, 'Recording');
    await region.getByRole('button', { name: 'Stop' }).click();
    await state(second, 'Finished');
    await second.close();
  });

  test('while it runs, its threads and their waits are shown; nobody looks at them when nobody watches', async () => {
    const first = await page();
    await form(first);
    await type(first, `python3 ${resolve('tests/ui/live.py')}`);
    await start(first).click();
    await state(first, 'Recording');
    const live = newest(first).getByRole('region', { name: 'Live' });
    await live.getByRole('img', { name: 'What the threads do, over time' }).waitFor();
    const band = (name: string, state: string) =>
      live.locator(`li[data-state=${state}]`, { hasText: name }).waitFor({ timeout: 10_000 });
    await band('waiter', 'lock');
    await band('holder', 'sleep');
    const account = live.getByRole('table', { name: 'At the moment' });
    await account.getByRole('row', { name: /^Lock/ }).waitFor();
    await account.getByRole('row', { name: /^Time \(sleep\)/ }).waitFor();
    const objects = live.getByRole('table', { name: 'Most waited for at the moment' });
    await objects.getByRole('row', { name: /mutex 0x.* waits for mutex .* which holder .* has: it sleeps/ }).waitFor();
    await live.getByText(/times a second/).waitFor();
    expect(isLooking(folder)).toBe(true);
    await first.close();
    await expect.poll(() => isLooking(folder), { timeout: 10_000, interval: 200 }).toBe(false);

    const second = await page();
    await newest(second).getByRole('list', { name: 'Threads' }).getByText('waiter').waitFor();
    await expect.poll(() => isLooking(folder)).toBe(true);
    await newest(second).getByRole('button', { name: 'Pause' }).click();
    await newest(second).getByRole('table', { name: 'At the moment' }).waitFor({ state: 'detached' });
    await newest(second).getByRole('button', { name: 'Cancel' }).click();
    await state(second, 'Cancelled');
    await expect.poll(() => isLooking(folder), { timeout: 10_000, interval: 200 }).toBe(false);
    await second.close();
  });

  test('a running process is found in the list and attached to; a cancelled collection leaves nothing', async () => {
    const program = spawn('sleep', ['77'], { stdio: 'ignore' });
    const open = await page();
    await form(open);
    await open.getByLabel('running processes').check();
    await open.getByLabel('Search by name').fill('sleep 77');
    await open.getByRole('checkbox', { name: `sleep ${program.pid}` }).check();
    await open.getByText(`--target-pid=${program.pid}`).waitFor();
    await start(open).click();
    await state(open, 'Recording');
    const result = (await newest(open).getAttribute('aria-label')) ?? '';
    expect(readdirSync(folder)).toContain(result);
    await newest(open).getByRole('button', { name: 'Cancel' }).click();
    await state(open, 'Cancelled');
    expect(readdirSync(folder)).not.toContain(result);
    expect(program.exitCode).toBeNull();
    program.kill();
    await open.close();
  });

  test('what cannot be is told before it is started', async () => {
    const open = await page();
    await form(open);
    expect(await start(open).isDisabled()).toBe(true);
    for (const [command, problem] of [
      [`sh -c 'open`, 'a quote is open'],
      ['no-such-program', 'there is no program no-such-program'],
    ] as const) {
      await type(open, command);
      await open.getByText(problem, { exact: true }).waitFor();
      expect(await start(open).isDisabled()).toBe(true);
    }
    await open.close();
  });

  test('a server without --collect starts nothing, whoever asks', async () => {
    const [plain, address] = await view(served.folder);
    const open = await screen().page.context().newPage();
    await open.goto(address);
    await open.getByRole('button', { name: 'r000th' }).waitFor();
    expect(await open.getByRole('button', { name: 'New collection' }).count()).toBe(0);
    const { origin, hash } = new URL(address);
    const token = hash.replace(/^#(token=)?/, '').split('&')[0];
    const body = JSON.stringify('');
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${origin}/api/collections/0/stop`, { method: 'POST', headers, body });
    expect(answer.status).toBe(405);
    await end(plain);
    await open.close();
  });

  test('results survive the end of the server while they are collected', async () => {
    const own = mkdtempSync(join(tmpdir(), 'dwell-ui-collect-'));
    const [ending, address] = await view('--collect', own);
    const open = await screen().page.context().newPage();
    await open.goto(address);
    await type(open, 'sleep 60');
    await start(open).click();
    await state(open, 'Recording');
    await end(ending);
    await expect
      .poll(() => readdirSync(join(own, 'r000th')).includes('tables'), { timeout: 30_000, interval: 200 })
      .toBe(true);
    rmSync(own, { recursive: true, force: true });
    await open.close();
  });
});
