import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Scene } from './scene';

describe('scene', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function harness(zoom: { from: number; to: number } | null = null) {
    const frames: (() => void)[] = [];
    const scene = new Scene(1000, zoom, (paint) => frames.push(paint));
    const settled = vi.fn();
    scene.onSettled(settled);
    return { scene, frames, settled };
  }

  it('draws once a frame, however much moves', () => {
    const { scene, frames } = harness();
    const paint = vi.fn();
    scene.onFrame(paint);
    scene.moveTo({ from: 10, to: 500 });
    scene.moveTo({ from: 20, to: 500 });
    scene.point({ x: 1, y: 1 });
    expect(frames).toHaveLength(1);
    frames[0]?.();
    expect(paint).toHaveBeenCalledTimes(1);
    scene.invalidate();
    expect(frames).toHaveLength(2);
  });

  it('updates the state once, when a movement rests', () => {
    const { scene, settled } = harness();
    for (let step = 1; step < 50; step += 1) {
      scene.moveTo({ from: step, to: 500 + step });
      vi.advanceTimersByTime(16);
    }
    expect(settled).not.toHaveBeenCalled();
    vi.advanceTimersByTime(500);
    expect(settled).toHaveBeenCalledTimes(1);
    expect(scene.view).toEqual({ from: 49, to: 549 });
  });

  it('follows the state, but not the echo of its own update', () => {
    const { scene, settled } = harness();
    scene.moveTo({ from: 100.3, to: 110.6 });
    vi.advanceTimersByTime(500);
    settled.mockClear();
    scene.follow({ from: 100, to: 111 });
    expect(scene.view).toEqual({ from: 100.3, to: 110.6 });
    scene.follow(null);
    expect(scene.view).toEqual({ from: 0, to: 1000 });
    expect(scene.isWhole).toBe(true);
    expect(settled).toHaveBeenCalledTimes(1);
  });

  it('obeys an undo during a movement', () => {
    const { scene, settled } = harness({ from: 5, to: 50 });
    scene.moveTo({ from: 100, to: 200 });
    scene.follow({ from: 7, to: 70 });
    vi.advanceTimersByTime(500);
    expect(settled).toHaveBeenCalledTimes(1);
    expect(scene.view).toEqual({ from: 7, to: 70 });
  });
});
