// The store in React: `useView` renders again when what it picks changes, `useDispatch` changes the view.

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

/** Part of the view; the component renders again only when that part is another one (by JSON). */
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
