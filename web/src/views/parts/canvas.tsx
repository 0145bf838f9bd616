// A canvas that fills its element, in device pixels; it redraws when its size or its content changes.

import { type CanvasHTMLAttributes, useLayoutEffect, useRef, useState } from 'react';

export interface Size {
  width: number;
  height: number;
}

export type Draw = (context: CanvasRenderingContext2D, size: Size) => void;

interface Props extends CanvasHTMLAttributes<HTMLCanvasElement> {
  size: Size;
  draw: Draw;
}

export function Canvas({ size, draw, ...rest }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d');
    if (!element || !context) return;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
    if (element.width !== width) element.width = width;
    if (element.height !== height) element.height = height;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, size.width, size.height);
    draw(context, size);
  });
  return <canvas ref={canvas} {...rest} style={{ width: size.width, height: size.height, display: 'block' }} />;
}

/** The current size of an element's content. */
export function useSize<E extends HTMLElement>() {
  const box = useRef<E>(null);
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = () => {
      const { clientWidth: width, clientHeight: height } = element;
      setSize((old) => (old.width === width && old.height === height ? old : { width, height }));
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);
  return { box, size };
}
