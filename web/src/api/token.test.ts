import { expect, test, vi } from 'vitest';
import { fetchJson } from './client';
import { authorization, type Tab, takeToken } from './token';

function tab(hash: string, kept = new Map<string, string>()): Tab & { shown: string } {
  return {
    shown: hash,
    hash() {
      return this.shown;
    },
    replaceHash(next) {
      this.shown = next;
    },
    kept: { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => void kept.set(key, value) },
  };
}

test('the token leaves the address, whose view stays, and a reload has it again', () => {
  const kept = new Map<string, string>();
  const first = tab('#token=5ec&r=r000th&tab=flame', kept);
  expect(takeToken(first)).toBe(true);
  expect(first.shown).toBe('r=r000th&tab=flame');
  expect(authorization()).toEqual({ authorization: 'Bearer 5ec' });
  const reloaded = tab('#r=r000th', kept);
  expect(takeToken(reloaded)).toBe(false);
  expect(reloaded.shown).toBe('#r=r000th');
  expect(authorization()).toEqual({ authorization: 'Bearer 5ec' });
  takeToken(tab('#token=another', kept));
  expect([...kept.values()]).toEqual(['another']);
});

test('a new tab has none, and one without storage has it until a reload', () => {
  takeToken(tab('#r=r000th'));
  expect(authorization()).toEqual({});
  const refuse = () => {
    throw new DOMException('denied', 'SecurityError');
  };
  takeToken({ ...tab('#token=5ec'), kept: { getItem: refuse, setItem: refuse } });
  expect(authorization()).toEqual({ authorization: 'Bearer 5ec' });
});

test('every call carries it in a header, and no call takes cookies along', async () => {
  const asked: RequestInit[] = [];
  vi.stubGlobal('fetch', async (_url: string, init: RequestInit) => {
    asked.push(init);
    return new Response('{}');
  });
  takeToken(tab('#token=5ec'));
  await fetchJson('/with-token');
  expect(asked[0]?.headers).toEqual({ authorization: 'Bearer 5ec' });
  expect(asked[0]?.credentials).toBe('omit');
  vi.unstubAllGlobals();
});
