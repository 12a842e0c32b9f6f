import { styleText } from 'node:util';
import type { TuningProgress } from '../../orchestrator/tuning/tune.ts';
import type { PlayDeclaration } from '../../orchestrator/suite/play.ts';
import type { Tuning, TuningTrialResult } from '../../orchestrator/tuning/tuning.ts';
import { formatCount, formatRate } from '../../kernel/text/figures.ts';
import { escapeUnprintableLine } from '../../kernel/text/printable.ts';
import type { ProgressView } from '../progress/progress-display.ts';
import { drawBar } from '../progress/progress-lines.ts';
import { formatWarnings } from './table-lines.ts';

export const tuningView: ProgressView<TuningProgress> = {
  lines: (progress) => [
    ...(progress.results.length > 0 ? formatTableLines(progress.results) : []),
    `${drawBar((progress.trial - 1) / progress.trials)} ${formatUnderWay(progress)}`,
  ],
  line: formatUnderWay,
};

function formatUnderWay({ trial, trials, way }: TuningProgress): string {
  return `trial ${trial} of ${trials}: ${playText(way.play)} on ${formatSandboxes(way.sandboxes)}`;
}

/** Formats the table of all trials, then the fastest one as a suite's setting. */
export function formatTuning(tuning: Tuning): string[] {
  const { suite, processors, fastest, trials, warnings } = tuning;
  return [
    `${styleText('bold', escapeUnprintableLine(suite.name))} ${styleText('dim', '·')} ${formatCount(processors)} processors`,
    ...formatTableLines(trials),
    ...formatRefusalLines(trials),
    ...(trials.some(isUntimed) ? ['  unknown: too few episodes ended within the time of the trial: give more --seconds'] : []),
    ...(fastest ? formatFastestLines(fastest) : ['  nothing could be measured']),
    ...formatWarnings(warnings),
  ];
}

function isUntimed({ episodesPerSecond, refusal, failed }: TuningTrialResult): boolean {
  return episodesPerSecond === null && refusal === null && failed === 0;
}

/** Formats each refusal once: what an environment lacks, it lacks at every width. */
function formatRefusalLines(trials: readonly TuningTrialResult[]): string[] {
  const lines = trials.flatMap(({ refusal, play }) => (refusal === null ? [] : [`  ${play.mode}: ${escapeUnprintableLine(refusal)}`]));
  return [...new Set(lines)];
}

function formatFastestLines({ play, sandboxes, episodesPerSecond }: NonNullable<Tuning['fastest']>): string[] {
  return [
    `  fastest: ${styleText('bold', `${formatRate(episodesPerSecond)} episodes/s`)}`,
    `    in the suite            play: ${formatPlay(play)}`,
    `    on the command line     --sandboxes ${sandboxes}`,
  ];
}

const HEADINGS = ['play', 'sandboxes', 'episodes/s', '× single', 'in the policy'];

function formatTableLines(trials: readonly TuningTrialResult[]): string[] {
  const rows = [HEADINGS, ...trials.map(getCells)];
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row, position) => {
    const line = row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))).join('  ');
    return `  ${position === 0 ? styleText('dim', line) : line}`;
  });
}

function getCells(trial: TuningTrialResult): string[] {
  const { play, sandboxes, episodesPerSecond, isEstimate, timesSingle, forwardShare, refusal } = trial;
  const rate = episodesPerSecond === null ? (refusal === null ? 'unknown' : 'refused') : formatRate(episodesPerSecond);
  return [
    playText(play),
    formatCount(sandboxes),
    `${isEstimate ? '~ ' : ''}${rate}`,
    timesSingle === null ? '–' : timesSingle.toFixed(1),
    forwardShare === null ? '–' : `${Math.round(100 * forwardShare)} %`,
  ];
}

function playText(play: PlayDeclaration): string {
  return play.mode === 'single' ? 'single' : `${play.mode} ${formatCount(play.width)}`;
}

function formatSandboxes(count: number): string {
  return count === 1 ? '1 sandbox' : `${formatCount(count)} sandboxes`;
}

/** Formats the setting in the form of a suite, without the parts that it may omit. */
function formatPlay(play: PlayDeclaration): string {
  return play.mode === 'single' ? 'single' : `{ mode: ${play.mode}, width: ${play.width} }`;
}
