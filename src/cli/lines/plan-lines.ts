import { styleText } from 'node:util';
import type { EvaluationPlan, PlanForecast } from '../../orchestrator/planning/evaluation-plan.ts';
import { formatCount, formatDuration, formatFigure } from '../../kernel/text/figures.ts';
import { escapeUnprintableLine } from '../../kernel/text/printable.ts';
import { formatTable, formatWarnings, type Row } from './table-lines.ts';

type Spread = PlanForecast['episodes'];

/** Formats the plan for people: the request, then what other rules would need, then the basis. */
export function formatPlanLines(plan: EvaluationPlan): string[] {
  const { suite, forecast, warnings } = plan;
  return [
    `${styleText('bold', escapeUnprintableLine(suite.name))} ${styleText('dim', '·')} ${stopText(forecast)}`,
    ...formatTable([...forecastRows(plan), ...formatOtherRows(plan), ...formatGroundRows(plan)]),
    ...formatWarnings(warnings),
  ];
}

function stopText({ stop, halfWidth }: PlanForecast): string {
  const percent = `${Number((stop.confidence * 100).toPrecision(6))} %`;
  if (stop.rule !== 'fixed') return `${stop.rule} ± ${Number(stop.halfWidth.toPrecision(6))} at ${percent}`;
  return `fixed number of episodes${halfWidth === null ? '' : `, about ± ${formatFigure(halfWidth, halfWidth)} at ${percent}`}`;
}

function forecastRows({ forecast, sandboxes, leastEpisodes, baseline }: EvaluationPlan): Row[] {
  const { simulation, seconds, cost } = forecast;
  const others = simulation === null ? '' : `  ${styleText('dim', 'median, and 5 % to 95 % of evaluations')}`;
  const missing = baseline === null ? 'give an earlier evaluation as --baseline' : 'the baseline has no measured episode';
  const on = `on ${formatCount(sandboxes)} ${sandboxes === 1 ? 'sandbox' : 'sandboxes'}, without their start`;
  return [
    ['episodes', `${styleText('bold', formatEpisodes(forecast))}${others}`],
    ...(simulation === null ? [] : [['at least', `${formatCount(leastEpisodes)}, if all returns were the same`] as const]),
    ['time', seconds === null ? `unknown: ${missing}` : `${formatSpread(seconds, formatDuration)} ${on}`],
    ...(cost === null ? [] : [['cost', formatSpread(cost, (amount) => formatFigure(amount, amount))] as const]),
  ];
}

function formatOtherRows({ others, knownVarianceEpisodes }: EvaluationPlan): Row[] {
  const rows = others.map((other): Row => {
    const time = other.seconds === null ? '' : ` · ${formatDuration(other.seconds.median)}`;
    const cut = other.shareCut === 0 ? '' : ` · the budget ends ${Number((other.shareCut * 100).toPrecision(3))} %`;
    return [`if ${other.stop.rule}`, `${formatEpisodes(other)}${time}${cut}`];
  });
  if (knownVarianceEpisodes === null) return rows;
  return [...rows, ['if fixed', `${formatCount(knownVarianceEpisodes)}, were the standard deviation known beforehand`]];
}

function formatGroundRows({ returns, baseline, forecast: { simulation }, suite }: EvaluationPlan): Row[] {
  const rows: Row[] = [];
  if (returns) {
    const { mean, standardDeviation: deviation } = returns;
    const figures = `mean ${formatFigure(mean, deviation)}, standard deviation ${formatFigure(deviation, deviation)}`;
    rows.push(['returns', `${formatGround(returns, baseline?.file ?? '')}; ${figures}`]);
  }
  if (simulation) rows.push(['simulated', `${formatCount(simulation.runs)} evaluations, ${formatCount(simulation.episodes)} episodes`]);
  return [...rows, ['suite', suite.digest]];
}

function formatGround({ from, observed }: NonNullable<EvaluationPlan['returns']>, file: string): string {
  switch (from) {
    case 'episodes':
      return `drawn from the ${formatCount(observed ?? 0)} episodes beside ${escapeUnprintableLine(file)}`;
    case 'histogram':
      return `drawn from the histogram in ${escapeUnprintableLine(file)}`;
    case 'moments':
      return `two values with the mean and variance in ${escapeUnprintableLine(file)}`;
    case 'bounds':
      return 'the worst case, half of them on each bound';
  }
}

function formatEpisodes({ episodes, shareGivenUp }: PlanForecast): string {
  return `${shareGivenUp > 0 ? 'more than ' : ''}${formatSpread(episodes, formatCount)}`;
}

function formatSpread({ low, median, high }: Spread, format: (value: number) => string): string {
  const [from, to] = [format(low), format(high)];
  return from === to ? format(median) : `${format(median)} (${from} to ${to})`;
}
