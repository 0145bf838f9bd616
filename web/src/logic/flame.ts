// Layout of the flame graph: the position of each node, the node at a point, and the node with given names. Roots are on
// top; a node's callees (inverted: its callers) lie below it, the heaviest on the left.

import type { Flame } from '../api/types';

export const NODE_HEIGHT = 19;
/** Narrower nodes are not drawn. */
const LEAST_PX = 0.6;

export interface FlameLayout {
  flame: Flame;
  /** Depth of each node. */
  depth: Uint16Array;
  /** Left edge of each node, ns. */
  start: Float64Array;
  /** Children of each node, the heaviest first; entry `count` has the roots. */
  children: number[][];
  levels: number;
  total: number;
}

export function layoutFlame(flame: Flame): FlameLayout {
  const count = flame.parent.length;
  const children: number[][] = Array.from({ length: count + 1 }, () => []);
  flame.parent.forEach((parent, node) => {
    children[parent >= 0 && parent < node ? parent : count]?.push(node);
  });
  const weight = (node: number) => flame.total[node] ?? 0;
  for (const brothers of children) brothers.sort((a, b) => weight(b) - weight(a));
  const depth = new Uint16Array(count);
  const start = new Float64Array(count);
  let levels = 0;
  const place = (brothers: number[], from: number, level: number) => {
    let at = from;
    for (const node of brothers) {
      start[node] = at;
      depth[node] = level;
      levels = Math.max(levels, level + 1);
      at += weight(node);
    }
  };
  const roots = children[count] ?? [];
  place(roots, 0, 0);
  // A parent comes before its children, so it has its place already.
  for (let node = 0; node < count; node += 1) place(children[node] ?? [], start[node] ?? 0, (depth[node] ?? 0) + 1);
  return { flame, depth, start, children, levels, total: roots.reduce((sum, node) => sum + weight(node), 0) };
}

export interface FlameBox {
  node: number;
  x: number;
  y: number;
  width: number;
}

/** Boxes of the visible nodes: `focus` is as wide as the canvas (-1: all), rows from `top` to `bottom` px. */
export function flameBoxes(layout: FlameLayout, focus: number, width: number, top: number, bottom: number): FlameBox[] {
  const { flame, depth, start, children } = layout;
  const boxes: FlameBox[] = [];
  const add = (node: number, x: number, wide: number) => {
    const y = (depth[node] ?? 0) * NODE_HEIGHT;
    if (y + NODE_HEIGHT > top && y < bottom) boxes.push({ node, x, y, width: wide });
  };
  const above = focus >= 0 ? pathTo(flame, focus) : [];
  for (const node of above.slice(0, -1)) add(node, 0, width);
  const [origin, span] = focus >= 0 ? [start[focus] ?? 0, flame.total[focus] ?? 0] : [0, layout.total];
  const scale = span > 0 ? width / span : 0;
  const open = focus >= 0 ? [focus] : [...(children[flame.parent.length] ?? [])];
  while (open.length > 0) {
    const node = open.pop() ?? 0;
    const wide = (flame.total[node] ?? 0) * scale;
    if (wide < LEAST_PX) continue;
    add(node, ((start[node] ?? 0) - origin) * scale, wide);
    if (((depth[node] ?? 0) + 1) * NODE_HEIGHT < bottom) open.push(...(children[node] ?? []));
  }
  return boxes;
}

/** The node at a point of the drawing; -1 for none. */
export function nodeAt(boxes: readonly FlameBox[], x: number, y: number): number {
  const hit = boxes.find((box) => x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + NODE_HEIGHT);
  return hit?.node ?? -1;
}

/** The nodes from the root to this one. */
export function pathTo(flame: Flame, node: number): number[] {
  const path: number[] = [];
  for (let at = node; at >= 0; at = flame.parent[at] ?? -1) {
    path.unshift(at);
    if ((flame.parent[at] ?? -1) >= at) break;
  }
  return path;
}

export function nameOf(flame: Flame, node: number): string {
  return flame.names[flame.name[node] ?? -1] ?? '';
}

export function moduleOf(flame: Flame, node: number): string {
  return flame.modules[flame.module[node] ?? -1] ?? '';
}

/** The deepest node on the path of these names from the root; -1 when no root has the first name. */
export function findNode({ flame, children }: FlameLayout, names: readonly string[]): number {
  let found = -1;
  for (const name of names) {
    const next = (children[found < 0 ? flame.parent.length : found] ?? []).find((node) => nameOf(flame, node) === name);
    if (next === undefined) break;
    found = next;
  }
  return found;
}

/** The node that an arrow key leads to; the same one at the edge. */
export function neighbour({ flame, children }: FlameLayout, node: number, key: string): number {
  const count = flame.parent.length;
  if (node < 0) return children[count]?.[0] ?? -1;
  const parent = pathTo(flame, node).at(-2) ?? -1;
  const brothers = children[parent < 0 ? count : parent] ?? [];
  const at = brothers.indexOf(node);
  switch (key) {
    case 'ArrowUp':
      return parent < 0 ? node : parent;
    case 'ArrowDown':
      return children[node]?.[0] ?? node;
    case 'ArrowLeft':
      return brothers[at - 1] ?? node;
    case 'ArrowRight':
      return brothers[at + 1] ?? node;
    default:
      return node;
  }
}

/**
 * The nodes that a search finds (by name or module), and the time in them; nested matches count once.
 */
export function searchFlame(flame: Flame, search: string): { hits: Uint8Array; ns: number } {
  const wanted = search.trim().toLowerCase();
  const hits = new Uint8Array(flame.parent.length);
  if (wanted === '') return { hits, ns: 0 };
  const names = flame.names.map((name) => name.toLowerCase().includes(wanted));
  const modules = flame.modules.map((name) => name.toLowerCase().includes(wanted));
  const within = new Uint8Array(flame.parent.length);
  let ns = 0;
  for (let node = 0; node < hits.length; node += 1) {
    const parent = flame.parent[node] ?? -1;
    const covered = parent >= 0 && parent < node && within[parent] === 1;
    const hit = names[flame.name[node] ?? -1] || modules[flame.module[node] ?? -1];
    hits[node] = hit ? 1 : 0;
    within[node] = hit || covered ? 1 : 0;
    if (hit && !covered) ns += flame.total[node] ?? 0;
  }
  return { hits, ns };
}
