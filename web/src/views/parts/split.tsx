// Two panes with a bar between them, which a drag or the arrow keys move. The browser stores the size; a double click resets
// it.

import type { CSSProperties, KeyboardEvent, PointerEvent, ReactNode } from 'react';
import { t } from '../../base/texts';
import { preferences, setPreferences, usePreferences } from '../../state/preferences';

interface Props {
  /** The key of the stored size. */
  name: string;
  /** `right`: the second pane is beside the first; `below`: under it. */
  second: 'right' | 'below';
  /** Default size of the second pane: px, or below 1 a fraction of the space. */
  size: number;
  least?: number;
  /** If the second is null, the first fills the space. */
  children: [ReactNode, ReactNode];
}

export function Split({ name, second, size, least = 80, children }: Props) {
  const current = usePreferences().sizes[name] ?? size;
  const across = second === 'right';
  const isShare = current < 1;
  const length = isShare ? `${current * 100}%` : `${current}px`;
  const resize = (px: number, room: number) => {
    const fitted = Math.round(Math.max(least, Math.min(px, room - least)));
    setPreferences({ sizes: { ...preferences().sizes, [name]: fitted } });
  };
  const drag = (event: PointerEvent<HTMLDivElement>) => {
    if (event.buttons !== 1) return;
    const box = event.currentTarget.parentElement?.getBoundingClientRect();
    if (!box) return;
    if (across) resize(box.right - event.clientX, box.width);
    else resize(box.bottom - event.clientY, box.height);
  };
  const key = (event: KeyboardEvent<HTMLDivElement>) => {
    const box = event.currentTarget.parentElement?.getBoundingClientRect();
    const grow = {
      ArrowLeft: across ? 16 : 0,
      ArrowRight: across ? -16 : 0,
      ArrowUp: across ? 0 : 16,
      ArrowDown: across ? 0 : -16,
    };
    const step = grow[event.key as keyof typeof grow];
    if (!box || !step) return;
    event.preventDefault();
    event.stopPropagation();
    const room = across ? box.width : box.height;
    resize((isShare ? current * room : current) + step, room);
  };
  const reset = () => {
    const { [name]: _, ...sizes } = preferences().sizes;
    setPreferences({ sizes });
  };
  return (
    <div className={`split split-${second}`}>
      <div className="split-first">{children[0]}</div>
      {children[1] !== null && (
        <>
          {/* biome-ignore lint/a11y/useSemanticElements: a separator that can be moved is not an <hr>. */}
          <div
            className="split-bar"
            role="separator"
            aria-label={t('pane.resize')}
            aria-orientation={across ? 'vertical' : 'horizontal'}
            aria-valuenow={isShare ? Math.round(current * 100) : current}
            aria-valuetext={length}
            tabIndex={0}
            onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
            onPointerMove={drag}
            onKeyDown={key}
            onDoubleClick={reset}
          />
          <div className="split-second" style={{ '--size': length } as CSSProperties}>
            {children[1]}
          </div>
        </>
      )}
    </div>
  );
}
