import { expect, test, vi } from 'vitest';
import { fetchJson } from './client';
import { authorization, type Tab, takeToken, withoutToken, withToken } from './token';

function tab(hash: string, kept = new Map<string, string>()): Tab & { shown: string } {
  return {
    shown: hash,
    hash() {
      return this.shown;
    },
    replaceHash(next) {
      this.shown = next;
    },
    isStep: () => false,
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
  expect([...kept.values()]).toEqual(['token=another']);
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

test('a token that lasts stays in the address, and not in links for others', () => {
  const kept = new Map<string, string>();
  const opened = tab('#lasting-token=5ec&r=r000th', kept);
  expect(takeToken(opened)).toBe(true);
  expect(opened.shown).toBe('r=r000th&lasting-token=5ec');
  expect(authorization()).toEqual({ authorization: 'Bearer 5ec' });
  expect(withToken('')).toBe('lasting-token=5ec');
  expect(withToken('r=r000th&tab=flame')).toBe('r=r000th&tab=flame&lasting-token=5ec');
  expect(withoutToken('http://a/#r=r000th&tab=flame&lasting-token=5ec')).toBe('http://a/#r=r000th&tab=flame');
  expect(withoutToken('#lasting-token=5ec&r=x')).toBe('#r=x');
  // Back and Forward are no reason to load the page again.
  expect(takeToken({ ...tab('#r=r001th&lasting-token=5ec', kept), isStep: () => true })).toBe(false);
  // A link of somebody's, in this tab.
  const link = tab('#r=r002th', kept);
  expect(takeToken(link)).toBe(false);
  expect(link.shown).toBe('r=r002th&lasting-token=5ec');
  takeToken(tab('#token=another', kept));
  expect(withToken('r=r000th')).toBe('r=r000th');
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
