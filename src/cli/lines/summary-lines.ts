import { styleText } from 'node:util';
import type { Summary } from '../../orchestrator/results/summary.ts';
import { formatEnding } from '../../faces/report/text/wording.ts';
import { formatCount, formatDuration, formatFigure, formatRate } from '../../kernel/text/figures.ts';
import { escapeUnprintableLine } from '../../kernel/text/printable.ts';
import { formatErrors, formatFailedRows } from './failure-lines.ts';
import { formatFigureRows } from './figure-rows.ts';
import { formatTable, formatWarnings, type Row } from './table-lines.ts';

type Interval = NonNullable<Summary['official']['interval']>;

/**
 * Formats the summary for people: the answer first, then its certainty, then its cost.
 *
 * @param isErrorShown whether the error that ended it is shown in full elsewhere.
 */
export function formatSummary(summary: Summary, title: string, isErrorShown = summary.ended === 'failures'): string[] {
  const { official, run } = summary;
  const names: Row[] = [
    ['checkpoint', official.checkpoint.digest],
    ['suite', official.suite.digest],
  ];
  return [
    styleText('bold', escapeUnprintableLine(title)) + (summary.partial ? styleText('yellow', '  (partial)') : ''),
    ...formatTable([
      ...(summary.allFailed === true ? formatRowsWithoutAnswer(summary) : formatAnswerRows(summary)),
      ...runRows(run),
      ...names,
    ]),
    ...formatErrors(run, isErrorShown),
    ...formatWarnings([...official.warnings, ...summary.warnings]),
  ];
}

/** When all episodes failed, their scores would look like a result. */
function formatRowsWithoutAnswer({ official, ended }: Summary): Row[] {
  return [
    ['mean return', styleText('bold', 'none')],
    ['episodes', `${formatCount(official.episodes)}, ${formatEnding(ended)}`],
    ...formatFailureRows(official),
  ];
}

function formatAnswerRows(summary: Summary): Row[] {
  const { official } = summary;
  return [...formatMeanRows(summary), ...formatFigureRows(official), ...formatTaskRows(summary), ...formatMetricRows(summary)];
}

function formatMeanRows({ official, ended }: Summary): Row[] {
  const { interval, mean, quantiles } = official;
  const spread = interval ? (interval.high - interval.low) / 2 : Math.abs(mean ?? 1);
  const format = (value: number): string => formatFigure(value, spread);
  const rows: Row[] = [['mean return', mean === null ? 'none: no episode was resolved' : styleText('bold', format(mean))]];
  const quoted = toQuote(official);
  if (quoted !== null) rows.push(['bias-reduced mean', `${format(quoted)}  ${styleText('dim', QUOTE_IT)}`]);
  if (interval) {
    const percent = `${Number((interval.confidence * 100).toPrecision(6))} %`;
    const ends = `[${format(interval.low)}, ${format(interval.high)}]`;
    rows.push([`${percent} interval`, `${ends}  ${styleText('dim', describePromise(interval.method, percent))}`]);
  }
  if (official.variance !== null) rows.push(['standard deviation', format(Math.sqrt(official.variance))]);
  if (quantiles && official.min !== null && official.max !== null) {
    const five = [official.min, quantiles.p25, quantiles.p50, quantiles.p75, official.max];
    rows.push(['min · quartiles · max', five.map(format).join(' · ')]);
  }
  rows.push(['episodes', `${formatCount(official.episodes)}, ${formatEnding(ended)}`]);
  return [...rows, ...formatFailureRows(official)];
}

const QUOTE_IT = 'quote this one: the returns decided when to stop';

/** Returns the mean without the bias of stopping, where the stop caused one; null where the mean itself should be quoted. */
function toQuote({ stop, endedBy, biasReducedMean }: Summary['official']): number | null {
  return stop.rule !== 'fixed' && endedBy === 'rule' ? biasReducedMean : null;
}

/** Describes the interval's guarantee in one line; the summary has it in full. */
function describePromise(method: Interval['method'], percent: string): string {
  switch (method) {
    case 'certified':
      return `certified: at least ${percent}, whenever it stops`;
    case 'clopper-pearson':
      return `${method}: at least ${percent}, for episodes fixed in advance`;
    case 'adjusted':
      return `${method}: about ${percent}, for episodes fixed in advance`;
    case 'student-t':
    case 'bca':
    case 'stratified-bootstrap':
      return `${method}: ${percent} in the limit of many episodes, fixed in advance`;
    case 'approximate':
      return `approximate: near ${percent} by simulation, not by proof`;
    case 'asymptotic-sequence':
      return `asymptotic: ${percent} in the limit of many episodes, whenever it stops`;
    case 'clustered-t':
      return `${method}: ${percent} in the limit of many tasks`;
  }
}

function formatFailureRows({ failures, resolved, unresolved }: Summary['official']): Row[] {
  const rows = formatFailedRows('failed episodes', failures, resolved);
  return unresolved === 0
    ? rows
    : [...rows, ['lost episodes', `${formatCount(unresolved)}, with their sandboxes, in every attempt (they widen the interval)`]];
}

function formatTaskRows({ official }: Summary): Row[] {
  if (official.tasks.length < 2) return [];
  return official.tasks.map((task): Row => {
    const error = task.standardError === null ? '' : ` ± ${formatFigure(task.standardError, task.standardError)} (standard error)`;
    if (task.mean === null)
      return [`task ${task.name}`, task.episodes === 0 ? 'no episodes' : `none of ${formatEpisodes(task.episodes)} resolved`];
    const mean = formatFigure(task.mean, task.standardError ?? Math.abs(task.mean));
    return [`task ${task.name}`, `${mean}${error}, ${formatEpisodes(task.episodes)}`];
  });
}

function formatMetricRows({ official }: Summary): Row[] {
  return official.metrics.map((metric): Row => {
    if (metric.mean === null)
      return [
        `metric ${metric.name}`,
        metric.missing === 0 ? 'none: no episode was completed' : 'never reported: no episode ended with it in its info',
      ];
    const deviation = metric.standardDeviation ?? Math.abs(metric.mean);
    const figures = `${formatFigure(metric.mean, deviation)}, standard deviation ${formatFigure(deviation, deviation)}`;
    const missing = metric.missing === 0 ? '' : `, missing in ${formatEpisodes(metric.missing)}`;
    return [`metric ${metric.name}`, `${figures}${missing}`];
  });
}

/** Formats what the run cost. */
export function runRows(run: Summary['run']): Row[] {
  const { outcomes, recalled = 0 } = run;
  if (outcomes === 0 && recalled > 0) return [['played', `none: ${formatKnown(recalled)}`]];
  const extra = [
    recalled > 0 ? formatKnown(recalled) : '',
    run.retried > 0 ? `${formatEpisodes(run.retried)} played again after a lost sandbox` : '',
    run.duplicated > 0 ? `${formatCount(run.duplicated)} slow, played twice` : '',
  ].filter((text) => text !== '');
  const played = [formatDuration(run.seconds), `${formatRate(run.episodesPerSecond)} episodes/s`, ...extra].join(' · ');
  const died = run.pool.died > 0 ? `, ${formatCount(run.pool.died)} died` : '';
  return [
    ['time', played],
    ['sandboxes', `${formatCount(run.pool.created)} made by ${run.pool.provider} (at most ${formatCount(run.pool.sandboxesMax)})${died}`],
    ...(run.cost === null ? [] : [['cost', formatFigure(run.cost, run.cost)] as const]),
  ];
}

function formatKnown(recalled: number): string {
  return `${formatEpisodes(recalled)} ${recalled === 1 ? 'was' : 'were'} known already`;
}

function formatEpisodes(count: number): string {
  return count === 1 ? '1 episode' : `${formatCount(count)} episodes`;
}
