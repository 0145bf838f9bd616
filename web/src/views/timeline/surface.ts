// A canvas in device pixels, which the scene draws once a frame.

import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { Scene } from '../../logic/timeline/scene';

export type Paint = (context: CanvasRenderingContext2D, width: number, height: number, ratio: number) => void;

interface Size {
  width: number;
  height: number;
  ratio: number;
}

interface Kind {
  /** `pointer`: draws also when only the pointer has moved. */
  follows?: 'view' | 'pointer';
  /** Whether it lies over another canvas. */
  transparent?: boolean;
}

/** Calls `paint` after each render of the component and in every frame with a change of the view. */
export function useSurface(
  scene: Scene,
  paint: Paint,
  { follows = 'view', transparent = false }: Kind = {},
): RefObject<HTMLCanvasElement | null> {
  const canvas = useRef<HTMLCanvasElement>(null);
  const newest = useRef(paint);
  newest.current = paint;
  const stale = useRef(true);
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d', { alpha: transparent });
    if (!element || !context) return;
    // Reading the size in each frame would force a new page layout whenever an earlier painter changed anything.
    let size: Size | null = null;
    let painted = -1;
    const observer = new ResizeObserver(() => {
      size = null;
      stale.current = true;
      scene.redraw();
    });
    observer.observe(element);
    // Curves outside the screen cost nothing.
    let seen = true;
    const sight = new IntersectionObserver((entries) => {
      seen = entries.at(-1)?.isIntersecting ?? true;
      if (seen) scene.redraw();
    });
    sight.observe(element);
    const stop = scene.onFrame(() => {
      if (!seen) stale.current = true;
      if (!seen || (follows === 'view' && !stale.current && painted === scene.revision)) return;
      if (size?.ratio !== (window.devicePixelRatio || 1)) size = fitted(element);
      if (size.width === 0 || size.height === 0) return;
      stale.current = false;
      painted = scene.revision;
      context.setTransform(size.ratio, 0, 0, size.ratio, 0, 0);
      newest.current(context, size.width, size.height, size.ratio);
    });
    return () => {
      observer.disconnect();
      sight.disconnect();
      stop();
    };
  }, [scene, follows, transparent]);
  useLayoutEffect(() => {
    stale.current = true;
    scene.redraw();
  });
  return canvas;
}

/** The bands' width, for the parts above and below them; re-renders when it changes. */
export function useSceneWidth(scene: Scene): number {
  const [width, setWidth] = useState(scene.width);
  useEffect(() => scene.onFrame(() => setWidth(scene.width)), [scene]);
  return width;
}

/** Resizes the canvas to its element, in device pixels. */
function fitted(element: HTMLCanvasElement): Size {
  const ratio = window.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = element;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (element.width !== wide) element.width = wide;
  if (element.height !== high) element.height = high;
  return { width, height, ratio };
}
