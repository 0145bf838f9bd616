// Whether the page has work under way: requests, and data that is not drawn yet. `<html data-idle="true">` tells tests
// that what is on the screen is final; the progress line reads the same state.

let running = 0;
let settle: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

function publish(): void {
  if (typeof document !== 'undefined') document.documentElement.dataset.idle = String(running === 0);
  for (const listener of listeners) listener();
}

/** Work begins; the function given back ends it, once. The page is idle two frames after the last work has ended. */
export function begin(): () => void {
  running += 1;
  if (settle) clearTimeout(settle);
  settle = undefined;
  if (running === 1) publish();
  let ended = false;
  return () => {
    if (ended) return;
    ended = true;
    // What the data changed is rendered, and drawn on canvases, before the work counts as done.
    afterFrames(() => {
      running -= 1;
      // Data often leads to the next request: idle is only what stays idle.
      if (running === 0) settle = setTimeout(() => running === 0 && publish(), 30);
    });
  };
}

function afterFrames(action: () => void): void {
  if (typeof requestAnimationFrame === 'undefined' || document.hidden) setTimeout(action, 0);
  else requestAnimationFrame(() => requestAnimationFrame(action));
}

/** Whether work is under way. */
export function busy(): boolean {
  return running > 0;
}

/** Calls `listener` when the page becomes busy or idle. */
export function onActivity(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
