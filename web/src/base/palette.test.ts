import { expect, test } from 'vitest';
import { palette, THEMES, variables } from './palette';

/** Contrast of two colours `#rrggbb`, as WCAG defines it. */
function contrast(a: string, b: string): number {
  const [light = 0, dark = 0] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(color: string): number {
  const parts = [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255);
  const [red = 0, green = 0, blue = 0] = parts.map((part) =>
    part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

test.each(THEMES)('text can be read on every ground of the %s theme', (theme) => {
  const { ground } = palette(theme);
  for (const under of [ground.ground, ground.panel, ground.raised, ground.selection, ground.hover]) {
    for (const over of [ground.text, ground.faint, ground.accent, ground.bad]) {
      expect(contrast(over, under), `${over} on ${under}`).toBeGreaterThanOrEqual(4.5);
    }
  }
  expect(contrast(ground.warning, ground['warning-ground'])).toBeGreaterThanOrEqual(4.5);
});

test('both themes have the same variables', () => {
  expect(variables('dark').map(([name]) => name)).toEqual(variables('light').map(([name]) => name));
});
