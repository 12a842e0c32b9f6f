import { nothing, svg, type SVGTemplateResult, type TemplateResult, html } from 'lit-html';

export type Stretch = readonly [low: number, high: number];

/** How one row of a list shows an estimate, in units of the return. */
export interface Bar {
  readonly mean: number;
  readonly interval: Stretch | null;
  /** An evaluation is over once its interval fits into it; of a comparison, the margin. */
  readonly target: Stretch | null;
}

export type Domain = Stretch;

/** Units across the picture, which is stretched to the width of its cell. */
const WIDTH = 200;

/** Computes the stretch that holds all intervals, with a little room; undefined without any. */
export function computeDomain(bars: readonly Bar[]): Domain | undefined {
  if (bars.length === 0) return undefined;
  const low = bars.reduce((least, { mean, interval }) => Math.min(least, interval?.[0] ?? mean), Infinity);
  const high = bars.reduce((most, { mean, interval }) => Math.max(most, interval?.[1] ?? mean), -Infinity);
  const room = (high > low ? high - low : Math.abs(low) || 1) * 0.06;
  return Number.isFinite(high - low + 2 * room) ? [low - room, high + room] : undefined;
}

/** Renders an interval on the common scale of its suite: the target as a band, the interval as a line, the mean as a mark. */
export function renderIntervalBar({ mean, interval, target }: Bar, [low, high]: Domain, words: string): TemplateResult {
  const across = (value: number): number => Math.min(WIDTH, Math.max(0, ((value - low) / (high - low)) * WIDTH));
  const band = ([least, most]: Stretch, kind: string, height: number): SVGTemplateResult => {
    const [from, to] = [across(least), across(most)];
    return svg`<rect class=${kind} x=${from} y=${(18 - height) / 2} width=${Math.max(1, to - from)} height=${height} rx="2" />`;
  };
  return html`<svg class="bar" viewBox="0 0 ${WIDTH} 18" preserveAspectRatio="none" role="img" aria-label=${words}>
    ${target === null ? nothing : band(target, 'target', 16)} ${interval === null ? nothing : band(interval, 'interval', 6)}
    ${svg`<rect class="mean" x=${across(mean) - 1} y="2" width="2" height="14" />`}
  </svg>`;
}
