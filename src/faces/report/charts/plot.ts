import { scaleLinear, type ScaleLinear } from 'd3-scale';
import { markup, type Markup } from '../text/markup.ts';
/**
 * The frame that every chart has. A plot is as wide as the page lets it be, and text must not be stretched with it: so positions along x
 * are percentages, positions along y pixels, and only the marks are in an inner picture that is `WIDTH` units wide and stretched to fit.
 */
export const WIDTH = 1000;

const TICKS_ACROSS = 6;
const TICKS_UP = 5;
/** Characters along an axis: on a narrow page, and from 34 rem on. */
const [ROOM_NARROW, ROOM_WIDE] = [26, 52];
/** Outside of these bounds, labels are written with powers of ten, as they would need too much room. */
const [SMALLEST_STEP, LARGEST_VALUE] = [1e-5, 1e7];

export type Scale = ScaleLinear<number, number>;

export interface Axis {
  readonly scale: Scale;
  /** The label, with its unit. */
  readonly label: string;
  /** Counts have no ticks between whole numbers. */
  readonly whole?: boolean;
}

export interface Plot {
  readonly x: Axis;
  readonly y: Axis;
  /** A description of the chart, for readers who do not see it. */
  readonly alternative: string;
  /** Marks in units of the inner picture, clipped at its edges. Strokes keep their width. */
  readonly marks: Markup;
  /** Drawn over them, not clipped, with x in percent (`across`). */
  readonly above?: Markup | undefined;
}

export const HEIGHT = 240;

export function createAcrossScale(domain: Domain): Scale {
  return scaleLinear(domain, [0, WIDTH]);
}

export function createUpScale(domain: Domain): Scale {
  return scaleLinear(domain, [HEIGHT, 0]);
}

/** Formats the position for `above`. */
export function formatPercent(scale: Scale, value: number): string {
  return `${Number((scale(value) / (WIDTH / 100)).toFixed(2))}%`;
}

export function renderPlot({ x, y, marks, above, alternative }: Plot): Markup {
  const left = Math.max(...listTicks(y, TICKS_UP).map(({ text }) => text.length));
  return markup`<svg class="plot" role="img" aria-label="${alternative}" height="${HEIGHT}" style="--labels:${left}">
${listTicks(y, TICKS_UP).map(({ value, text }) => tickUp(round(y.scale(value)), text))}
<svg width="100%" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none">${marks}</svg>
${above}
${renderTicksAcross(x)}
<text class="axis" x="50%" y="${HEIGHT + 40}" text-anchor="middle">${x.label}</text>
<text class="axis" x="0" y="-12">${y.label}</text>
</svg>`;
}

function tickUp(y: number, text: string): Markup {
  return markup`<line class="grid" x2="100%" y1="${y}" y2="${y}"/><text x="-8" y="${y}" dy=".35em" text-anchor="end">${text}</text>`;
}

/** Labels are left out where they would touch, and further ones where the page is narrow. */
function renderTicksAcross(axis: Axis): Markup {
  const ticks = listTicks(axis, TICKS_ACROSS);
  const everyWide = labelEvery(ticks, ROOM_WIDE);
  const everyNarrow = everyWide * Math.ceil(labelEvery(ticks, ROOM_NARROW) / everyWide);
  return markup`${ticks.map(({ value, text }, position) => {
    const x = formatPercent(axis.scale, value);
    const mark = markup`<line class="tick" x1="${x}" x2="${x}" y1="${HEIGHT}" y2="${HEIGHT + 5}"/>`;
    if (position % everyWide !== 0) return mark;
    const when = position % everyNarrow === 0 ? undefined : markup` class="wide"`;
    return markup`${mark}<text${when} x="${x}" y="${HEIGHT + 20}" text-anchor="middle">${text}</text>`;
  })}`;
}

/** @param room in characters, over the whole axis. @returns every how many ticks have a label. */
export function labelEvery(ticks: readonly Tick[], room: number): number {
  const longest = Math.max(0, ...ticks.map(({ text }) => text.length));
  return Math.max(1, Math.ceil((ticks.length * (longest + 1)) / room));
}

export interface Tick {
  readonly value: number;
  readonly text: string;
}

export function listTicks({ scale, whole = false }: Pick<Axis, 'scale' | 'whole'>, wished: number): readonly Tick[] {
  const values = scale.ticks(wished).filter((value) => !whole || Number.isInteger(value));
  const [first = 0, second = first] = values;
  const scientific = values.some((value) => Math.abs(value) >= LARGEST_VALUE) || (first !== second && second - first < SMALLEST_STEP);
  const format = scientific ? scale.tickFormat(wished, 'e') : whole ? scale.tickFormat(wished, ',d') : scale.tickFormat(wished);
  return values.map((value) => ({ value, text: format(value).replaceAll('−', '-') }));
}

export type Domain = readonly [low: number, high: number];

/**
 * Computes the range of all values, with a margin at both ends, never empty. Returns undefined without values, and where floating point cannot hold
 * their distance.
 */
export function computeDomain(values: readonly number[]): Domain | undefined {
  if (values.length === 0) return undefined;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = (high > low ? high - low : Math.abs(low) || 1) * 0.05;
  return Number.isFinite(high - low + 2 * room) ? [low - room, high + room] : undefined;
}

/** Smaller differences than half a pixel are invisible. */
export function round(position: number): number {
  return Number(position.toFixed(1));
}

export function isPresent(value: number | null | undefined): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}
