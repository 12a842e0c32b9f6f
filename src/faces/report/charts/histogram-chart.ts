import { scaleLinear } from 'd3-scale';
import { formatCount, formatFigure } from '../../../kernel/text/figures.ts';
import type { Summary } from '../../../orchestrator/results/summary.ts';
import { renderChart, type LegendEntry } from './chart.ts';
import { markup, type Content, type Markup } from '../text/markup.ts';
import { count, renderFigure } from '../text/numbers.ts';
import { computeDomain, HEIGHT, renderPlot, isPresent, round, createAcrossScale, createUpScale, type Scale } from './plot.ts';
type Official = Summary['official'];
type Quantiles = NonNullable<Official['quantiles']>;

interface Bin {
  readonly from: number;
  readonly to: number;
  readonly count: number;
  /** The width before the outermost bins were cut at the lowest and the highest return. */
  readonly width: number;
  /** Where its bar begins and ends. */
  readonly left: number;
  readonly right: number;
  readonly fromSource: string;
  readonly toSource: string;
}

/** The top of the picture is reserved for the quantiles. */
const [BARS_TOP, BOX_MIDDLE, BOX_HALF] = [32, 14, 7];

/** The lowest bar in pixels: a few episodes beside many must not vanish. */
const LOWEST_BAR = 2;

/** Renders how often each return came, with mean and quantiles. @param spread how uncertain the mean is. */
export function renderHistogramChart(official: Official, spread: number, source: string): Markup {
  const { mean, quantiles } = official;
  const bins = listBins(official, source);
  const width = bins[0]?.width ?? 0;
  return renderChart({
    title: 'Distribution of returns',
    // A picture of one return would need an axis, and there is nothing to choose its ends by.
    drawing: isConstant(official) ? undefined : renderDrawing(bins, mean, quantiles, width),
    absent: describeAbsence(official, spread, source),
    legend: [
      { swatch: 'bar', text: 'episodes by return' },
      { swatch: 'estimate', text: markup`mean ${renderFigure(mean, spread)}` },
      ...(quantiles ? renderQuantileLegend(quantiles, spread, `${source}.quantiles`) : []),
    ],
    table: {
      columns: [{ title: 'Return from' }, { title: 'to' }, { title: 'Episodes' }],
      rows: bins.map(
        ({ from, to, count: episodes, fromSource, toSource }, position) =>
          markup`<tr><th scope="row">${renderFigure(from, width, fromSource)}</th><td>${renderFigure(to, width, toSource)}</td><td>${count(episodes, `${source}.histogram.counts.${position}`)}</td></tr>`,
      ),
    },
  });
}

function isConstant({ min, max }: Official): boolean {
  return min !== null && min === max;
}

function describeAbsence(official: Official, spread: number, source: string): Content {
  if (official.resolved === 0) return 'No episode was resolved.';
  if (!isConstant(official)) return 'The returns are too far apart to be drawn.';
  return markup`Every episode returned ${renderFigure(official.min, spread, `${source}.min`)}.`;
}

/**
 * Bins end at the lowest and the highest return. Equal bins have equal bars: all are moved inwards, by half a bin or so. If the outermost ones were
 * cut instead, their heights would look too great for their widths.
 */
function listBins({ histogram, min, max }: Official, source: string): readonly Bin[] {
  const { edges, counts } = histogram ?? { edges: [], counts: [] };
  const [lowest = 0, highest = 0] = [edges[0], edges.at(-1)];
  const place = scaleLinear([lowest, highest], [Math.max(lowest, min ?? lowest), Math.min(highest, max ?? highest)]);
  return counts.map((count, position) => {
    const [low = 0, high = 0] = edges.slice(position);
    const isCutBelow = min !== null && min > low;
    const isCutAbove = max !== null && max < high;
    return {
      from: isCutBelow ? min : low,
      to: isCutAbove ? max : high,
      count,
      width: high - low,
      left: place(low),
      right: place(high),
      fromSource: isCutBelow ? `${source}.min` : `${source}.histogram.edges.${position}`,
      toSource: isCutAbove ? `${source}.max` : `${source}.histogram.edges.${position + 1}`,
    };
  });
}

/** The tolerance of widths, as a share of the widest bin, because of rounding. */
const SAME_WIDTH = 1e-6;

/** The height of a bar is its number of episodes; where bins are not equally wide, what it would be if the bin were as wide as the widest. */
function computeHeights(bins: readonly Bin[]): { readonly label: string; readonly toHeight: (bin: Bin) => number } {
  const widths = bins.map(({ width }) => width);
  const widest = Math.max(...widths);
  if (widest - Math.min(...widths) <= SAME_WIDTH * widest) return { label: 'episodes', toHeight: ({ count }) => count };
  const heightOf = ({ count, width }: Bin): number => (count * widest) / width;
  return { label: `episodes per ${formatFigure(widest, widest)} of return`, toHeight: heightOf };
}

function renderQuantileLegend({ p05, p25, p50, p75, p95 }: Quantiles, spread: number, source: string): LegendEntry[] {
  const pair = (low: number, high: number, lowName: string, highName: string): Markup =>
    markup`${renderFigure(low, spread, `${source}.${lowName}`)} to ${renderFigure(high, spread, `${source}.${highName}`)}`;
  return [
    { swatch: 'dot', text: markup`median ${renderFigure(p50, spread, `${source}.p50`)}` },
    { swatch: 'quartiles', text: markup`middle half ${pair(p25, p75, 'p25', 'p75')}` },
    { swatch: 'level', text: markup`5 % to 95 %: ${pair(p05, p95, 'p05', 'p95')}` },
  ];
}

function renderDrawing(bins: readonly Bin[], mean: number | null, quantiles: Official['quantiles'], width: number): Markup | undefined {
  const extent = computeDomain(bins.flatMap(({ left, right }) => [left, right]));
  if (extent === undefined) return undefined;
  const { label, toHeight: heightOf } = computeHeights(bins);
  const most = Math.max(...bins.map(heightOf));
  const x = createAcrossScale(extent);
  const y = createUpScale([0, Math.max(most, 1)]).range([HEIGHT, BARS_TOP]);
  const marks = markup`${bins.map((bin) => renderBar(bin, heightOf(bin), x, y, width))}${quantiles ? renderBox(quantiles, x) : undefined}${isPresent(mean) ? markup`<path class="estimate" d="M${round(x(mean))},0V${HEIGHT}"/>` : undefined}`;
  return renderPlot({
    x: { scale: x, label: 'return' },
    y: { scale: y, label, whole: true },
    marks,
    alternative: describeAlternative(bins, quantiles, width),
  });
}

function renderBar({ from, to, left: begin, right: end, count }: Bin, height: number, x: Scale, y: Scale, width: number): Markup {
  const left = round(x(begin));
  const breadth = Math.max(round(x(end)) - left, 2);
  const top = round(count > 0 ? Math.min(y(height), HEIGHT - LOWEST_BAR) : HEIGHT);
  const text = `${formatCount(count)} from ${formatFigure(from, width)} to ${formatFigure(to, width)}`;
  return markup`<rect class="bar" x="${left}" width="${round(breadth)}" y="${top}" height="${round(HEIGHT - top)}"><title>${text}</title></rect>`;
}

/** Renders 5 to 95 % as a line, the middle half as a box, and the median as a dot. */
function renderBox({ p05, p25, p50, p75, p95 }: Quantiles, x: Scale): Markup {
  const toPosition = (value: number): number => round(x(value));
  return markup`<path class="level" d="M${toPosition(p05)},${BOX_MIDDLE}H${toPosition(p95)}"/><rect class="quartiles" x="${toPosition(p25)}" width="${round(Math.max(toPosition(p75) - toPosition(p25), 2))}" y="${BOX_MIDDLE - BOX_HALF}" height="${2 * BOX_HALF}"/><path class="dot" d="M${toPosition(p50)},${BOX_MIDDLE}h0"/>`;
}

function describeAlternative(bins: readonly Bin[], quantiles: Official['quantiles'], width: number): string {
  const tallest = bins.reduce((best, bin) => (bin.count > best.count ? bin : best));
  const format = (value: number): string => formatFigure(value, width);
  const middle = quantiles ? ` Half of the returns lie between ${format(quantiles.p25)} and ${format(quantiles.p75)}.` : '';
  return `Histogram of returns: the tallest bar has ${formatCount(tallest.count)} episodes from ${format(tallest.from)} to ${format(tallest.to)}.${middle}`;
}
