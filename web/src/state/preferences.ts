// What belongs to the reader and not to the view: theme, language, sizes of panes. The browser stores it.

import { useSyncExternalStore } from 'react';
import { THEMES, type Theme, variables } from '../base/palette';
import { browserLanguage, LANGUAGES, type Language, setLanguage } from '../base/texts';

export interface Preferences {
  theme: Theme;
  language: Language;
  /** Sizes of panes in px, by name. */
  sizes: Record<string, number>;
  stripOpen: boolean;
  /** How the grid shows numbers. */
  numbers: NumberStyle;
}

export const NUMBER_STYLES = ['time', 'percent', 'bar', 'bar-number'] as const;
export type NumberStyle = (typeof NUMBER_STYLES)[number];

const KEY = 'dwell';
const listeners = new Set<() => void>();
let current: Preferences | undefined;

function defaults(): Preferences {
  const light = window.matchMedia?.('(prefers-color-scheme: light)').matches;
  return {
    theme: light ? 'light' : 'dark',
    language: browserLanguage(navigator.languages),
    sizes: {},
    stripOpen: true,
    numbers: 'bar-number',
  };
}

/** The stored preferences, with defaults for missing and invalid ones. */
function load(): Preferences {
  const base = defaults();
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Preferences>;
    const sizes = Object.entries(kept.sizes ?? {}).filter(([, size]) => Number.isFinite(size));
    return {
      theme: THEMES.find((theme) => theme === kept.theme) ?? base.theme,
      language: LANGUAGES.find((language) => language === kept.language) ?? base.language,
      sizes: Object.fromEntries(sizes),
      stripOpen: kept.stripOpen ?? base.stripOpen,
      numbers: NUMBER_STYLES.find((style) => style === kept.numbers) ?? base.numbers,
    };
  } catch {
    return base;
  }
}

export function preferences(): Preferences {
  if (!current) {
    current = load();
    apply(current);
  }
  return current;
}

export function setPreferences(patch: Partial<Preferences>): void {
  current = { ...preferences(), ...patch };
  apply(current);
  try {
    localStorage.setItem(KEY, JSON.stringify(current));
  } catch {
    // The browser stores nothing (private window): the choice lasts until the page closes.
  }
  for (const listener of listeners) listener();
}

/** The preferences, in a component that re-renders when they change. */
export function usePreferences(): Preferences {
  return useSyncExternalStore(subscribe, preferences);
}

export function toggleTheme(): void {
  setPreferences({ theme: preferences().theme === 'dark' ? 'light' : 'dark' });
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function apply({ theme, language }: Preferences): void {
  setLanguage(language);
  const root = document.documentElement;
  root.lang = language;
  root.dataset.theme = theme;
  for (const [name, color] of variables(theme)) root.style.setProperty(name, color);
}
