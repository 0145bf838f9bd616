// The buffer-size chart: bytes on a logarithmic axis, a figure on one that suits its range.

export interface Plot {
  path: string;
  points: { bytes: number; value: number; x: number; y: number }[];
  /** Values with a line and a label. */
  lines: { value: number; y: number }[];
}

/** The axis is logarithmic when the largest value is this many times the least one. */
const WIDE = 30;

/** A line through the values by size; in px, `y` downwards. */
export function bufferPlot(
  values: readonly { bytes: number; value: number }[],
  { width, top, bottom }: { width: number; top: number; bottom: number },
): Plot {
  const sorted = values.filter(({ bytes }) => bytes > 0).toSorted((a, b) => a.bytes - b.bytes);
  const [first, last] = [sorted[0]?.bytes ?? 1, sorted.at(-1)?.bytes ?? 2];
  const numbers = sorted.map(({ value }) => value);
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)];
  const isLog = least > 0 && most / least > WIDE;
  const x = (bytes: number) => (last > first ? (Math.log(bytes / first) / Math.log(last / first)) * width : width / 2);
  const scale = isLog ? logScale(least, most) : linearScale(most);
  const y = (value: number) => bottom - scale.part(value) * (bottom - top);
  const points = sorted.map(({ bytes, value }) => ({ bytes, value, x: x(bytes), y: y(value) }));
  return {
    path: points.map((point, at) => `${at === 0 ? 'M' : 'L'}${point.x.toFixed(1)} ${point.y.toFixed(1)}`).join(''),
    points,
    lines: scale.lines.map((value) => ({ value, y: y(value) })),
  };
}

interface Scale {
  /** 0 at the bottom, 1 at the top. */
  part(value: number): number;
  lines: number[];
}

function logScale(least: number, most: number): Scale {
  const [from, to] = [Math.floor(Math.log10(least)), Math.ceil(Math.log10(most))];
  const lines = Array.from({ length: to - from + 1 }, (_, at) => 10 ** (from + at));
  return { part: (value) => (Math.log10(value) - from) / Math.max(to - from, 1), lines };
}

function linearScale(most: number): Scale {
  const rough = Math.max(most, 1e-9) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((digit) => digit * power >= rough) ?? 10) * power;
  const top = Math.max(step, Math.ceil(most / step - 1e-9) * step);
  return {
    part: (value) => value / top,
    lines: Array.from({ length: Math.round(top / step) + 1 }, (_, at) => at * step),
  };
}
