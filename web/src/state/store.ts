// Holds the current view, its past and its future, in the browser's own history: Back is `[`, Forward is `]`, and a reload
// loses nothing.

import { withoutToken, withToken } from '../api/token';
import { fromHash, toHash } from './url';
import type { ViewState } from './view-state';

/** The part of `window` that the store needs; tests have their own. */
export interface Browser {
  hash(): string;
  /** The index stored with the current entry; null for another page's entry. */
  index(): number | null;
  push(hash: string, index: number): void;
  replace(hash: string, index: number): void;
  go(delta: number): void;
  onChange(listener: () => void): void;
}

/** `step`: `[` undoes it; `touch`: belongs to the previous step (selecting a row, typing, dragging). */
export type How = 'step' | 'touch';
export type Change = (state: ViewState) => ViewState;
export type Dispatch = (change: Change | Partial<ViewState>, how?: How) => void;

export class Store {
  private state: ViewState;
  private index: number;
  private newest: number;
  private readonly listeners = new Set<() => void>();

  constructor(private readonly browser: Browser) {
    this.state = fromHash(browser.hash());
    this.index = browser.index() ?? 0;
    this.newest = this.index;
    browser.replace(toHash(this.state), this.index);
    browser.onChange(() => this.arrived());
  }

  readonly get = (): ViewState => this.state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly dispatch: Dispatch = (change, how = 'step') => {
    const made = typeof change === 'function' ? change(this.state) : { ...this.state, ...change };
    // A search in one list makes no sense in another.
    const elsewhere = made.tab !== this.state.tab && made.search === this.state.search;
    const next = elsewhere ? { ...made, search: '' } : made;
    if (toHash(next) === toHash(this.state)) return;
    this.state = next;
    if (how === 'step') {
      this.index += 1;
      this.newest = this.index;
      this.browser.push(toHash(next), this.index);
    } else {
      this.browser.replace(toHash(next), this.index);
    }
    this.publish();
  };

  /** `[`: goes to the previous step. */
  readonly undo = (): void => {
    if (this.index > 0) this.browser.go(-1);
  };

  /** `]`: goes to the next step, if any. */
  readonly redo = (): void => {
    if (this.index < this.newest) this.browser.go(1);
  };

  private arrived(): void {
    const index = this.browser.index();
    if (index === null) {
      // A link typed or pasted into this page becomes the newest step.
      this.index += 1;
      this.newest = this.index;
      this.browser.replace(this.browser.hash(), this.index);
    } else {
      this.index = index;
    }
    this.state = fromHash(this.browser.hash());
    this.publish();
  }

  private publish(): void {
    for (const listener of this.listeners) listener();
  }
}

/** The real browser. */
export function windowBrowser(): Browser {
  return {
    hash: () => withoutToken(window.location.hash),
    index: () => (typeof history.state?.dwell === 'number' ? history.state.dwell : null),
    push: (hash, index) => history.pushState({ dwell: index }, '', `#${withToken(hash)}`),
    replace: (hash, index) => history.replaceState({ dwell: index }, '', `#${withToken(hash.replace(/^#/, ''))}`),
    go: (delta) => history.go(delta),
    onChange: (listener) => window.addEventListener('popstate', listener),
  };
}
