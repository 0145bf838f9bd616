// Sockets: the screen shows the numbers of the command line, and leads to each wait on the timeline.

import { describe, expect, test } from 'vitest';
import { word } from '../../src/base/texts';
import { count, duration, percent } from '../../src/base/units';
import { fromHash } from '../../src/state/url';
import { report, skipped, useScreen } from './screen';

interface Socket {
  id: number;
  local: string | null;
  remote: string | null;
  object: string | null;
  wait_ns: number;
  wait_count: number;
  wait_by_cause: Record<string, number>;
  p50_ns: number | null;
  p99_ns: number | null;
  bytes_sent: number;
  bytes_received: number;
  sends: number;
  receives: number;
  modes: { centre_ns: number; count: number }[];
}

describe.skipIf(skipped)('sockets', () => {
  const screen = useScreen();
  const sockets = () => report<{ rows: Socket[] }>('r003th', 'sockets').rows;
  /** The client's end: each small command waits for a delayed acknowledgement. */
  const client = () => sockets().find(({ modes }) => modes.some(({ centre_ns: ns }) => ns > 30e6)) as Socket;

  test('rows are those of the command line', async () => {
    const rows = sockets();
    expect(rows.length).toBeGreaterThanOrEqual(2);
    await screen().open('r=r003th&tab=sockets');
    const shown = await screen().rows('Sockets');
    expect(shown.map(([local, remote]) => [local, remote])).toEqual(
      rows.map(({ local, remote }) => [local ?? '', remote ?? '']),
    );
    for (const [at, row] of rows.entries()) {
      const times = [row.p50_ns, row.p99_ns].map((ns) => (ns === null ? '' : duration(ns)));
      const calls = [row.bytes_sent, row.bytes_received, row.sends, row.receives].map(count);
      for (const text of [count(row.wait_count), duration(row.wait_ns), ...times, ...calls]) {
        expect(shown[at], `${row.local} ${text}`).toContain(text);
      }
    }
    expect(await screen().faults()).toEqual([]);
  });

  test('a socket shows why its waits are long, and the humps of their lengths', async () => {
    const socket = client();
    await screen().open(`r=r003th&tab=sockets&socket=${socket.id}`);
    const names = await screen().page.locator('.hump').allTextContents();
    const modes = socket.modes.map(({ centre_ns: ns, count: waits }) => `${duration(ns)} · ${count(waits)} wait`);
    expect(names.length).toBeGreaterThanOrEqual(2);
    for (const name of names) expect(modes).toContain(name.replace(/s$/, ''));
    expect(names.some((name) => /^(3|4|5|6|7|8|9)\d\.\d ms/.test(name) || /^[12]\d\d ms/.test(name))).toBe(true);
    const [cause = '', ns = 0] = Object.entries(socket.wait_by_cause).sort(([, a], [, b]) => b - a)[0] ?? [];
    const first = `${word('cause', cause)} ${duration(ns)} (${percent(ns / socket.wait_ns)})`;
    expect(await screen().text('.cause-list li')).toBe(first);
    const { rows } = report<{ rows: { wait_ns: number; socket: string }[] }>('r003th', 'socket-waits');
    const own = rows.filter(({ socket: name }) => name === `TCP ${socket.local} -> ${socket.remote}`);
    const waits = await screen().rows('Waits on sockets');
    expect(waits.map(([, time]) => time)).toEqual(own.slice(0, waits.length).map((wait) => duration(wait.wait_ns)));
    expect(await screen().faults()).toEqual([]);
  });

  test('by keyboard alone: a socket, its waits, the timeline at one of them', async () => {
    await screen().open('r=r003th&tab=sockets');
    const { page } = screen();
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label'));
    const tabTo = async (label: string) => {
      for (let presses = 0; presses < 80 && (await focused()) !== label; presses += 1) await page.keyboard.press('Tab');
      expect(await focused()).toBe(label);
    };
    await tabTo('Sockets');
    await screen().press('ArrowDown');
    const [socket] = sockets();
    expect(fromHash(screen().hash).socket).toBe(String(socket?.id));
    await tabTo('Waits on sockets');
    await screen().press('ArrowDown', 'Enter');
    const { tab, picked, zoom } = fromHash(screen().hash);
    const [longest] = report<{ rows: { start_ns: number; wait_ns: number; socket: string }[] }>(
      'r003th',
      'socket-waits',
    ).rows.filter(({ socket: name }) => name === `TCP ${socket?.local} -> ${socket?.remote}`);
    expect([tab, picked?.at]).toEqual(['platform', longest?.start_ns]);
    expect(zoom && longest && zoom.from < longest.start_ns && zoom.to > longest.start_ns + longest.wait_ns).toBe(true);
    expect(await screen().text('.tl-detail')).toContain('Socket wait');
    await screen().press('[');
    await page.getByRole('treegrid', { name: 'Sockets', exact: true }).focus();
    await screen().press('f');
    expect(fromHash(screen().hash).filters).toEqual([{ key: 'object', value: socket?.object }]);
  });

  test('throughput is on the timeline, of each socket and of all', async () => {
    await screen().open('r=r003th&tab=platform');
    const captions = await screen().page.locator('.tl-caption').allInnerTexts();
    const { local, remote } = client();
    for (const caption of ['Sockets', `TCP ${local} -> ${remote}`]) expect(captions).toContain(caption);
  });

  test('in Japanese', async () => {
    await screen().page.addInitScript(() => {
      if (location.protocol !== 'about:') localStorage.setItem('dwell', JSON.stringify({ language: 'ja' }));
    });
    await screen().open(`r=r003th&tab=sockets&socket=${client().id}`);
    expect(await screen().text('.cause-list li')).toMatch(/^遅延 ACK /);
    expect(await screen().faults()).toEqual([]);
  });

  test('without recorded sockets, the screen says what to do', async () => {
    await screen().open('r=r000th&tab=sockets');
    expect(await screen().page.getByRole('main').innerText()).toContain('--analyze threading,sockets');
  });
});
