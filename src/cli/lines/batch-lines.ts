import { styleText } from 'node:util';
import { isComparisonSummary, isSummary } from '../../faces/client/answer-of.ts';
import type { BatchItem } from '../../faces/client/batch/batch.ts';
import type { UploadProgress } from '../../faces/client/uploads.ts';
import { formatBytes, formatCount, formatFigure } from '../../kernel/text/figures.ts';
import { escapeUnprintableLine } from '../../kernel/text/printable.ts';
import { alignColumns } from './columns.ts';
import type { ProgressView } from '../progress/progress-display.ts';
import { drawBar } from '../progress/progress-lines.ts';
import { formatAnswer } from '../progress/remote-progress.ts';

export interface BatchProgress {
  readonly items: readonly BatchItem[];
  readonly upload: (UploadProgress & { readonly title: string }) | undefined;
  /** Seconds since the batch began. */
  readonly seconds: number;
}

/** Lines for running evaluations: as many as fit on a terminal. */
const MOST_RUNNING = 8;

export function createBatchView(name: string): ProgressView<BatchProgress> {
  return {
    lines: (progress) => [
      `${styleText('bold', escapeUnprintableLine(name))}  ${formatCounts(progress.items)}`,
      drawBar(progress.items.filter(isEnded).length / Math.max(1, progress.items.length)),
      ...formatRunningLines(progress.items),
      ...(progress.upload ? [formatUpload(progress.upload)] : []),
    ],
    line: ({ items }) => `${escapeUnprintableLine(name)}: ${formatCounts(items)}`,
  };
}

/** Formats the result of each evaluation as a table, and the errors of those without an answer. */
export function formatBatchLines(items: readonly BatchItem[]): readonly string[] {
  const rows = items.map((item) => [
    escapeUnprintableLine(item.checkpoint),
    escapeUnprintableLine(item.suite),
    colourState(item),
    ...formatAnswerCells(item),
  ]);
  const problems = items.flatMap((item) => {
    const problem = getProblem(item);
    return problem === undefined
      ? []
      : [`  ${styleText('yellow', '!')} ${escapeUnprintableLine(`${item.checkpoint} on ${item.suite}: ${problem.message}`)}`];
  });
  return [...alignColumns([['checkpoint', 'suite', 'state', 'episodes', 'answer'], ...rows]), ...problems];
}

/** Creates the document that programs get. */
export function createBatchDocument(name: string, items: readonly BatchItem[]): object {
  return {
    schema: 'muster.batch/1',
    name,
    complete: isComplete(items),
    evaluations: items.map((item) => ({
      checkpoint: item.checkpoint,
      suite: item.suite,
      state: describeState(item),
      problem: getProblem(item) ?? null,
      evaluation: 'evaluation' in item ? item.evaluation : null,
    })),
  };
}

export function isComplete(items: readonly BatchItem[]): boolean {
  return items.every((item) => describeState(item) === 'finished');
}

function isEnded({ kind }: BatchItem): boolean {
  return kind === 'over' || kind === 'refused';
}

function describeState(item: BatchItem): string {
  return 'evaluation' in item ? item.evaluation.state : item.kind;
}

function getProblem(item: BatchItem): { readonly code: string; readonly message: string } | undefined {
  switch (item.kind) {
    case 'refused':
      return { code: item.error.code, message: item.error.message };
    case 'over':
      return item.evaluation.failure ?? undefined;
    case 'planned':
    case 'submitted':
      return undefined;
  }
}

function colourState(item: BatchItem): string {
  const state = describeState(item);
  return state === 'finished' ? styleText('green', state) : styleText('yellow', state);
}

function formatAnswerCells(item: BatchItem): readonly [episodes: string, answer: string] {
  const summary = item.kind === 'over' ? item.evaluation.summary : undefined;
  if (isSummary(summary)) {
    const { episodes, mean, interval } = summary.official;
    if (mean === null) return [formatCount(episodes), 'no episode was resolved'];
    const spread = interval ? (interval.high - interval.low) / 2 : Math.abs(mean);
    const range = interval ? `  [${formatFigure(interval.low, spread)}, ${formatFigure(interval.high, spread)}]` : '';
    return [formatCount(episodes), `${formatFigure(mean, spread)}${range}${summary.partial ? '  (partial)' : ''}`];
  }
  if (isComparisonSummary(summary))
    return [formatCount(summary.official.episodes), `${summary.verdict}${summary.partial ? '  (partial)' : ''}`];
  return ['', ''];
}

function formatCounts(items: readonly BatchItem[]): string {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(describeState(item), (counts.get(describeState(item)) ?? 0) + 1);
  const parts = [...counts].map(([state, count]) => `${formatCount(count)} ${state}`);
  return `${formatCount(items.filter(isEnded).length)} of ${formatCount(items.length)} over: ${parts.join(', ')}`;
}

function formatRunningLines(items: readonly BatchItem[]): readonly string[] {
  const running = items.flatMap((item) =>
    item.kind === 'submitted' && item.evaluation.running ? [{ item, figures: item.evaluation.running }] : [],
  );
  const lines = running.slice(0, MOST_RUNNING).map(({ item, figures }) => {
    const what = escapeUnprintableLine(`${item.checkpoint} on ${item.suite}`);
    return `  ${what}: ${formatCount(figures.episodes)} episodes, ${formatAnswer(figures)}`;
  });
  return running.length > MOST_RUNNING ? [...lines, styleText('dim', `  and ${running.length - MOST_RUNNING} more`)] : lines;
}

function formatUpload({ phase, title, bytes, allBytes }: UploadProgress & { readonly title: string }): string {
  return `  ${phase} ${escapeUnprintableLine(title)}: ${formatBytes(bytes)} of ${formatBytes(allBytes)}`;
}
