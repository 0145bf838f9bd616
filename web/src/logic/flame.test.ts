import { expect, test } from 'vitest';
import type { Flame } from '../api/types';
import {
  findNode,
  flameBoxes,
  layoutFlame,
  NODE_HEIGHT,
  nameOf,
  neighbour,
  nodeAt,
  pathTo,
  searchFlame,
} from './flame';

/** `main 10`, `. f 3`: an outline as the server's columns. A name may have its module before a `!`. */
function flame(outline: string): Flame {
  const result: Flame = {
    total_ns: 0,
    parent: [],
    name: [],
    self_ns: [],
    total: [],
    wait_share: [],
    names: [],
    modules: [],
    module: [],
    pruned_ns: 0,
    idle_ns: 0,
  };
  const open: number[] = [];
  const intern = (list: string[], text: string) => (list.includes(text) ? list.indexOf(text) : list.push(text) - 1);
  for (const line of outline.trim().split('\n')) {
    const [, dots = '', module = 'app', name = '', total] = /^\s*([. ]*)(?:(\w+)!)?(\w+) (\d+)$/.exec(line) ?? [];
    const depth = dots.replaceAll(' ', '').length;
    open.length = depth;
    const node = result.parent.push(open.at(-1) ?? -1) - 1;
    open.push(node);
    result.name.push(intern(result.names, name));
    result.module.push(intern(result.modules, module));
    result.total.push(Number(total));
    result.self_ns.push(0);
    result.wait_share.push(0);
  }
  return result;
}

const example = flame(`
  main 60
  . small 10
  . big 40
  . . libc!lock 30
  start 40
  . worker 40
  . . libc!lock 1
`);

const drawn = (focus = -1, width = 100) =>
  flameBoxes(layoutFlame(example), focus, width, 0, 1000).map(
    ({ node, x, y, width: wide }) => `${nameOf(example, node)} ${x}+${wide} ${y / NODE_HEIGHT}`,
  );

test('boxes are as wide as their time, the heaviest on the left, children below', () => {
  expect(drawn().sort()).toEqual(
    [
      'main 0+60 0',
      'big 0+40 1',
      'lock 0+30 2',
      'small 40+10 1',
      'start 60+40 0',
      'worker 60+40 1',
      'lock 60+1 2',
    ].sort(),
  );
});

test('a focused node and its ancestors are as wide as the canvas', () => {
  const layout = layoutFlame(example);
  const big = findNode(layout, ['main', 'big']);
  expect(drawn(big).sort()).toEqual(['main 0+100 0', 'big 0+100 1', 'lock 0+75 2'].sort());
  expect(findNode(layout, ['main', 'gone', 'lock'])).toBe(findNode(layout, ['main']));
  expect(findNode(layout, ['gone'])).toBe(-1);
});

test('nodes that are too narrow or out of sight are not drawn', () => {
  expect(drawn(-1, 50).some((text) => text.startsWith('lock 30'))).toBe(false);
  const below = flameBoxes(layoutFlame(example), -1, 100, 2 * NODE_HEIGHT, 3 * NODE_HEIGHT);
  expect(below.map(({ node }) => nameOf(example, node))).toEqual(['lock', 'lock']);
});

test('a point hits the box under it', () => {
  const boxes = flameBoxes(layoutFlame(example), -1, 100, 0, 1000);
  expect(nameOf(example, nodeAt(boxes, 45, NODE_HEIGHT + 1))).toBe('small');
  expect(nodeAt(boxes, 55, NODE_HEIGHT + 1)).toBe(-1);
});

test('arrow keys go up, down and to the siblings', () => {
  const layout = layoutFlame(example);
  const go = (...keys: string[]) =>
    nameOf(
      example,
      keys.reduce((node, key) => neighbour(layout, node, key), -1),
    );
  expect(go('ArrowDown')).toBe('main');
  expect(go('ArrowDown', 'ArrowDown', 'ArrowRight')).toBe('small');
  expect(go('ArrowDown', 'ArrowRight', 'ArrowDown', 'ArrowUp', 'ArrowRight')).toBe('start');
});

test('a search counts nested matches once', () => {
  expect(searchFlame(example, 'libc').ns).toBe(31);
  expect(searchFlame(example, 'MAIN').ns).toBe(60);
  expect(searchFlame(flame('f 9\n. f 8'), 'f').ns).toBe(9);
  expect(searchFlame(example, '').ns).toBe(0);
});

test('a deep recursion is laid out without recursion', () => {
  const deep = flame(Array.from({ length: 3000 }, (_, depth) => `${'. '.repeat(depth)}f 1`).join('\n'));
  const layout = layoutFlame(deep);
  expect(layout.levels).toBe(3000);
  expect(pathTo(deep, 2999)).toHaveLength(3000);
});
