// Pictures of the screens for docs/images: `node scripts/pictures.mjs DWELL FOLDER IMAGES [NAME…]`. FOLDER has the recordings of
// scripts/pictures.sh: `module` of output_module_tbb, `tcp` and `fixed` of tcp_commands. NAME is a picture; without, all are made.

import { execFileSync, spawn } from 'node:child_process';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const [dwell, folder, images, ...wanted] = process.argv.slice(2);
if (!images) {
  process.stderr.write('usage: node scripts/pictures.mjs DWELL FOLDER IMAGES [NAME...]\n');
  process.exit(2);
}

/** The rows of a report of a recording. */
function rows(recording, ...words) {
  const command = ['report', ...words, join(folder, recording), '--format', 'json'];
  return JSON.parse(execFileSync(dwell, command, { maxBuffer: 64 << 20, stdio: ['ignore', 'pipe', 'ignore'] })).rows;
}

/** The socket of the client's end of tcp_commands: of those that ask, the one that waited longest. */
function client() {
  const sockets = rows('tcp', 'sockets').filter(({ wait_by_cause: causes }) => 'delayed-ack' in causes);
  const server = rows('tcp', 'findings').find(({ id }) => id === 'nagle-delayed-ack')?.subject ?? '';
  return sockets.find(({ remote }) => server.endsWith(`-> ${remote}`)) ?? sockets[0];
}

/** A part of the time about the client's long wait that lies in the middle. */
function aboutLongWait() {
  const long = rows('tcp', 'socket-waits')
    .filter(({ socket, wait_ns: ns }) => socket.endsWith(` -> ${client().remote}`) && ns > 20e6)
    .map(({ start_ns: ns }) => ns)
    .sort((first, second) => first - second);
  const start = long[Math.floor(long.length / 2)] ?? 200e6;
  return `${Math.max(0, start - 150e6)}-${start + 200e6}`;
}

/** Selects the heaviest row and opens it, level by level. */
async function openFirst(page) {
  await page.getByRole('treegrid').first().focus();
  for (const key of ['ArrowDown', 'ArrowRight', 'ArrowDown', 'ArrowRight', 'ArrowDown']) await press(page, key);
}

/** Picks what the second thread does in the middle. */
async function pickSecond(page) {
  const box = await page.locator('.tl-pointer').first().boundingBox();
  await page.mouse.click(box.x + box.width / 2, box.y + SECOND_BAND);
  // What it says of the place of the pointer would cover the bands.
  await page.mouse.move(0, 0);
  await idle(page);
}
const SECOND_BAND = 50;

/** Goes from the socket's first wait to the timeline. */
async function showWait(page) {
  await page.getByRole('treegrid', { name: 'Waits on sockets', exact: true }).focus();
  for (const key of ['ArrowDown', 'Enter']) await press(page, key);
}

async function press(page, key) {
  await page.keyboard.press(key);
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await idle(page);
}

/** Views by the name of their picture, and what is done in them. */
const VIEWS = {
  'ui-summary': { view: () => ({ r: 'module' }) },
  'ui-causes': { view: () => ({ r: 'module', tab: 'explain' }) },
  'ui-bottom-up': {
    view: () => ({ r: 'module', tab: 'bottom-up', group: 'object,function,callers' }),
    act: openFirst,
  },
  'ui-platform': { view: () => ({ r: 'module', tab: 'platform', zoom: '100000000-190000000' }), act: pickSecond },
  'ui-objects': { view: () => ({ r: 'tcp', tab: 'objects', object: client().object }) },
  'tcp-objects': { view: () => ({ r: 'tcp', tab: 'objects', object: client().object }) },
  'tcp-findings': { view: () => ({ r: 'tcp', tab: 'findings' }) },
  'tcp-sockets': { view: () => ({ r: 'tcp', tab: 'sockets', socket: client().id }) },
  'tcp-wait': { view: () => ({ r: 'tcp', tab: 'sockets', socket: client().id }), act: showWait },
  'tcp-counters': {
    view: () => ({ r: 'tcp', tab: 'platform', filter: `object=${client().object}`, zoom: aboutLongWait() }),
  },
  'tcp-compare': { view: () => ({ r: 'fixed', tab: 'compare', with: 'tcp' }) },
};

/** The address that `dwell view` prints. */
function address(server) {
  return new Promise((done, fail) => {
    let text = '';
    server.stdout.on('data', (chunk) => {
      text += chunk.toString();
      const url = /https?:\/\/\S+token=\S+/.exec(text)?.[0];
      if (url) done(url);
    });
    server.on('exit', (status) => fail(new Error(`dwell view ended with ${status}`)));
  });
}

async function idle(page) {
  await page.waitForFunction(() => document.documentElement.dataset.idle === 'true');
}

const chosen = Object.entries(VIEWS).filter(([name]) => wanted.length === 0 || wanted.includes(name));
const server = spawn(dwell, ['view', '--no-browser', folder], { stdio: ['ignore', 'pipe', 'ignore'] });
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
try {
  const look = { viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce' };
  const url = await address(server);
  const context = await browser.newContext({ ...look, colorScheme: 'light' });
  const page = await context.newPage();
  await page.goto(url);
  for (const [name, { view, act }] of chosen) {
    await page.emulateMedia({ colorScheme: name.startsWith('ui-') ? 'dark' : 'light' });
    await page.goto('about:blank');
    await page.goto(`${new URL(url).origin}/#${new URLSearchParams(view())}`);
    await idle(page);
    await act?.(page);
    await page.screenshot({ path: join(images, `${name}.png`) });
    process.stdout.write(`${join(images, name)}.png\n`);
  }
} finally {
  await browser.close();
  server.kill();
}
