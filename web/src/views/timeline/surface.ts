// A canvas in device pixels whose drawing is done once a frame by the scene.

import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { Scene } from '../../logic/timeline/scene';

export type Paint = (context: CanvasRenderingContext2D, width: number, height: number, ratio: number) => void;

/** Draws `paint` on the canvas in every frame of the scene, and after each render of the component. */
export function useSurface(scene: Scene, paint: Paint): RefObject<HTMLCanvasElement | null> {
  const canvas = useRef<HTMLCanvasElement>(null);
  const newest = useRef(paint);
  newest.current = paint;
  useEffect(() => {
    return scene.onFrame(() => {
      const element = canvas.current;
      const context = element?.getContext('2d');
      if (!element || !context) return;
      const { width, height, ratio } = sized(element);
      if (width === 0 || height === 0) return;
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      newest.current(context, width, height, ratio);
    });
  }, [scene]);
  useLayoutEffect(scene.invalidate);
  return canvas;
}

/** The bands' width, for what stands above and below them; renders again when it changes. */
export function useSceneWidth(scene: Scene): number {
  const [width, setWidth] = useState(scene.width);
  useEffect(() => scene.onFrame(() => setWidth(scene.width)), [scene]);
  return width;
}

/** Makes the canvas as large as its place, in device pixels. */
function sized(element: HTMLCanvasElement): { width: number; height: number; ratio: number } {
  const ratio = window.devicePixelRatio || 1;
  const { clientWidth: width, clientHeight: height } = element;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (element.width !== wide) element.width = wide;
  if (element.height !== high) element.height = high;
  return { width, height, ratio };
}
