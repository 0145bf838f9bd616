// A button that opens a box below it; Escape and clicks elsewhere close it, and the focus returns to the button.

import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useKeys } from '../../logic/use-keys';

interface Props {
  label: ReactNode;
  /** Accessible name, if the label is not enough. */
  name?: string | undefined;
  tip?: string | undefined;
  className?: string;
  align?: 'left' | 'right' | 'up';
  children: (close: () => void) => ReactNode;
}

export function Menu({ label, name, tip, className = '', align = 'left', children }: Props) {
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  return (
    <span className={`menu ${className}`}>
      <button
        ref={button}
        type="button"
        className="menu-button"
        aria-haspopup="true"
        aria-expanded={open}
        aria-label={name}
        data-tip={open ? undefined : tip}
        onClick={() => setOpen(!open)}
      >
        {label}
      </button>
      {open && (
        <MenuBox
          name={name ?? (typeof label === 'string' ? label : undefined)}
          align={align}
          close={close}
          leave={() => setOpen(false)}
        >
          {children(close)}
        </MenuBox>
      )}
    </span>
  );
}

interface BoxProps {
  /** Accessible name: what the button says. */
  name: string | undefined;
  align: string;
  close: () => void;
  leave: () => void;
  children: ReactNode;
}

function MenuBox({ name, align, close, leave, children }: BoxProps) {
  const box = useRef<HTMLDivElement>(null);
  useKeys({
    escape: () => {
      close();
      return true;
    },
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, while the box is open.
  useEffect(() => {
    box.current?.querySelector<HTMLElement>('input, button, [tabindex="0"]')?.focus();
    const outside = (event: PointerEvent) => {
      if (event.target instanceof Node && !box.current?.parentElement?.contains(event.target)) leave();
    };
    document.addEventListener('pointerdown', outside);
    return () => document.removeEventListener('pointerdown', outside);
  }, []);
  return (
    <div ref={box} className={`menu-box menu-${align}`} onKeyDown={moveFocus} role="dialog" aria-label={name}>
      {children}
    </div>
  );
}

/** Up and down move the focus between the elements of the box. */
function moveFocus(event: React.KeyboardEvent<HTMLDivElement>): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  const stops = [...event.currentTarget.querySelectorAll<HTMLElement>('input, button, select')];
  const at = stops.indexOf(document.activeElement as HTMLElement);
  const next = stops[Math.max(0, Math.min(stops.length - 1, at + step))];
  if (!next) return;
  event.preventDefault();
  event.stopPropagation();
  next.focus();
}
