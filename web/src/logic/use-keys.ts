import { useEffect, useRef } from 'react';
import { type Handler, type Handlers, type KeyId, pushHandlers } from './keyboard';

/** Handles keys while the component is mounted; handlers may change with each render. */
export function useKeys(handlers: Handlers): void {
  const newest = useRef(handlers);
  newest.current = handlers;
  useEffect(() => {
    const ids = Object.keys(newest.current) as KeyId[];
    const call =
      (id: KeyId): Handler =>
      (event) =>
        newest.current[id]?.(event) ?? (newest.current[id] ? undefined : false);
    return pushHandlers(Object.fromEntries(ids.map((id) => [id, call(id)])));
  }, []);
}
