// Draws the boxes of the flame graph: the colour mixes running and waiting by their shares of a node's time.

import type { Flame } from '../../api/types';
import type { Palette } from '../../base/palette';
import { type FlameBox, NODE_HEIGHT, nameOf } from '../../logic/flame';

interface Scene {
  flame: Flame;
  palette: Palette;
  /** First visible row of px. */
  top: number;
  pointed: number;
  cursor: number;
  /** The nodes that a search found; null without a search. */
  hits: Uint8Array | null;
}

const TEXT_PX = 30;
const PADDING = 4;

export function drawFlame(context: CanvasRenderingContext2D, boxes: readonly FlameBox[], scene: Scene): void {
  const { flame, palette, top, hits } = scene;
  const { ground } = palette;
  context.font = '12px system-ui, "Noto Sans", "Noto Sans CJK JP", sans-serif';
  context.textBaseline = 'middle';
  const letter = context.measureText('n').width;
  for (const { node, x, y, width } of boxes) {
    const dim = hits !== null && hits[node] === 0;
    context.fillStyle = dim ? ground.raised : color(flame, node, palette);
    context.fillRect(x, y - top, Math.max(width - (width > 3 ? 1 : 0), 0.6), NODE_HEIGHT - 1);
    if (width >= TEXT_PX) {
      context.fillStyle = dim ? ground.faint : ground.text;
      const room = Math.floor((width - 2 * PADDING) / letter);
      context.fillText(
        shortened(nameOf(flame, node), room),
        x + PADDING,
        y - top + NODE_HEIGHT / 2,
        width - 2 * PADDING,
      );
    }
    if (node === scene.pointed || node === scene.cursor) {
      context.strokeStyle = ground.text;
      context.lineWidth = node === scene.cursor ? 2 : 1;
      context.strokeRect(x + 0.5, y - top + 0.5, Math.max(width - 2, 1), NODE_HEIGHT - 2);
    }
  }
}

/** The name if it fits, else its end: the beginning of a C++ name says least. */
function shortened(name: string, room: number): string {
  return name.length <= room ? name : `${name.slice(0, Math.max(0, room - 1))}…`;
}

/** Running and waiting mixed by share, and with the background to keep text readable; neighbours differ a little. */
function color(flame: Flame, node: number, { state, ground, theme }: Palette): string {
  const wait = Math.round((flame.wait_share[node] ?? 0) * 100);
  const mixed = `color-mix(in srgb, ${state['other-wait']} ${wait}%, ${state.running})`;
  const strength = (theme === 'dark' ? 46 : 40) + ((flame.name[node] ?? 0) % 4) * 4;
  return `color-mix(in srgb, ${mixed} ${strength}%, ${ground.ground})`;
}
