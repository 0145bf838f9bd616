// The menu of a right click, one for the whole page: it opens where the pointer is, or at the selected row for the keyboard.

import { type KeyboardEvent, type MouseEvent, useEffect, useLayoutEffect, useRef, useSyncExternalStore } from 'react';
import { t } from '../../base/texts';
import type { MenuEntry, MenuGroup } from '../../logic/context';
import { useKeys } from '../../logic/use-keys';
import { useDispatch } from '../../state/provider';

interface Opened {
  x: number;
  y: number;
  groups: readonly MenuGroup[];
  /** What had the focus. */
  from: Element | null;
}

let opened: Opened | null = null;
const listeners = new Set<() => void>();

function set(next: Opened | null): void {
  opened = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Opens the menu at a place of the window, px, in place of the browser's; without entries it leaves that alone. */
export function openContextMenu(
  event: { preventDefault(): void },
  place: { x: number; y: number },
  groups: readonly MenuGroup[],
): void {
  const full = groups.filter(({ entries }) => entries.length > 0);
  if (full.length === 0) return;
  event.preventDefault();
  set({ ...place, groups: full, from: document.activeElement });
}

/** Where the menu opens: at the pointer; for the keyboard below `row`. */
export function placeOf(event: MouseEvent<HTMLElement>, row: Element = event.currentTarget): { x: number; y: number } {
  if (event.button === 2) return { x: event.clientX, y: event.clientY };
  const { left, bottom } = row.getBoundingClientRect();
  return { x: left + 24, y: bottom };
}

export function ContextMenu() {
  const menu = useSyncExternalStore(subscribe, () => opened);
  return menu && <Box key={`${menu.x} ${menu.y}`} menu={menu} />;
}

function Box({ menu }: { menu: Opened }) {
  const box = useRef<HTMLDivElement>(null);
  const dispatch = useDispatch();
  const close = () => {
    set(null);
    if (menu.from instanceof HTMLElement) menu.from.focus({ preventScroll: true });
  };
  useKeys({
    escape: () => {
      close();
      return true;
    },
  });
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const { width, height } = element.getBoundingClientRect();
    element.style.left = `${Math.max(4, Math.min(menu.x, window.innerWidth - width - 4))}px`;
    element.style.top = `${Math.max(4, Math.min(menu.y, window.innerHeight - height - 4))}px`;
    element.querySelector<HTMLElement>('[role=menuitem]')?.focus();
  }, [menu]);
  useEffect(() => {
    const leave = (event: Event) => {
      if (!(event.target instanceof Node && box.current?.contains(event.target))) set(null);
    };
    const events = ['pointerdown', 'wheel', 'resize'] as const;
    for (const name of events) window.addEventListener(name, leave, { capture: true, passive: true });
    return () => {
      for (const name of events) window.removeEventListener(name, leave, { capture: true });
    };
  }, []);
  const run = ({ change, copy }: MenuEntry) => {
    close();
    if (change) dispatch(change);
    if (copy !== undefined) navigator.clipboard?.writeText(copy);
  };
  return (
    <div
      ref={box}
      className="context-menu"
      role="menu"
      tabIndex={-1}
      aria-label={t('context.title')}
      onKeyDown={(event) => moveFocus(event, close)}
    >
      {menu.groups.map(({ title, entries }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the groups of an open menu stay as they are.
        // biome-ignore lint/a11y/useSemanticElements: a group of a menu is no fieldset.
        <div key={at} role="group" aria-label={title}>
          <div className="context-title" aria-hidden="true">
            {title}
          </div>
          {entries.map((entry) => (
            <button key={entry.text} type="button" role="menuitem" tabIndex={-1} onClick={() => run(entry)}>
              {entry.text}
            </button>
          ))}
        </div>
      ))}
    </div>
  );
}

/** The arrow keys, Home and End move through the entries, past the ends to the other one; Tab closes. */
function moveFocus(event: KeyboardEvent<HTMLDivElement>, close: () => void): void {
  const items = [...event.currentTarget.querySelectorAll<HTMLElement>('[role=menuitem]')];
  const at = items.indexOf(document.activeElement as HTMLElement);
  const targets: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 };
  const target = targets[event.key];
  if (event.key === 'Tab') close();
  else if (target !== undefined) items.at(target % items.length)?.focus();
  else {
    // Letters would act on the screen below.
    if (event.key.length === 1) event.stopPropagation();
    return;
  }
  event.preventDefault();
  event.stopPropagation();
}
