import type { Summary } from '../../orchestrator/results/summary.ts';
import { formatCount, formatFigure } from '../../kernel/text/figures.ts';
import type { Row } from './table-lines.ts';

type Official = Summary['official'];
type TaskEstimate = NonNullable<Official['success']>['pass'][number]['anyOf'];

/** Formats the figures beside the mean: robust means, the worst returns, and means over other tasks. */
export function formatFigureRows(official: Official): Row[] {
  return [
    ...formatRobustRows(official),
    ...formatSuccessRows(official),
    ...formatWorstCaseRows(official),
    ...formatTaskPopulationRows(official),
  ];
}

function formatRobustRows({ iqm }: Official): Row[] {
  if (!iqm) return [];
  const spread = iqm.interval ? (iqm.interval.high - iqm.interval.low) / 2 : Math.abs(iqm.value);
  const ends = iqm.interval ? ` [${formatFigure(iqm.interval.low, spread)}, ${formatFigure(iqm.interval.high, spread)}]` : '';
  return [['interquartile mean', `${formatFigure(iqm.value, spread)}${ends}`]];
}

function formatSuccessRows({ success }: Official): Row[] {
  if (!success || success.rate === null) return [];
  const exact = success.clopperPearson;
  const ends = exact ? ` [${formatPercent(exact.low)}, ${formatPercent(exact.high)}] clopper-pearson` : '';
  const of = `${formatCount(success.count)} with a return of ${success.threshold} or more`;
  return [
    ['success rate', `${formatPercent(success.rate)}${ends}, ${of}`],
    ...success.pass
      .filter(({ k }) => k > 1)
      .map(({ k, anyOf, allOf }): Row => [`of ${k} attempts`, `any ${formatEstimate(anyOf)}, all ${formatEstimate(allOf)}`]),
  ];
}

function formatEstimate({ value, low, high }: TaskEstimate): string {
  if (value === null) return 'unknown: too few episodes of a task';
  return low === null || high === null ? formatPercent(value) : `${formatPercent(value)} [${formatPercent(low)}, ${formatPercent(high)}]`;
}

function formatWorstCaseRows({ unresolved, worstCase }: Official): Row[] {
  if (unresolved === 0 || !worstCase) return [];
  const spread = (worstCase.high - worstCase.low) / 2;
  const ends = [worstCase.low, worstCase.high].map((end) => formatFigure(end, spread));
  return [['mean at worst · best', `${ends.join(' · ')}, whatever the lost episodes came to`]];
}

function formatTaskPopulationRows({ estimands: { taskPopulation } }: Official): Row[] {
  if (!taskPopulation?.interval || taskPopulation.mean === null) return [];
  const { mean, interval, tasks } = taskPopulation;
  const spread = (interval.high - interval.low) / 2;
  const ends = `[${formatFigure(interval.low, spread)}, ${formatFigure(interval.high, spread)}]`;
  return [['mean on tasks like these', `${formatFigure(mean, spread)} ${ends}, from ${formatCount(tasks)} tasks`]];
}

function formatPercent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
