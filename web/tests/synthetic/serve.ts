// Serves the built page over a synthetic result.

import { readFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bands, charts, info, interval, type Shape, tile } from './result';

const TYPES: Record<string, string> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};

const DIST = fileURLToPath(new URL('../../dist', import.meta.url));

export interface Served {
  url: string;
  close(): void;
}

/** Serves `dist` and the calls of the timeline; tiles arrive after `delayMs`. */
export async function serve(shape: Shape, delayMs = 0, dist = DIST): Promise<Served> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const call = /^\/api\/r\/[^/]+\/(.*)$/.exec(url.pathname)?.[1];
    if (call === 'tile') {
      setTimeout(() => response.end(tile(shape, url.searchParams)), delayMs);
    } else if (url.pathname.startsWith('/api/')) {
      json(response, call === undefined ? [result(shape)] : answer(shape, call, url.searchParams));
    } else {
      void file(response, join(dist, url.pathname === '/' ? 'index.html' : url.pathname));
    }
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() };
}

function result(shape: Shape) {
  const fixed = {
    id: 'r000th',
    name: 'r000th',
    program: 'synthetic',
    analysis: 'threading',
    created: '',
    size_bytes: 1,
  };
  return { ...fixed, elapsed_ns: shape.elapsedNs };
}

function answer(shape: Shape, call: string, query: URLSearchParams): unknown {
  const answers: Record<string, () => unknown> = {
    info: () => info(shape),
    bands: () => bands(shape),
    charts: () => charts(shape, query),
    interval: () => interval(shape, query),
    arrows: () => ({ total: 0, arrows: [] }),
    filters: () => ({ values: [], shown: 1, total: 0 }),
  };
  return answers[call]?.() ?? { rows: [], notes: [], columns: [], total: {} };
}

function json(response: ServerResponse, body: unknown): void {
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(body));
}

async function file(response: ServerResponse, path: string): Promise<void> {
  try {
    const bytes = await readFile(path);
    response.setHeader('content-type', TYPES[extname(path)] ?? 'application/octet-stream');
    response.end(bytes);
  } catch {
    response.statusCode = 404;
    response.end();
  }
}
