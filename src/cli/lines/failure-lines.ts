import { styleText } from 'node:util';
import { countFailed } from '../../aggregation/folding/failure-counts.ts';
import type { Summary } from '../../orchestrator/results/summary.ts';
import { formatCount } from '../../kernel/text/figures.ts';
import { escapeUnprintable, escapeUnprintableLine } from '../../kernel/text/printable.ts';
import type { Row } from './table-lines.ts';

type RunError = NonNullable<Summary['run']['errors']>[number];

/** The largest number of errors on a terminal, and of lines of each; the summary has them in full. */
const MOST_ERRORS = 3;
const MOST_LINES = 12;

/** Formats how many episodes failed, of how many with a score, and why. There are no rows when none failed. */
export function formatFailedRows(name: string, failures: Summary['official']['failures'], resolved: number): Row[] {
  const failed = countFailed(failures);
  if (failed === 0) return [];
  const causes = Object.entries(failures).filter(([, count]) => count > 0);
  const share = `${((100 * failed) / resolved).toFixed(1)} %`;
  const counts = causes.map(([cause, count]) => `${formatCount(count)} ${cause}`).join(' · ');
  return [[name, `${formatCount(failed)} of ${formatCount(resolved)} (${share}): ${counts}`]];
}

/** Formats the first distinct errors with their tracebacks. @param isShownElsewhere the error that ended it is shown in full elsewhere. */
export function formatErrors({ errors = [], otherErrors = 0 }: Summary['run'], isShownElsewhere: boolean): string[] {
  const shown = errors.slice(0, MOST_ERRORS);
  const others = errors.slice(MOST_ERRORS).reduce((sum, { episodes }) => sum + episodes, otherErrors);
  const rest = others === 0 ? [] : [`  ${styleText('red', '✗')} ${formatCount(others)} more failed with other errors`];
  return [...shown.flatMap((error) => formatRunError(error, isShownElsewhere)), ...rest];
}

function formatRunError({ cause, episodes, firstIndex, detail }: RunError, isShownElsewhere: boolean): string[] {
  const where = episodes === 1 ? `episode ${firstIndex}` : `${formatCount(episodes)} episodes, first in episode ${firstIndex}`;
  const [first = '', ...rest] = detail.split('\n');
  const kept = isShownElsewhere ? [] : rest.slice(0, MOST_LINES - 1);
  const cut = !isShownElsewhere && rest.length > kept.length ? ['…'] : [];
  return [
    `  ${styleText('red', '✗')} ${cause} in ${where}${first === '' ? '' : `: ${escapeUnprintableLine(first)}`}`,
    ...[...kept, ...cut].map((line) => styleText('dim', `      ${escapeUnprintable(line)}`)),
  ];
}
