import { styleText } from 'node:util';
import type { RunningComparison } from '../../aggregation/comparison/paired-fold.ts';
import type { Progress } from '../../orchestrator/facts/progress.ts';
import { formatCount, formatDuration, formatFigure, formatRate } from '../../kernel/text/figures.ts';
import { escapeUnprintableLine } from '../../kernel/text/printable.ts';
import type { ProgressView } from './progress-display.ts';
import { drawBar, formatFailed, formatPool, label } from './progress-lines.ts';

type Shown = Progress<RunningComparison>;
type Candidate = RunningComparison['candidates'][number];

export interface ComparisonTitle {
  /** The file's name: the suite's own is known later. */
  readonly suite: string;
  readonly baseline: string;
  /** Names in the order of the candidates. */
  readonly candidates: readonly string[];
}

export function createComparisonView(title: ComparisonTitle): ProgressView<Shown> {
  return {
    lines: (progress) => [
      `${styleText('bold', title.suite)} ${styleText('dim', '· against')} ${escapeUnprintableLine(title.baseline)}`,
      `${drawBar(computeShare(progress))} ${formatQuantity(progress)}`,
      ...progress.statistics.candidates.map(
        (candidate, i) => `${escapeUnprintableLine(title.candidates[i] ?? '')}: ${formatCandidate(candidate)}`,
      ),
      `${label('sandboxes')} ${formatPool(progress)}`,
    ],
    line: (progress) => {
      const candidates = progress.statistics.candidates.map(
        (one, i) => `${escapeUnprintableLine(title.candidates[i] ?? '')}: ${formatCandidate(one)}`,
      );
      return `${title.suite} · against ${escapeUnprintableLine(title.baseline)}: ${[formatQuantity(progress), ...candidates].join('; ')}; sandboxes: ${formatPool(progress)}`;
    },
  };
}

function computeShare({ statistics: { episodes, expectedRemaining } }: Shown): number {
  return Number.isFinite(expectedRemaining) && episodes > 0 ? episodes / (episodes + expectedRemaining) : 0;
}

function formatQuantity({ statistics, failed, episodesPerSecond, seconds, secondsLeft }: Shown): string {
  const { episodes, expectedRemaining } = statistics;
  const total = Number.isFinite(expectedRemaining) ? ` of at most ~${formatCount(episodes + expectedRemaining)}` : '';
  const parts = [`${formatPairs(statistics.pairs)} · ${formatCount(episodes)}${total} episodes`, ...formatFailed(failed)];
  if (episodesPerSecond > 0) parts.push(`${formatRate(episodesPerSecond)}/s`);
  const isLeftKnown = secondsLeft !== undefined && Number.isFinite(secondsLeft);
  parts.push(isLeftKnown ? `${formatDuration(secondsLeft)} left` : `${formatDuration(seconds)} so far`);
  return parts.join(' · ');
}

function formatCandidate({ pairs, difference, halfWidth, evidence, verdict }: Candidate): string {
  if (difference === undefined) return 'waiting for the first pair';
  const spread = halfWidth ?? Math.abs(difference);
  const sign = difference > 0 ? '+' : '';
  const width = halfWidth === undefined ? '' : ` ± ${formatFigure(halfWidth, spread)}`;
  const found = `${sign}${formatFigure(difference, spread)}${width}`;
  if (verdict !== undefined) return `${found}, ${styleText('bold', verdict)} after ${formatPairs(pairs)}`;
  const towards = evidence.promote >= evidence.regress ? 'promote' : 'regress';
  const percent = Math.max(0, Math.round((100 * evidence[towards]) / evidence.needed));
  return `${found}, evidence ${percent} % of what "${towards}" needs`;
}

function formatPairs(count: number): string {
  return count === 1 ? '1 pair' : `${formatCount(count)} pairs`;
}
