// The rows of a grid for the current view, a level at a time. The old tree stays on the screen until the new one has rows.

import { useEffect, useReducer, useRef, useState } from 'react';
import { fetchJson } from '../../api/client';
import type { Grid } from '../../api/types';
import { Tree } from '../../logic/tree';
import { useStore } from '../../state/provider';
import { callUrl } from '../../state/resource';
import type { ViewState } from '../../state/view-state';

export interface Question {
  groupBy: readonly string[];
  metrics: readonly string[];
  sort: { metric: string; descending: boolean } | null;
  search: string;
  /** Only stacks through this function, which is the tree's root. */
  subject?: string | undefined;
  /** Keys of the selected row, whose ancestors are open. */
  selection: readonly string[];
}

/** The tree depends on `question` as text, and on the selection in `url`. */
export function useTree(question: Question, url: string | null): Tree | null {
  const store = useStore();
  const [shown, setShown] = useState<Tree | null>(null);
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const open = useRef(new Map<string, Set<string>>());
  const grouping = [question.groupBy.join(), question.subject].join(' ');
  // biome-ignore lint/correctness/useExhaustiveDependencies: the address contains the question and the selection.
  useEffect(() => {
    const abort = new AbortController();
    const state = store.get();
    const kept = open.current.get(grouping) ?? new Set<string>();
    open.current.set(grouping, kept);
    // A link shows the selected row, so its ancestors are open.
    for (let depth = 1; depth < question.selection.length; depth += 1) {
      kept.add(JSON.stringify(question.selection.slice(0, depth)));
    }
    const fetchPage = (path: readonly string[], offset: number, limit: number) =>
      fetchJson(pageUrl(state, question, path, offset, limit), abort.signal) as Promise<Grid>;
    const changed = () => {
      if (abort.signal.aborted) return;
      if (tree.ready || tree.error) setShown(tree);
      redraw();
    };
    const tree = new Tree(fetchPage, kept, changed, question.search);
    void tree.start();
    return () => abort.abort();
  }, [url, grouping, store]);
  return shown;
}

/** The address of the first page: it changes with the question. */
export function questionUrl(state: ViewState, question: Question): string {
  return pageUrl(state, question, [], 0, 100);
}

function pageUrl(
  state: ViewState,
  { groupBy, metrics, sort, search, subject }: Question,
  path: readonly string[],
  offset: number,
  limit: number,
): string {
  return callUrl(state, 'grid', {
    'group-by': groupBy.join(','),
    metrics: metrics.join(','),
    sort: sort?.metric,
    descending: sort?.descending,
    path: path.length > 0 ? JSON.stringify(path) : undefined,
    offset: offset > 0 ? offset : undefined,
    limit,
    search,
    subject,
  });
}
