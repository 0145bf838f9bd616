// A bookmark of a server on a chosen port, and its open tabs, after that server was started again.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { served, skipped, useScreen } from './screen';

const freePort = () =>
  new Promise<number>((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => done(typeof address === 'object' && address ? address.port : 0));
    });
  });

describe.skipIf(skipped)('bookmark', () => {
  const screen = useScreen();

  test('a bookmark and an open tab outlive their server', async () => {
    const state = mkdtempSync(join(tmpdir(), 'dwell-ui-state-'));
    const port = await freePort();
    const start = () =>
      new Promise<[server: ChildProcess, url: string]>((done) => {
        const server = spawn(served.dwell, ['view', '--no-browser', '--port', `${port}`, served.folder], {
          stdio: ['ignore', 'pipe', 'inherit'],
          env: { ...process.env, XDG_STATE_HOME: state },
        });
        server.stdout?.once('data', (chunk: Buffer) => done([server, chunk.toString().trim()]));
      });
    const end = (server: ChildProcess) =>
      new Promise((done) => {
        server.on('exit', done);
        server.kill();
      });
    const context = screen().page.context();
    const [first, url] = await start();
    const open = await context.newPage();
    await open.goto(`${url}&r=r000th&tab=flame`);
    await open.getByRole('main', { name: 'Flame Graph' }).waitFor();
    const bookmark = open.url();
    expect(bookmark).toContain('lasting-token=');
    await end(first);
    const [second] = await start();
    await open.reload();
    await open.getByRole('main', { name: 'Flame Graph' }).waitFor();
    const tab = await context.newPage();
    await tab.goto(bookmark);
    await tab.getByRole('main', { name: 'Flame Graph' }).waitFor();
    await end(second);
    await open.close();
    await tab.close();
    rmSync(state, { recursive: true, force: true });
  });
});
