import { formatCount, formatFigure } from '../../../kernel/text/figures.ts';
import type { Summary } from '../../../orchestrator/results/summary.ts';
import { describeView, renderBandChart, renderBandRows, type BandPoint } from './band-chart.ts';
import { renderChart, type LegendEntry } from './chart.ts';
import type { Markup } from '../text/markup.ts';
import { formatPercentage } from '../text/numbers.ts';

type Official = Summary['official'];

/** Renders how the interval narrowed, episode by episode. */
export function renderCourseChart(official: Official, source: string): Markup {
  const points = official.course.map(({ episodes, mean, low, high }): BandPoint => ({ at: episodes, value: mean, low, high }));
  const target = getTarget(official);
  const interval = official.interval ? `${formatPercentage(official.interval.confidence)} interval` : 'interval';
  const legend: LegendEntry[] = [
    { swatch: 'estimate', text: 'running mean' },
    { swatch: 'area', text: interval },
    ...(target ? [{ swatch: 'target', text: `as narrow as asked for, ±${official.targetHalfWidth}` } as const] : []),
  ];
  return renderChart({
    title: 'The interval, episode by episode',
    note: describeView(points),
    drawing: renderBandChart({ points, unit: 'episode', label: 'return', alternative: describeAlternative(points), target }),
    absent: 'The course of this evaluation was not kept, or there is nothing in it to draw.',
    legend,
    table: {
      source: `${source}.course`,
      columns: [
        { title: 'Episodes', member: 'episodes' },
        { title: 'Mean', member: 'mean' },
        { title: 'Low', member: 'low' },
        { title: 'High', member: 'high' },
      ],
      rows: renderBandRows(points),
    },
  });
}

/** Returns the target half-width, around the middle of the interval, which need not be the mean. */
function getTarget({ interval, targetHalfWidth }: Official): { low: number; high: number } | undefined {
  if (interval === null || targetHalfWidth === null) return undefined;
  const middle = (interval.low + interval.high) / 2;
  return { low: middle - targetHalfWidth, high: middle + targetHalfWidth };
}

function describeAlternative(points: readonly BandPoint[]): string {
  const last = points.at(-1);
  if (last === undefined || last.value === null) return 'The running mean.';
  const mean = `The running mean over ${formatCount(last.at)} episodes`;
  if (last.low === null || last.high === null) return `${mean}; it has no interval.`;
  const spread = (last.high - last.low) / 2;
  const format = (value: number): string => formatFigure(value, spread);
  return `${mean} and its interval, which ends as ${format(last.low)} to ${format(last.high)} around ${format(last.value)}.`;
}
