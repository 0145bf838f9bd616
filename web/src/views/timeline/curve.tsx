// One curve below the bands: its name, its scale or its value under the cursor, and the drawing.

import { useMemo, useRef } from 'react';
import { palette } from '../../base/palette';
import { curveOver, type Series } from '../../logic/timeline/charts';
import { curveInks } from '../../logic/timeline/curve-pixels';
import { timeAt, type Viewport } from '../../logic/timeline/viewport';
import { usePreferences } from '../../state/preferences';
import { CurveImage, paintMarks } from './paint-charts';
import { useSetting } from './setting';
import { useSceneWidth, useSurface } from './surface';
import { usePointer } from './use-pointer';

interface Props {
  name: string;
  tip: string;
  /** Description for screen readers. */
  description: string;
  /** The time range of the series. */
  over: Viewport;
  /** `max` is the height of the scale. */
  series: Series;
  /** Value of the dashed line, in the series' unit; null for no line. */
  target: number | null;
  /** The value at a time, or the value of the full height. */
  readout: (time: number | null) => string;
}

export function CurveRow({ name, tip, description, over, series, target, readout }: Props) {
  const { scene } = useSetting();
  const { theme } = usePreferences();
  const pointer = usePointer('charts');
  const shown = useSceneWidth(scene);
  const text = useRef<HTMLSpanElement>(null);
  const image = useRef<CurveImage | null>(null);
  const colors = palette(theme);
  const inks = useMemo(() => curveInks(palette(theme)), [theme]);
  const canvas = useSurface(
    scene,
    (context, width, height) => {
      const cursor = scene.pointer?.x ?? null;
      const said = readout(cursor === null ? null : timeAt(cursor, scene.view, width));
      if (text.current && text.current.textContent !== said) text.current.textContent = said;
      image.current ??= new CurveImage();
      image.current.draw(context, curveOver(over, series, scene.view, context.canvas.width), inks);
      paintMarks(context, {
        width,
        height,
        palette: colors,
        target: target === null ? null : target / series.max,
        cursor,
      });
    },
    { follows: 'pointer' },
  );
  return (
    <div className="tl-row tl-chart">
      <div className="tl-label" data-tip={tip}>
        <span className="tl-name">{name}</span>
        <span className="faint number" ref={text} />
      </div>
      <canvas
        ref={canvas}
        className="tl-canvas"
        role="img"
        aria-label={description}
        style={{ width: shown }}
        {...pointer}
      />
    </div>
  );
}
