// The keyboard map: one table for the help overlay and the listener.

import type { TextKey } from '../base/texts';

export interface Key {
  id: string;
  /** Values of `KeyboardEvent.key`; all do the same. */
  keys: readonly string[];
  /** Whether with Ctrl or Cmd; such a key works in text fields, too. */
  ctrl?: true;
  /** As the help shows it. */
  shown: string;
  text: TextKey;
  group: 'view' | 'list' | 'timeline';
}

export const KEYS = [
  { id: 'help', keys: ['?'], shown: '?', text: 'keys.help', group: 'view' },
  { id: 'palette', keys: ['k'], ctrl: true, shown: 'Ctrl-K', text: 'keys.palette', group: 'view' },
  { id: 'tab', keys: ['1', '2', '3', '4', '5', '6', '7', '8', '9'], shown: '1 … 9', text: 'keys.tab', group: 'view' },
  { id: 'previous-tab', keys: [','], shown: ',', text: 'keys.previous-tab', group: 'view' },
  { id: 'next-tab', keys: ['.'], shown: '.', text: 'keys.next-tab', group: 'view' },
  { id: 'undo', keys: ['['], shown: '[', text: 'keys.undo', group: 'view' },
  { id: 'redo', keys: [']'], shown: ']', text: 'keys.redo', group: 'view' },
  { id: 'filter-in', keys: ['f'], shown: 'f', text: 'keys.filter-in', group: 'view' },
  { id: 'filter-out', keys: ['F'], shown: 'F', text: 'keys.filter-out', group: 'view' },
  { id: 'clear', keys: ['x'], shown: 'x', text: 'keys.clear', group: 'view' },
  { id: 'theme', keys: ['T'], shown: 'T', text: 'keys.theme', group: 'view' },
  { id: 'strip', keys: ['t'], shown: 't', text: 'keys.strip', group: 'view' },
  { id: 'escape', keys: ['Escape'], shown: 'Esc', text: 'keys.escape', group: 'view' },
  { id: 'search', keys: ['/'], shown: '/', text: 'keys.search', group: 'list' },
  { id: 'move', keys: ['ArrowUp', 'ArrowDown'], shown: '↑ ↓', text: 'keys.move', group: 'list' },
  { id: 'expand', keys: ['ArrowRight', 'Enter'], shown: '→', text: 'keys.expand', group: 'list' },
  { id: 'collapse', keys: ['ArrowLeft'], shown: '←', text: 'keys.collapse', group: 'list' },
  { id: 'expand-all', keys: ['*'], shown: '*', text: 'keys.expand-all', group: 'list' },
  {
    id: 'page',
    keys: ['PageUp', 'PageDown', 'Home', 'End'],
    shown: 'PgUp PgDn Home End',
    text: 'keys.page',
    group: 'list',
  },
  { id: 'copy', keys: ['c'], shown: 'c', text: 'keys.copy', group: 'list' },
  { id: 'stack', keys: ['<', '>'], shown: '< >', text: 'keys.stack', group: 'list' },
  // Keys of a heading.
  { id: 'width', keys: [], shown: '⇧← ⇧→', text: 'keys.width', group: 'list' },
  { id: 'zoom', keys: ['z'], shown: 'z', text: 'keys.zoom', group: 'timeline' },
  { id: 'zoom-all', keys: ['0'], shown: '0', text: 'keys.zoom-all', group: 'timeline' },
  { id: 'pan', keys: ['a', 'd'], shown: 'a d', text: 'keys.pan', group: 'timeline' },
  { id: 'zoom-in', keys: ['w', 's', '+', '-'], shown: 'w s', text: 'keys.zoom-in', group: 'timeline' },
  { id: 'interval', keys: ['N', 'n'], shown: 'N n', text: 'keys.interval', group: 'timeline' },
  // Keys of the band list, or of lists with another meaning.
  { id: 'ends', keys: [], shown: 'Home End', text: 'keys.ends', group: 'timeline' },
  { id: 'band', keys: [], shown: 'p h e', text: 'keys.pin', group: 'timeline' },
  { id: 'pick', keys: [], shown: '↵', text: 'keys.pick', group: 'timeline' },
] as const satisfies readonly Key[];

export type KeyId = (typeof KEYS)[number]['id'];

/** Handles a key; false leaves it to another handler or the browser. */
export type Handler = (event: KeyboardEvent) => boolean | undefined;
export type Handlers = Partial<Record<KeyId, Handler>>;

/** The id of the key, unless it belongs to a text field or is a shortcut of the browser. */
export function keyOf(
  event: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey'>,
  typing: boolean,
): KeyId | null {
  if (event.altKey) return null;
  const ctrl = event.ctrlKey || event.metaKey;
  if (typing && !ctrl && event.key !== 'Escape') return null;
  const keys: readonly (Key & { id: KeyId })[] = KEYS;
  return keys.find((key) => (key.ctrl ?? false) === ctrl && key.keys.includes(event.key))?.id ?? null;
}

/** Whether a text field has the focus. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !['checkbox', 'radio', 'range', 'button'].includes(target.type);
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable;
}

/** Handlers of the mounted components; the newest comes first. */
const stack: Handlers[] = [];

export function pushHandlers(handlers: Handlers): () => void {
  stack.push(handlers);
  return () => {
    const at = stack.indexOf(handlers);
    if (at >= 0) stack.splice(at, 1);
  };
}

/** Passes a key press to the newest handler that takes it; true when one did. */
export function dispatchKey(event: KeyboardEvent): boolean {
  const id = keyOf(event, isTyping(event.target));
  if (!id) return false;
  for (let at = stack.length - 1; at >= 0; at -= 1) {
    const handler = stack[at]?.[id];
    if (handler && handler(event) !== false) return true;
  }
  return false;
}
