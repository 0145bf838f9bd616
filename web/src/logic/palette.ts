// The command palette: what it offers, and which of it a search finds.

import type { Info } from '../api/types';
import { nameText } from '../base/names';
import { type TextKey, t } from '../base/texts';
import { clearFilters } from '../state/actions';
import { type Tab, tabsBeside, type ViewState } from '../state/view-state';

/** Kinds of entries, in the order of the list. */
export const PALETTE_GROUPS = ['view', 'thread', 'object', 'finding', 'outlier', 'function', 'task', 'action'] as const;
export type PaletteGroup = (typeof PALETTE_GROUPS)[number];

export interface PaletteEntry {
  id: string;
  group: PaletteGroup;
  text: string;
  /** The view that it leads to. */
  change: (state: ViewState) => ViewState;
}

/** The groups whose names the server finds, by the filter key of the same word. */
export const NAME_GROUPS = ['object', 'function', 'task'] as const;
export type NameGroup = (typeof NAME_GROUPS)[number];

/** The screens beside a screen. */
export function screenEntries(tab: Tab): PaletteEntry[] {
  return tabsBeside(tab).map((to) => ({
    id: `view ${to}`,
    group: 'view',
    // Who looks for the timeline need not know what its screen is called.
    text: to === 'platform' ? t('palette.platform') : t(`tab.${to}`),
    change: (state) => ({ ...state, tab: to }),
  }));
}

/** The changes of the view that need no name. */
export function changeEntries(): PaletteEntry[] {
  const entry = (key: TextKey, change: PaletteEntry['change']): PaletteEntry => ({
    id: key,
    group: 'action',
    text: t(key),
    change,
  });
  return [
    entry('palette.zoom-all', (state) => ({ ...state, zoom: null })),
    entry('palette.clear', clearFilters),
    entry('palette.results', (state) => ({ ...state, result: '' })),
  ];
}

/** The first threads that the search finds, each with its band on top of the timeline. */
export function threadEntries({ threads }: Info, search: string, most: number): PaletteEntry[] {
  const entries: PaletteEntry[] = [];
  for (const { id, name, tid } of threads) {
    const text = `${name} (${tid})`;
    if (entries.length < most && hasWords(text, search))
      entries.push({ id: `thread ${id}`, group: 'thread', text, change: (state) => showThread(state, id) });
  }
  return entries;
}

/** Names that the server found, each with the screen that shows it. */
export function nameEntries(group: NameGroup, names: readonly string[]): PaletteEntry[] {
  return names.map((name) => ({
    id: `${group} ${name}`,
    group,
    text: nameText(name, group),
    change: (state) => showName(state, group, name),
  }));
}

function showName(state: ViewState, group: NameGroup, name: string): ViewState {
  if (group === 'object') return { ...state, tab: 'objects', object: name };
  if (group === 'function') return { ...state, tab: 'caller-callee', function: name };
  return { ...state, tab: 'tasks', search: name };
}

/** The timeline with the band of a thread on top. */
export function showThread(state: ViewState, thread: number): ViewState {
  const others = (ids: readonly number[]) => (state.bands === 'thread' ? ids.filter((id) => id !== thread) : []);
  return {
    ...state,
    tab: 'platform',
    bands: 'thread',
    search: '',
    pinned: [thread, ...others(state.pinned)],
    hidden: others(state.hidden),
  };
}

function hasWords(text: string, search: string): boolean {
  const lower = text.toLowerCase();
  return search
    .trim()
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}

/** The entries that have each word of the search, ignoring case; in each group those that begin with it come first. */
export function found<Entry extends { group: PaletteGroup; text: string }>(
  entries: readonly Entry[],
  search: string,
): Entry[] {
  const wanted = search.trim().toLowerCase();
  const matching = entries.filter(({ text }) => hasWords(text, search));
  const rank = ({ text }: Entry) => (text.toLowerCase().startsWith(wanted) ? 0 : 1);
  return PALETTE_GROUPS.flatMap((group) =>
    matching.filter((entry) => entry.group === group).sort((a, b) => rank(a) - rank(b)),
  );
}
