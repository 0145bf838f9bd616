// A canvas in device pixels whose drawing is done once a frame by the scene.

import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { Scene } from '../../logic/timeline/scene';

export type Paint = (context: CanvasRenderingContext2D, width: number, height: number, ratio: number) => void;

interface Size {
  width: number;
  height: number;
  ratio: number;
}

interface Kind {
  /** `pointer`: is drawn again also when only the pointer has moved. */
  follows?: 'view' | 'pointer';
  /** Lies over another canvas. */
  transparent?: boolean;
}

/** Draws `paint` on the canvas when the component has rendered and in every frame in which the view has changed. */
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
    // Asked for in each frame, the size would make the browser lay the page out again whenever a painter before has
    // changed anything.
    let size: Size | null = null;
    let painted = -1;
    const observer = new ResizeObserver(() => {
      size = null;
      stale.current = true;
      scene.redraw();
    });
    observer.observe(element);
    // Curves that are scrolled out of sight cost nothing.
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

/** The bands' width, for what stands above and below them; renders again when it changes. */
export function useSceneWidth(scene: Scene): number {
  const [width, setWidth] = useState(scene.width);
  useEffect(() => scene.onFrame(() => setWidth(scene.width)), [scene]);
  return width;
}

/** Makes the canvas as large as its place, in device pixels. */
function fitted(element: HTMLCanvasElement): Size {
  const ratio = window.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = element;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (element.width !== wide) element.width = wide;
  if (element.height !== high) element.height = high;
  return { width, height, ratio };
}
