import type { CandidateStatistics } from '../../../aggregation/comparison/comparison-statistics.ts';
import { formatCount, formatFigure } from '../../../kernel/text/figures.ts';
import { describeView, renderBandChart, renderBandRows, type BandPoint } from './band-chart.ts';
import { renderChart, type LegendEntry } from './chart.ts';
import type { Markup } from '../text/markup.ts';
import { formatPercentage, computeSpread } from '../text/numbers.ts';

/** Renders the mean difference to the baseline and its interval, pair by pair, against the margin. */
export function renderDifferenceChart({ course, interval, difference }: CandidateStatistics, margin: number, source: string): Markup {
  const points = course.map(({ pairs, difference, low, high }): BandPoint => ({ at: pairs, value: difference, low, high }));
  const legend: LegendEntry[] = [
    { swatch: 'estimate', text: 'mean difference, candidate minus baseline' },
    { swatch: 'area', text: interval ? `${formatPercentage(interval.confidence)} interval` : 'interval' },
    ...(margin > 0 ? [{ swatch: 'target', text: `margin ±${margin}: what does not matter` } as const] : []),
    { swatch: 'level', text: 'no difference' },
  ];
  const spread = computeSpread(interval, difference);
  const ends = interval ? ` with an interval from ${formatFigure(interval.low, spread)} to ${formatFigure(interval.high, spread)}` : '';
  const alternative = `The running mean difference over ${formatCount(points.at(-1)?.at ?? 0)} pairs, which ends as ${difference === null ? 'none' : formatFigure(difference, spread)}${ends}.`;
  return renderChart({
    title: 'Difference to the baseline',
    note: ['In units of the return.', describeView(points)].filter((text) => text !== undefined).join(' '),
    drawing: renderBandChart({
      points,
      unit: 'pair',
      label: 'difference of returns',
      alternative,
      target: margin > 0 ? { low: -margin, high: margin } : undefined,
      level: 0,
    }),
    absent: 'There is no pair to draw.',
    legend,
    table: {
      source: `${source}.course`,
      columns: [
        { title: 'Pairs', member: 'pairs' },
        { title: 'Difference', member: 'difference' },
        { title: 'Low', member: 'low' },
        { title: 'High', member: 'high' },
      ],
      rows: renderBandRows(points),
    },
  });
}
