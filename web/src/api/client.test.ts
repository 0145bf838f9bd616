import { afterEach, expect, test, vi } from 'vitest';
import { fetchJson } from './client';

/** A server that answers when it is told to. */
function server() {
  const asked: { url: string; signal: AbortSignal; answer: (value: unknown) => void }[] = [];
  const fetch = (url: string, { signal }: { signal: AbortSignal }) =>
    new Promise<Response>((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
      asked.push({ url, signal, answer: (value) => resolve(new Response(JSON.stringify(value))) });
    });
  vi.stubGlobal('fetch', fetch);
  return asked;
}

const later = () => new Promise((done) => setTimeout(done, 5));

afterEach(() => void vi.unstubAllGlobals());

test('concurrent callers share one request, and the answer is kept', async () => {
  const asked = server();
  const answers = [fetchJson('/a'), fetchJson('/a'), fetchJson('/b')];
  expect(asked.map(({ url }) => url)).toEqual(['/a', '/b']);
  asked[0]?.answer({ n: 1 });
  asked[1]?.answer({ n: 2 });
  expect(await Promise.all(answers)).toEqual([{ n: 1 }, { n: 1 }, { n: 2 }]);
  expect(await fetchJson('/a')).toEqual({ n: 1 });
  expect(asked).toHaveLength(2);
});

test("a caller that leaves does not abort the others' request; when all have left, it is aborted", async () => {
  const asked = server();
  const [first, second, third] = [new AbortController(), new AbortController(), new AbortController()];
  const gone = fetchJson('/c', first.signal).catch((error: Error) => error.name);
  const stays = fetchJson('/c', second.signal).catch((error: Error) => error.name);
  first.abort();
  expect(await gone).toBe('AbortError');
  await later();
  expect(asked[0]?.signal.aborted).toBe(false);
  second.abort();
  // The next screen asks the same in the same turn.
  const next = fetchJson('/c', third.signal);
  expect(await stays).toBe('AbortError');
  await later();
  expect(asked.map(({ signal }) => signal.aborted)).toEqual([false]);
  asked[0]?.answer('c');
  expect(await next).toBe('c');

  const [alone, again] = [new AbortController(), new AbortController()];
  void fetchJson('/d', alone.signal).catch(() => {});
  alone.abort();
  await later();
  expect(asked[1]?.signal.aborted).toBe(true);
  const anew = fetchJson('/d', again.signal);
  asked[2]?.answer('d');
  expect(await anew).toBe('d');
});
