// The chains of a root cause as a tree that is drawn: waits on the left, each pointing to what it was because of, the cause on
// the right.

/** A row of the column `links` of the report explain: one wait of a chain. */
export interface ChainLink {
  /** Number of the chain; its waits follow one another. */
  chain: number;
  /** Wait time that the whole chain explains. */
  wait_ns: number;
  who: string;
  waited_for: string | null;
  place: string | null;
  object: string | null;
  /** Names of the role's threads, and of their process, as filters take them. */
  threads: string | null;
  process: string | null;
}

/** A wait, with the waits that were because of it. */
export interface ChainNode {
  link: ChainLink;
  /** Wait time of all chains through it. */
  ns: number;
  askers: ChainNode[];
}

/** The waits directly because of the cause, each with those because of it; chains that end alike share their ends. */
export function chainTree(links: readonly ChainLink[]): ChainNode[] {
  const roots: ChainNode[] = [];
  for (const chain of new Set(links.map((link) => link.chain))) {
    let level = roots;
    for (const link of links.filter((other) => other.chain === chain).reverse()) {
      const known = level.find((other) => isSame(other.link, link));
      const node = known ?? { link, ns: 0, askers: [] };
      if (!known) level.push(node);
      node.ns += link.wait_ns;
      level = node.askers;
    }
  }
  return roots;
}

function isSame(one: ChainLink, other: ChainLink): boolean {
  return one.who === other.who && one.waited_for === other.waited_for && one.place === other.place;
}

/** A box and the gaps between boxes, px. */
export const BOX = { width: 236, height: 68, across: 52, down: 12 } as const;
/** Width of the arrow that stands for all of the time, px. */
const WIDEST = 14;

/** A box of the drawing; the cause has no wait. */
export interface Box {
  node: ChainNode | null;
  x: number;
  y: number;
}

/** An arrow between two boxes as an SVG path, as wide as its part of the time. */
export interface Arrow {
  path: string;
  width: number;
}

export interface Drawing {
  width: number;
  height: number;
  boxes: Box[];
  arrows: Arrow[];
}

/** Where the boxes are: who waited first on the left, the cause on the right, in the middle of those that waited for it. */
export function draw(roots: readonly ChainNode[]): Drawing {
  const columns = depth(roots) + 1;
  const whole = roots.reduce((sum, { ns }) => sum + ns, 0);
  const boxes: Box[] = [];
  const arrows: Arrow[] = [];
  let rows = 0;
  const place = (node: ChainNode | null, askers: readonly ChainNode[], column: number): Box => {
    const before = askers.map((asker) => place(asker, asker.askers, column - 1));
    const [first] = before;
    const last = before.at(-1);
    const y = first && last ? (first.y + last.y) / 2 : rows++ * (BOX.height + BOX.down);
    const box = { node, x: column * (BOX.width + BOX.across), y };
    boxes.push(box);
    for (const from of before) arrows.push(arrow(from, box, (from.node?.ns ?? 0) / Math.max(whole, 1)));
    return box;
  };
  place(null, roots, columns - 1);
  return {
    width: columns * (BOX.width + BOX.across) - BOX.across,
    height: rows * (BOX.height + BOX.down) - BOX.down,
    boxes,
    arrows,
  };
}

function depth(nodes: readonly ChainNode[]): number {
  return nodes.reduce((most, { askers }) => Math.max(most, 1 + depth(askers)), 0);
}

function arrow(from: Box, to: Box, share: number): Arrow {
  const [x1, y1] = [from.x + BOX.width, from.y + BOX.height / 2];
  const [x2, y2] = [to.x, to.y + BOX.height / 2];
  const middle = (x1 + x2) / 2;
  return { path: `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`, width: Math.max(1.5, WIDEST * share) };
}
