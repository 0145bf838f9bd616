// Measures the UI in a real browser: `node bench/ui.mjs [--json] URL [RESULT]`, with the URL of `dwell view --no-browser`.
// Prints lines of a table, name, value and goal; with --json all figures, times in ms.

import { chromium } from 'playwright-core';

const json = process.argv.includes('--json');
const [address, wanted] = process.argv.slice(2).filter((word) => word !== '--json');
if (!address) {
  process.stderr.write('error: no address\nhint: node bench/ui.mjs "$(dwell view --no-browser RESULT | head -1)"\n');
  process.exit(2);
}
const GESTURE_MS = 4000;
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
const context = await browser.newContext({ viewport: { width: 2560, height: 1440 } });
const { origin, hash: token } = new URL(address);

/** Measures the time of each frame's callbacks. */
await context.addInitScript(() => {
  window.frameWork = [];
  const request = window.requestAnimationFrame.bind(window);
  const frames = new Map();
  window.requestAnimationFrame = (callback) =>
    request((now) => {
      const start = performance.now();
      callback(now);
      frames.set(now, (frames.get(now) ?? 0) + performance.now() - start);
      window.frameWork = [...frames.values()].slice(-2000);
      if (frames.size > 4000) frames.clear();
    });
  performance.setResourceTimingBufferSize(10_000);
});

const percentile = (values, part) => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? null;
};
const round = (value) => (value === null ? null : Math.round(value * 10) / 10);
const idle = (page) => page.waitForSelector('html[data-idle=true]', { timeout: 120_000 });

async function firstPaint(hash) {
  const page = await context.newPage();
  const start = performance.now();
  await page.goto(`${origin}/${token}&${hash}`);
  await idle(page);
  const all = performance.now() - start;
  const contentful = await page.evaluate(
    () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null,
  );
  return { page, shown: round(all), first_contentful_paint: round(contentful) };
}

/** Turns or pushes the wheel over the bands in every frame, as a hand would, and measures the frames. */
async function gesture(page, kind) {
  return page.evaluate(
    ([how, length]) =>
      new Promise((done) => {
        const canvas = document.querySelector('.tl-pointer');
        const box = canvas.getBoundingClientRect();
        const start = performance.now();
        const times = [];
        const at = { clientX: box.x + box.width * 0.4, clientY: box.y + 50, bubbles: true, cancelable: true };
        canvas.dispatchEvent(new PointerEvent('pointermove', at));
        window.frameWork.length = 0;
        const step = (now) => {
          times.push(now);
          const passed = performance.now() - start;
          if (passed > length) return done({ times, work: window.frameWork });
          const wave = Math.floor(passed / 1000) % 2 === 0 ? 1 : -1;
          const turn = how === 'zoom' ? { deltaY: -40 * wave } : { deltaX: 60 * wave };
          canvas.dispatchEvent(new WheelEvent('wheel', { ...at, ...turn }));
          requestAnimationFrame(step);
        };
        requestAnimationFrame(step);
      }),
    [kind, GESTURE_MS],
  );
}

function frames({ times, work }) {
  const between = times.slice(1).map((time, at) => time - times[at]);
  return {
    frames_per_second: round(((times.length - 1) / (times.at(-1) - times[0])) * 1000),
    frame_p95: round(percentile(between, 0.95)),
    work_p50: round(percentile(work, 0.5)),
    work_p95: round(percentile(work, 0.95)),
  };
}

async function tileTimes(page) {
  const times = await page.evaluate(() =>
    performance
      .getEntriesByType('resource')
      .filter(({ name }) => name.includes('/tile?'))
      .map(({ responseEnd, requestStart, transferSize }) => ({ time: responseEnd - requestStart, size: transferSize })),
  );
  const done = times.filter(({ size }) => size > 0).map(({ time }) => time);
  return {
    tiles: done.length,
    p50: round(percentile(done, 0.5)),
    p95: round(percentile(done, 0.95)),
    most: round(percentile(done, 1)),
  };
}

async function heapMegabytes(page) {
  const session = await context.newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const heap = await session.send('Runtime.getHeapUsage');
  const bytes = heap.usedSize + (heap.embedderHeapUsedSize ?? 0) + (heap.backingStorageSize ?? 0);
  return round(bytes / 1e6);
}

/** The time from pressing `f` on a selected range until the whole view is final, as the page itself sees both. */
async function filterIn(page, tab, hash) {
  await page.goto('about:blank');
  await page.goto(`${origin}/#${hash.replace('tab=platform', `tab=${tab}`)}`);
  await idle(page);
  await page.evaluate(() => {
    window.filtered = new Promise((done) => {
      const pressed = ({ timeStamp }) => {
        const root = document.documentElement;
        let busy = false;
        new MutationObserver((_, observer) => {
          busy ||= root.dataset.idle === 'false';
          if (!busy || root.dataset.idle !== 'true') return;
          observer.disconnect();
          done(performance.now() - timeStamp);
        }).observe(root, { attributeFilter: ['data-idle'] });
      };
      document.addEventListener('keydown', pressed, { once: true, capture: true });
    });
  });
  await page.keyboard.press('f');
  return round(await page.evaluate(() => window.filtered));
}

function table({ summary, timeline, zooming, panning, tiles, filter_in, heap_mb }) {
  const moving = (gesture) => `${gesture.frames_per_second} frames/s, work per frame p95 ${gesture.work_p95} ms`;
  const rows = [
    [
      'First paint of Summary, of the timeline',
      `${summary.first_contentful_paint}, ${timeline.first_contentful_paint} ms`,
      '1.0, 1.5 s',
    ],
    ['Summary is final in the browser', `${summary.shown} ms`, '1.0 s'],
    ['Timeline is final in the browser', `${timeline.shown} ms`, '1.5 s'],
    ['Zooming, 2560 × 1440', moving(zooming), '60 frames/s, 8 ms'],
    ['Panning, 2560 × 1440', moving(panning), '60 frames/s, 8 ms'],
    ['Tiles in the browser', `p50 ${tiles.p50} ms, p95 ${tiles.p95} ms`, 'p95 50 ms'],
    ...Object.entries(filter_in).map(([tab, ms]) => [`Filter in by selection, ${tab}`, `${ms} ms`, '300 ms']),
    ['Browser heap', `${heap_mb} MB`, '300 MB'],
  ];
  return rows.map((row) => `${row.join(' | ')}\n`).join('');
}

const page = await context.newPage();
await page.goto(address);
const headers = { authorization: token.replace('#token=', 'Bearer ') };
const results = await page.evaluate(async (init) => (await fetch('/api/results', init)).json(), { headers });
const result = results.find(({ id }) => id === wanted) ?? results[0];
await page.close();
const hash = `r=${encodeURIComponent(result.id)}&tab=`;
const summary = await firstPaint(`${hash}summary`);
await summary.page.close();
const timeline = await firstPaint(`${hash}platform`);
const zooming = frames(await gesture(timeline.page, 'zoom'));
await idle(timeline.page);
await timeline.page.goto(
  `${origin}/#${hash}platform&zoom=${Math.round(result.elapsed_ns * 0.4)}-${Math.round(result.elapsed_ns * 0.45)}`,
);
await idle(timeline.page);
const panning = frames(await gesture(timeline.page, 'pan'));
await idle(timeline.page);
const tiles = await tileTimes(timeline.page);
const heap_mb = await heapMegabytes(timeline.page);
const filter_in = {};
for (const [at, tab] of ['platform', 'bottom-up', 'objects'].entries()) {
  // The median of several ranges that the server has not seen before.
  const times = [];
  for (const turn of [0, 1, 2]) {
    const cut = (at * 3 + turn + 1) * 1_000_003;
    const mark = `&mark=${Math.round(result.elapsed_ns * 0.4) + cut}-${Math.round(result.elapsed_ns * 0.6) - cut}`;
    times.push(await filterIn(timeline.page, tab, `${hash}platform${mark}`));
  }
  filter_in[tab] = percentile(times, 0.5);
}
const shown = ({ page: _, ...times }) => times;
const measured = { summary: shown(summary), timeline: shown(timeline), zooming, panning, tiles, filter_in, heap_mb };
process.stdout.write(json ? `${JSON.stringify(measured, null, 2)}\n` : table(measured));
await browser.close();
