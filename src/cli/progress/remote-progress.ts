import { styleText } from 'node:util';
import type { UploadProgress } from '../../faces/client/uploads.ts';
import type { RunningFigures } from '../../service/orders/running-figures.ts';
import { formatBytes, formatCount, formatDuration, formatFigure, formatRate } from '../../kernel/text/figures.ts';
import { escapeUnprintableLine } from '../../kernel/text/printable.ts';
import type { ProgressView } from './progress-display.ts';
import { drawBar } from './progress-lines.ts';

export interface ShownUpload extends UploadProgress {
  /** Seconds since the upload began. */
  readonly seconds: number;
}

export function createUploadView(path: string): ProgressView<ShownUpload> {
  const formatLine = ({ phase, bytes, allBytes, seconds }: ShownUpload): string => {
    const rate = seconds > 0 ? ` · ${formatBytes(bytes / seconds)}/s` : '';
    return `${phase} ${escapeUnprintableLine(path)}: ${formatBytes(bytes)} of ${formatBytes(allBytes)}${rate}`;
  };
  return { lines: (upload) => [formatLine(upload), drawBar(upload.allBytes === 0 ? 1 : upload.bytes / upload.allBytes)], line: formatLine };
}

export function createFiguresView(title: string): ProgressView<RunningFigures> {
  const name = escapeUnprintableLine(title);
  return {
    lines: (figures) => [styleText('bold', name), `${drawBar(computeShare(figures))} ${formatEpisodes(figures)}`, formatAnswer(figures)],
    line: (figures) => `${name}: ${formatEpisodes(figures)}; ${formatAnswer(figures)}`,
  };
}

function computeShare({ episodes, secondsLeft, episodesPerSecond }: RunningFigures): number {
  const left = secondsLeft === null ? Infinity : secondsLeft * episodesPerSecond;
  return episodes === 0 ? 0 : episodes / (episodes + left);
}

function formatEpisodes({ episodes, episodesPerSecond, seconds, secondsLeft }: RunningFigures): string {
  const rate = episodesPerSecond > 0 ? ` · ${formatRate(episodesPerSecond)}/s` : '';
  const time = secondsLeft === null ? `${formatDuration(seconds)} so far` : `${formatDuration(secondsLeft)} left`;
  return `${formatCount(episodes)} episodes${rate} · ${time}`;
}

/** Formats the answer so far. */
export function formatAnswer(figures: RunningFigures): string {
  switch (figures.kind) {
    case 'comparison': {
      const decided = figures.candidates.filter(({ verdict }) => verdict !== null).length;
      return `${decided} of ${figures.candidates.length} decided`;
    }
    case 'evaluation': {
      const { mean, halfWidth, target } = figures;
      if (mean === null) return 'waiting for the first episode';
      const spread = halfWidth ?? Math.abs(mean);
      const width = halfWidth === null ? '' : ` ± ${formatFigure(halfWidth, spread)}`;
      const aim = target === null ? '' : ` (target ± ${formatFigure(target, Math.min(target, spread))})`;
      return `mean ${formatFigure(mean, spread)}${width}${aim}`;
    }
  }
}
