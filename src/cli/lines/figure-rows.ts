import type { Summary } from '../../orchestrator/results/summary.ts';
import { formatCount, formatFigure } from '../../kernel/text/figures.ts';
import type { Row } from './table-lines.ts';

type Official = Summary['official'];
type TaskEstimate = NonNullable<Official['success']>['pass'][number]['anyOf'];

/** Figures beside the mean: what it would be robustly, at worst, and over other tasks. */
export function formatFigureRows(official: Official): Row[] {
  return [...robustRows(official), ...successRows(official), ...worstCaseRows(official), ...taskPopulationRows(official)];
}

function robustRows({ iqm }: Official): Row[] {
  if (!iqm) return [];
  const spread = iqm.interval ? (iqm.interval.high - iqm.interval.low) / 2 : Math.abs(iqm.value);
  const ends = iqm.interval ? ` [${formatFigure(iqm.interval.low, spread)}, ${formatFigure(iqm.interval.high, spread)}]` : '';
  return [['interquartile mean', `${formatFigure(iqm.value, spread)}${ends}`]];
}

function successRows({ success }: Official): Row[] {
  if (!success || success.rate === null) return [];
  const exact = success.clopperPearson;
  const ends = exact ? ` [${percent(exact.low)}, ${percent(exact.high)}] clopper-pearson` : '';
  const of = `${formatCount(success.count)} with a return of ${success.threshold} or more`;
  return [
    ['success rate', `${percent(success.rate)}${ends}, ${of}`],
    ...success.pass
      .filter(({ k }) => k > 1)
      .map(({ k, anyOf, allOf }): Row => [`of ${k} attempts`, `any ${chance(anyOf)}, all ${chance(allOf)}`]),
  ];
}

function chance({ value, low, high }: TaskEstimate): string {
  if (value === null) return 'unknown: too few episodes of a task';
  return low === null || high === null ? percent(value) : `${percent(value)} [${percent(low)}, ${percent(high)}]`;
}

function worstCaseRows({ unresolved, worstCase }: Official): Row[] {
  if (unresolved === 0 || !worstCase) return [];
  const spread = (worstCase.high - worstCase.low) / 2;
  const ends = [worstCase.low, worstCase.high].map((end) => formatFigure(end, spread));
  return [['mean at worst · best', `${ends.join(' · ')}, whatever the lost episodes came to`]];
}

function taskPopulationRows({ estimands: { taskPopulation } }: Official): Row[] {
  if (!taskPopulation?.interval || taskPopulation.mean === null) return [];
  const { mean, interval, tasks } = taskPopulation;
  const spread = (interval.high - interval.low) / 2;
  const ends = `[${formatFigure(interval.low, spread)}, ${formatFigure(interval.high, spread)}]`;
  return [['mean on tasks like these', `${formatFigure(mean, spread)} ${ends}, from ${formatCount(tasks)} tasks`]];
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
