// The store in React: `useView` re-renders when the picked part changes, `useDispatch` changes the view.

import { createContext, type ReactNode, useContext, useRef, useSyncExternalStore } from 'react';
import type { Dispatch, Store } from './store';
import type { ViewState } from './view-state';

const StoreContext = createContext<Store | null>(null);

export function StoreProvider({ store, children }: { store: Store; children: ReactNode }) {
  return <StoreContext value={store}>{children}</StoreContext>;
}

export function useStore(): Store {
  const store = useContext(StoreContext);
  if (!store) throw new Error('outside of StoreProvider');
  return store;
}

/** A part of the view; the component re-renders only when that part changes (compared as JSON). */
export function useView<T>(pick: (state: ViewState) => T): T {
  const store = useStore();
  const last = useRef<{ text: string; value: T } | null>(null);
  return useSyncExternalStore(store.subscribe, () => {
    const value = pick(store.get());
    const text = JSON.stringify(value);
    if (last.current?.text !== text) last.current = { text, value };
    return last.current.value;
  });
}

export function useDispatch(): Dispatch {
  return useStore().dispatch;
}
