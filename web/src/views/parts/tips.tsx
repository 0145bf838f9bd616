// One line of explanation on hover or focus, without a delay, for every element with `data-tip`.

import { useEffect, useRef } from 'react';

export function Tips() {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const show = (event: Event) => {
      const target = event.target instanceof Element ? event.target.closest('[data-tip]') : null;
      if (box.current) place(box.current, target);
    };
    const hide = () => box.current && place(box.current, null);
    const events: [string, (event: Event) => void][] = [
      ['mouseover', show],
      ['focusin', show],
      ['mousedown', hide],
      ['keydown', hide],
      ['scroll', hide],
    ];
    for (const [name, listener] of events) document.addEventListener(name, listener, { capture: true, passive: true });
    return () => {
      for (const [name, listener] of events) document.removeEventListener(name, listener, { capture: true });
    };
  }, []);
  return <div ref={box} className="tip" role="tooltip" hidden />;
}

/** Puts the box under its target, or above it for lack of room; hides it without a target. */
function place(box: HTMLDivElement, target: Element | null): void {
  const text = target?.getAttribute('data-tip');
  box.hidden = !text;
  if (!target || !text) return;
  box.textContent = text;
  const at = target.getBoundingClientRect();
  const size = box.getBoundingClientRect();
  const left = Math.max(4, Math.min(at.left, window.innerWidth - size.width - 4));
  const below = at.bottom + 4;
  const top = below + size.height > window.innerHeight ? Math.max(4, at.top - size.height - 4) : below;
  box.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
}
