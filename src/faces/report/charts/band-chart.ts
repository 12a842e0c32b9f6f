import { area, line } from 'd3-shape';
import { formatCount, formatFigure } from '../../../kernel/text/figures.ts';
import { markup, type Markup } from '../text/markup.ts';
import { count, renderFigure } from '../text/numbers.ts';
import {
  formatPercent,
  computeDomain,
  HEIGHT,
  renderPlot,
  isPresent,
  round,
  createAcrossScale,
  createUpScale,
  WIDTH,
  type Scale,
} from './plot.ts';

/** An estimate and its interval after so many episodes or pairs. */
export interface BandPoint {
  /** Episodes, or pairs of them. */
  readonly at: number;
  readonly value: number | null;
  readonly low: number | null;
  readonly high: number | null;
}

export interface BandChart {
  readonly points: readonly BandPoint[];
  readonly unit: 'episode' | 'pair';
  readonly label: string;
  readonly alternative: string;
  /** The target, drawn behind the interval. */
  readonly target?: Target | undefined;
  /** A level with a meaning of its own, drawn as a line. */
  readonly level?: number | undefined;
}

/** Intervals that are more than this many times as wide as the last one may exceed the picture, which shows how the last one developed. */
const WIDEST_IN_VIEW = 5;

/** Says whether intervals may exceed the picture: a note for the reader, or undefined. */
export function describeView(points: readonly BandPoint[]): string | undefined {
  return points.every((point) => getWidth(point) === Infinity || isInView(point, points.at(-1)))
    ? undefined
    : 'Early intervals reach beyond the picture.';
}

function isInView(point: BandPoint, last: BandPoint | undefined): boolean {
  return last !== undefined && getWidth(point) <= WIDEST_IN_VIEW * getWidth(last);
}

/** Returns undefined where there is nothing to draw. */
export function renderBandChart({ points, unit, label, alternative, target, level }: BandChart): Markup | undefined {
  const last = points.at(-1);
  if (last === undefined) return undefined;
  const inView = points.filter((point) => isInView(point, last)).flatMap(({ value, low, high }) => [value, low, high]);
  const extent = computeDomain([...inView, target?.low, target?.high, level].filter(isPresent));
  if (extent === undefined) return undefined;
  const [x, y] = [createAcrossScale([0, last.at]), createUpScale(extent)];
  const marks = markup`${target && renderTargetArea(target, y)}${renderBand(points, x, y)}${target && renderTargetEdges(target, y)}${level !== undefined && isPresent(level) ? renderLevelLine(level, y) : undefined}${renderStrips(points, x, unit)}`;
  return renderPlot({
    x: { scale: x, label: `${unit}s`, whole: true },
    y: { scale: y, label },
    marks,
    above: renderEndMark(last, x, y),
    alternative,
  });
}

function renderBand(points: readonly BandPoint[], x: Scale, y: Scale): Markup {
  const edges = area<BandPoint>()
    .digits(1)
    .defined(({ low, high }) => isPresent(low) && isPresent(high))
    .x(({ at }) => x(at))
    .y0(({ low }) => y(low ?? 0))
    .y1(({ high }) => y(high ?? 0));
  const middle = line<BandPoint>()
    .digits(1)
    .defined(({ value }) => isPresent(value))
    .x(({ at }) => x(at))
    .y(({ value }) => y(value ?? 0));
  return markup`<path class="area" d="${edges(points) ?? ''}"/><path class="edge" d="${edges.lineY0()(points) ?? ''}"/><path class="edge" d="${edges.lineY1()(points) ?? ''}"/><path class="estimate" d="${middle(points) ?? ''}"/>`;
}

interface Target {
  readonly low: number;
  readonly high: number;
}

function renderTargetArea({ low, high }: Target, y: Scale): Markup {
  return markup`<rect class="target-area" width="${WIDTH}" y="${round(y(high))}" height="${round(y(low) - y(high))}"/>`;
}

function renderTargetEdges({ low, high }: Target, y: Scale): Markup {
  return markup`<path class="target" d="M0,${round(y(high))}H${WIDTH}M0,${round(y(low))}H${WIDTH}"/>`;
}

function renderLevelLine(level: number, y: Scale): Markup {
  return markup`<path class="level" d="M0,${round(y(level))}H${WIDTH}"/>`;
}

/** Renders an invisible strip for each point: pointing at it shows the figures. */
function renderStrips(points: readonly BandPoint[], x: Scale, unit: string): Markup {
  return markup`${points.map((point, position) => {
    const from = x(((points[position - 1] ?? point).at + point.at) / 2);
    const to = x((point.at + (points[position + 1] ?? point).at) / 2);
    return markup`<rect class="strip" x="${round(from)}" width="${round(Math.max(to - from, 1))}" height="${HEIGHT}"><title>${formatPoint(point, unit)}</title></rect>`;
  })}`;
}

function formatPoint({ at, value, low, high }: BandPoint, unit: string): string {
  const spread = getSpreadAt({ low, high, value });
  const format = (of: number | null): string => (of === null ? '–' : formatFigure(of, spread));
  return `${unit} ${formatCount(at)}: ${format(value)} in [${format(low)}, ${format(high)}]`;
}

/** Returns Infinity where there is no interval. */
function getWidth({ low, high }: BandPoint): number {
  return low === null || high === null ? Infinity : high - low;
}

function getSpreadAt({ low, high, value }: Pick<BandPoint, 'low' | 'high' | 'value'>): number {
  return low === null || high === null ? Math.abs(value ?? 1) : (high - low) / 2;
}

function renderEndMark({ at, value }: BandPoint, x: Scale, y: Scale): Markup | undefined {
  return isPresent(value) ? markup`<circle class="end" cx="${formatPercent(x, at)}" cy="${round(y(value))}" r="4"/>` : undefined;
}

/** Formats the same points as rows of a table: at, value, low, high. */
export function renderBandRows(points: readonly BandPoint[]): Markup[] {
  return points.map((point) => {
    const spread = getSpreadAt(point);
    return markup`<tr><th scope="row">${count(point.at)}</th><td>${renderFigure(point.value, spread)}</td><td>${renderFigure(point.low, spread)}</td><td>${renderFigure(point.high, spread)}</td></tr>
`;
  });
}
