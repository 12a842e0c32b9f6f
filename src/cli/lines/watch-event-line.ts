import { escapeUnprintableLine } from '../../kernel/text/printable.ts';
import { ALL_FAILED } from '../../orchestrator/run/run-failed-error.ts';
import type { WatchEvent } from '../../service/watching/watch-event.ts';
import type { Score, Standing } from '../../service/watching/watch-record.ts';

export function watchEventLine(event: WatchEvent): string {
  const name = escapeUnprintableLine(event.name);
  switch (event.event) {
    case 'evaluated':
      return `${name}: ${formatFigures(event.score)}, ${formatStanding(event.standing, event.best)}`;
    case 'skipped':
      return `${name}: skipped, a newer one is complete`;
    case 'cancelled':
      return `${name}: given up, ${escapeUnprintableLine(event.by)} is complete`;
    case 'refused':
      return `${name}: ${event.code === ALL_FAILED.evaluation ? 'no answer' : 'cannot be played'}: ${escapeUnprintableLine(event.message)}`;
    case 'troubled':
      return `${name}: will be tried again: ${escapeUnprintableLine(event.message)}`;
  }
}

function formatFigures({ mean, interval, episodes }: Score): string {
  const within = interval === null ? '' : ` (${interval.low.toPrecision(5)} to ${interval.high.toPrecision(5)})`;
  return `${mean === null ? 'no mean' : `mean ${mean.toPrecision(5)}`}${within} of ${episodes} episodes`;
}

function formatStanding(standing: Standing, best: Score): string {
  switch (standing) {
    case 'first':
      return 'the first';
    case 'better':
      return 'the best so far';
    case 'worse':
      return `worse than ${escapeUnprintableLine(best.name)}`;
    case 'undecided':
      return `not distinguishable from the best, ${escapeUnprintableLine(best.name)}`;
  }
}
