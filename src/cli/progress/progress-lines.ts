import { styleText } from 'node:util';
import type { Progress } from '../../orchestrator/facts/progress.ts';
import { formatCount, formatDuration, formatFigure, formatRate } from '../../kernel/text/figures.ts';
import { escapeUnprintableLine } from '../../kernel/text/printable.ts';
import type { ProgressView } from './progress-display.ts';

/** Progress texts of a running evaluation. Pure: `styleText` decides whether to add colours. */
export interface ProgressTitle {
  readonly suite: string;
  readonly checkpoint: string;
}

const BAR_CELLS = 28;

export function createEvaluationView(title: ProgressTitle): ProgressView<Progress> {
  return { lines: (progress) => formatProgressLines(title, progress), line: (progress) => formatProgressLine(title, progress) };
}

/** Formats four lines for a terminal; the caller cuts each to the terminal's width. */
export function formatProgressLines(title: ProgressTitle, progress: Progress): string[] {
  return [
    `${styleText('bold', title.suite)} ${styleText('dim', '·')} ${escapeUnprintableLine(title.checkpoint)}`,
    `${drawBar(computeShare(progress))} ${formatEpisodes(progress)}`,
    `${label('mean')} ${formatMean(progress)}`,
    `${label('sandboxes')} ${formatPool(progress)}`,
  ];
}

/** Formats one line for a log, with the same facts. */
export function formatProgressLine(title: ProgressTitle, progress: Progress): string {
  return `${title.suite} · ${escapeUnprintableLine(title.checkpoint)}: ${formatEpisodes(progress)}; mean ${formatMean(progress)}; sandboxes: ${formatPool(progress)}`;
}

function computeShare({ statistics }: Pick<Progress, 'statistics'>): number {
  const total = statistics.episodes + statistics.expectedRemaining;
  return total === 0 ? 0 : statistics.episodes / total;
}

/** @param filled share of the whole, 0 … 1 */
export function drawBar(filled: number): string {
  const cells = Math.round(filled * BAR_CELLS);
  return styleText('cyan', '█'.repeat(cells)) + styleText('dim', '░'.repeat(BAR_CELLS - cells));
}

export function label(text: string): string {
  return styleText('dim', text.padEnd(9));
}

function formatEpisodes({ statistics, failed, episodesPerSecond, seconds, secondsLeft }: Progress): string {
  const { episodes, expectedRemaining, target } = statistics;
  const about = target === undefined ? '' : '~';
  const parts = [`${formatCount(episodes)} of ${about}${formatCount(episodes + expectedRemaining)} episodes`, ...formatFailed(failed)];
  if (episodesPerSecond > 0) parts.push(`${formatRate(episodesPerSecond)}/s`);
  parts.push(secondsLeft === undefined ? `${formatDuration(seconds)} so far` : `${formatDuration(secondsLeft)} left`);
  return parts.join(' · ');
}

/** Counts finished episodes, whether or not they count yet, so that a hanging environment shows early. */
export function formatFailed(failed: number): readonly string[] {
  return failed > 0 ? [styleText('yellow', `${formatCount(failed)} failed`)] : [];
}

function formatMean({ statistics }: Progress): string {
  const { mean, halfWidth, target } = statistics;
  if (mean === undefined) return 'waiting for the first episode';
  const spread = halfWidth ?? Math.abs(mean);
  const width = halfWidth === undefined ? '' : ` ± ${formatFigure(halfWidth, spread)}`;
  const aim = target === undefined ? '' : ` (target ± ${formatFigure(target, Math.min(target, spread))})`;
  return `${formatFigure(mean, spread)}${width}${aim}`;
}

export function formatPool({ pool, surplus }: Pick<Progress, 'pool' | 'surplus'>): string {
  const { creating, warming, idle, leased } = pool.sandboxes;
  const parts = [`${formatCount(leased)} playing`, `${formatCount(idle)} idle`, `${formatCount(creating + warming)} starting`];
  if (pool.totals.died > 0) parts.push(`${formatCount(pool.totals.died)} died`);
  if (surplus > 0) parts.push(`${formatCount(surplus)} finished, waiting for earlier ones`);
  for (const { kind, sandboxes, detail } of pool.obstacles ?? [])
    parts.push(`${formatCount(sandboxes)} ${kind}: ${escapeUnprintableLine(detail)}`);
  if (pool.lastErrors.creation !== undefined && leased === 0)
    parts.push(`last failure: ${escapeUnprintableLine(pool.lastErrors.creation)}`);
  return parts.join(' · ');
}
