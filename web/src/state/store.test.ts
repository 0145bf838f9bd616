import { expect, test } from 'vitest';
import { clearFilters, filtered, filterIn, filterInRange, filterOut, openResult } from './actions';
import { selectionQuery, withParams } from './query';
import { type Browser, Store } from './store';
import { EMPTY } from './view-state';

/** A browser's history without a browser. */
class FakeBrowser implements Browser {
  entries: { hash: string; index: number | null }[] = [{ hash: '', index: null }];
  at = 0;
  private listener: () => void = () => undefined;
  hash = () => this.entries[this.at]?.hash ?? '';
  index = () => this.entries[this.at]?.index ?? null;
  push(hash: string, index: number) {
    this.entries.splice(this.at + 1, Number.POSITIVE_INFINITY, { hash, index });
    this.at += 1;
  }
  replace(hash: string, index: number) {
    this.entries[this.at] = { hash, index };
  }
  go(delta: number) {
    this.at += delta;
    this.listener();
  }
  onChange(listener: () => void) {
    this.listener = listener;
  }
  /** A link pasted into the address bar. */
  paste(hash: string) {
    this.entries.splice(this.at + 1, Number.POSITIVE_INFINITY, { hash, index: null });
    this.go(1);
  }
}

test('steps are undone and redone, touches go with their step', () => {
  const browser = new FakeBrowser();
  const store = new Store(browser);
  store.dispatch({ tab: 'objects' });
  store.dispatch({ object: 'queue_lock' }, 'touch');
  store.dispatch((state) => filterIn(state, 'thread', 'worker-1'));
  expect(browser.entries).toHaveLength(3);
  store.undo();
  expect(store.get()).toMatchObject({ tab: 'objects', object: 'queue_lock', filters: [] });
  store.undo();
  expect(store.get()).toEqual(EMPTY);
  store.undo();
  expect(browser.at).toBe(0);
  store.redo();
  store.redo();
  expect(store.get().filters).toEqual([{ key: 'thread', value: 'worker-1' }]);
  store.redo();
  expect(browser.at).toBe(2);
});

test('a new step after an undo forgets what was undone', () => {
  const browser = new FakeBrowser();
  const store = new Store(browser);
  store.dispatch({ tab: 'objects' });
  store.dispatch({ tab: 'blame' });
  store.undo();
  store.dispatch({ tab: 'log' });
  store.redo();
  expect(store.get().tab).toBe('log');
});

test('a search stays with its screen', () => {
  const store = new Store(new FakeBrowser());
  store.dispatch({ search: 'lock' }, 'touch');
  store.dispatch({ object: 'm' });
  expect(store.get().search).toBe('lock');
  store.dispatch({ tab: 'objects' });
  expect(store.get().search).toBe('');
  store.dispatch({ tab: 'blame', search: 'x' });
  expect(store.get().search).toBe('x');
});

test('a change without an effect is not a step', () => {
  const browser = new FakeBrowser();
  const store = new Store(browser);
  let told = 0;
  store.subscribe(() => {
    told += 1;
  });
  store.dispatch({ tab: 'summary' });
  expect([browser.entries.length, told]).toEqual([1, 0]);
});

test('a pasted link is a step like any other', () => {
  const browser = new FakeBrowser();
  const store = new Store(browser);
  browser.paste('#tab=log');
  expect(store.get().tab).toBe('log');
  store.undo();
  expect(store.get().tab).toBe('summary');
});

test('filters in and out replace each other', () => {
  const inside = filterIn(EMPTY, 'thread', 'a');
  expect(filterIn(inside, 'thread', 'a')).toBe(inside);
  const outside = filterOut(inside, 'thread', 'a');
  expect([outside.filters, outside.excludes]).toEqual([[], [{ key: 'thread', value: 'a' }]]);
  expect(filtered(outside)).toBe(true);
  expect(clearFilters(filterInRange(outside, { from: 1.5, to: 1.6 }))).toMatchObject({ range: null, excludes: [] });
});

test('another result keeps the settings and drops names of the old result', () => {
  const state = openResult({ ...filterIn(EMPTY, 'thread', 'a'), tab: 'objects', object: 'm', sort: null }, 'r001th');
  expect(state).toMatchObject({ result: 'r001th', tab: 'objects', filters: [], object: '' });
});

test('a request has the selection in the words of the command line', () => {
  const state = filterInRange(filterOut(filterIn(EMPTY, 'thread', 'a b'), 'module', 'libc'), { from: 1.2, to: 9.9 });
  const query = selectionQuery({ ...state, stackMode: 'all', inlines: false, target: 4 });
  expect(query.toString()).toBe(
    'from=1&to=10&filter=thread%3Da+b&exclude=module%3Dlibc&call-stack-mode=all&inlines=off&target-concurrency=4',
  );
  expect(selectionQuery(state, { time: true }).has('from')).toBe(false);
  expect(withParams(query, { limit: 5, search: '', subject: null }).get('limit')).toBe('5');
  expect(withParams(query, { search: '' }).has('search')).toBe(false);
  expect(withParams(query, { inverted: false, phase: ['a', 'b'] }).getAll('phase')).toEqual(['a', 'b']);
  // @ts-expect-error: the types of the words are the server's.
  withParams(query, { limti: 5 });
});
