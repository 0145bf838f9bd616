// Measures Perfetto's trace processor in the browser, as its UI runs it: `node bench/perfetto.mjs ENGINE TRACE`, with ENGINE
// the folder of engine_bundle.js. Prints as JSON the times of loading and of the first answers, ms, and the renderer's
// memory, MB.

import { readFileSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createServer } from 'node:http';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const [engine, trace] = process.argv.slice(2);
if (!engine || !trace) {
  process.stderr.write('error: no engine or no trace\nhint: node bench/perfetto.mjs FOLDER trace.pftrace\n');
  process.exit(2);
}

const PAGE = fileURLToPath(new URL('perfetto-engine.mjs', import.meta.url));
const TYPES = {
  js: 'text/javascript',
  mjs: 'text/javascript',
  wasm: 'application/wasm',
  pftrace: 'application/octet-stream',
};
const server = createServer(async ({ url }, answer) => {
  const name = basename(url ?? '');
  if (url === '/') return answer.setHeader('content-type', 'text/html').end('<title>engine</title>');
  const own = { [basename(trace)]: trace, [basename(PAGE)]: PAGE };
  const file = own[name] ?? join(engine, name);
  answer.setHeader('content-type', TYPES[name.split('.').at(-1)] ?? 'text/plain');
  const handle = await open(file).catch(() => null);
  if (handle) handle.createReadStream().pipe(answer);
  else answer.writeHead(404).end();
});
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const origin = `http://127.0.0.1:${server.address().port}`;

/** Loads the trace in the page, then asks. */
async function inPage({ trace, queries }) {
  const { Engine } = await import('/perfetto-engine.mjs');
  const timed = async (work) => {
    const start = performance.now();
    const cells = await work();
    return { ms: performance.now() - start, cells };
  };
  const engine = new Engine('/engine_bundle.js');
  const { ms: loaded } = await timed(() => engine.load(trace));
  const times = {};
  for (const [name, sql] of queries) times[name] = await timed(() => engine.query(sql));
  return { loaded, times };
}

const QUERIES = [
  [
    'waits by thread',
    "select name, count(), sum(thread_state.dur) from thread_state join thread using (utid) where state = 'S' group by utid",
  ],
  [
    'samples by function',
    `select f.name, count() from perf_sample p join stack_profile_callsite c on p.callsite_id = c.id
     join stack_profile_frame f on c.frame_id = f.id group by f.name order by 2 desc`,
  ],
  ['switches', 'select count() from sched'],
];

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
const page = await browser.newPage();
await page.goto(origin);
const measured = await page.evaluate(inPage, { trace: `/${basename(trace)}`, queries: QUERIES });
const session = await browser.newBrowserCDPSession();
const { processInfo } = await session.send('SystemInfo.getProcessInfo');
const peaks = processInfo
  .filter(({ type }) => type === 'renderer')
  .map(({ id }) => Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${id}/status`, 'utf8'))?.[1] ?? 0) / 1024);
await browser.close();
server.close();
const answer = { ...measured, peak_mb: Math.max(...peaks), trace_mb: statSync(trace).size / 1e6 };
process.stdout.write(`${JSON.stringify(answer, null, 2)}\n`);
