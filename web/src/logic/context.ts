// What a right click offers about a thing of the program: filters, its name, the screens that show it.

import type { Info } from '../api/types';
import { t } from '../base/texts';
import { filterIn, filterOut, only } from '../state/actions';
import type { Tab, ViewState } from '../state/view-state';
import { filterOf } from './grouping';
import { showThread } from './palette';

/** A thing of the program: the level or column that names it, and its name as the server says it. */
export interface Subject {
  level: string;
  name: string;
}

/** An entry of a menu: a change of the view, or a text to copy. */
export interface MenuEntry {
  text: string;
  change?: (state: ViewState) => ViewState;
  copy?: string;
}

/** The entries about one thing, under its name. */
export interface MenuGroup {
  title: string;
  entries: MenuEntry[];
}

/** What the menu of the screen `here` offers about a thing. Without `info`, as for an instruction trace, only its name. */
export function subjectGroup({ level, name }: Subject, info: Info | null, here: Tab): MenuGroup {
  const entries: MenuEntry[] = [];
  const filter = level === 'task' ? { key: 'task', value: name } : filterOf(level, name);
  if (info && filter) {
    const { key, value } = filter;
    entries.push(
      { text: t('filter.in'), change: (state) => filterIn(state, key, value) },
      { text: t('filter.out'), change: (state) => filterOut(state, key, value) },
    );
  }
  entries.push({ text: t('context.copy'), copy: name });
  const screens = info ? screensOf(name, filter?.key ?? level, info) : [];
  return { title: name, entries: [...entries, ...screens.filter(({ tab }) => tab !== here)] };
}

interface ScreenEntry extends MenuEntry {
  tab: Tab;
}

function screensOf(name: string, key: string, info: Info): ScreenEntry[] {
  const show = (tab: Tab, change: (state: ViewState) => ViewState): ScreenEntry => ({
    tab,
    text: t('context.show-in', { screen: t(`tab.${tab}`) }),
    change: (state) => ({ ...change(state), tab }),
  });
  const filtered = (value: string, groupBy: string[]) =>
    show('bottom-up', (state) => ({ ...only(state, key, value), groupBy, selection: [] }));
  if (key === 'object') {
    return [
      show('objects', (state) => ({ ...state, object: name })),
      show('blame', (state) => ({ ...state, object: name })),
      filtered(name, ['object', 'function', 'callers']),
    ];
  }
  if (key === 'function') {
    return [
      show('caller-callee', (state) => ({ ...state, function: name })),
      show('source', (state) => ({ ...state, function: name, module: '' })),
      show('flame', (state) => ({ ...state, search: name })),
    ];
  }
  if (key === 'task') return [filtered(name, ['object', 'function', 'callers'])];
  if (key !== 'tid') return [];
  const [, tid = ''] = /\((\d+)\)$/.exec(name) ?? [];
  const thread = info.threads.find(({ name: own, tid: number }) => `${own} (${number})` === name);
  const grid = filtered(tid, ['thread', 'function', 'callers']);
  return thread ? [show('platform', (state) => showThread(state, thread.id)), grid] : [grid];
}

/** Columns of reports that name a thing of the program. */
const NAMING = ['thread', 'object', 'function', 'module', 'task', 'process'];

/** The things that a row of a report names. */
export function subjectsOf(columns: readonly { id: string }[], values: readonly unknown[]): Subject[] {
  return columns.flatMap(({ id }, at) => {
    const name = values[at];
    return NAMING.includes(id) && typeof name === 'string' && name !== '' ? [{ level: id, name }] : [];
  });
}
