// Whether the page is busy: it has open requests, or data that is not drawn yet. `<html data-idle="true">` tells tests that
// the screen is final; the progress line reads the same state.

let running = 0;
let settle: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

function publish(): void {
  if (typeof document !== 'undefined') document.documentElement.dataset.idle = String(running === 0);
  for (const listener of listeners) listener();
}

/** Begins a piece of work and returns a function that ends it. The page is idle two frames after the last piece ended. */
export function begin(): () => void {
  running += 1;
  if (settle) clearTimeout(settle);
  settle = undefined;
  if (running === 1) publish();
  let ended = false;
  return () => {
    if (ended) return;
    ended = true;
    // React renders and the canvases draw the new data before the work counts as done.
    afterFrames(() => {
      running -= 1;
      // Data often leads to the next request, so the page must stay idle for a moment.
      if (running === 0) settle = setTimeout(() => running === 0 && publish(), 30);
    });
  };
}

function afterFrames(action: () => void): void {
  if (typeof requestAnimationFrame === 'undefined' || document.hidden) setTimeout(action, 0);
  else requestAnimationFrame(() => requestAnimationFrame(action));
}

/** Whether the page is busy. */
export function busy(): boolean {
  return running > 0;
}

/** Calls `listener` when the page becomes busy or idle. */
export function onActivity(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
