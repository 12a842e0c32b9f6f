import type { TestResult } from '../evidence.ts';
import { splitLines, ReportProblem } from './report-problem.ts';

const HEADER = /^(?<method>\w+) \((?<place>[\w.]+)\)(?<rest>.*)$/;
const STATUSES = new Set(['ok', 'FAIL', 'ERROR', 'expected failure', 'unexpected success']);
const END = /^Ran \d+ tests? in /;

/**
 * Reads the output of `python -m unittest -v` on stderr. The id is `module.Class.method`. A test that writes to stderr itself breaks its line, and
 * then counts as missing.
 *
 * @throws ReportProblem when the final line of a run is missing.
 */
export function* readUnittestResults(text: string): Generator<TestResult> {
  let pending: string | undefined;
  let hasEnded = false;
  for (const line of splitLines(text)) {
    hasEnded ||= END.test(line);
    const header = HEADER.exec(line)?.groups;
    if (header !== undefined) pending = getId(header['method'] ?? '', header['place'] ?? '');
    const status = findStatus(line);
    if (status === undefined || pending === undefined) continue;
    yield { id: pending, status: parseStatus(status) };
    pending = undefined;
  }
  if (!hasEnded) throw new ReportProblem('it does not say "Ran … tests"; expected what unittest -v writes to stderr');
}

/**
 * Returns the text after the dots of a line: `test (place) ... ok`, or `Its description ... ok`. Uses no regular expression, which would take
 * quadratic time on a long line.
 */
function findStatus(line: string): string | undefined {
  const padded = ` ${line}`;
  const skipped = padded.indexOf(' ... skipped ');
  if (skipped !== -1) return 'skipped';
  const at = padded.lastIndexOf(' ... ');
  const status = padded.slice(at + ' ... '.length);
  return at !== -1 && STATUSES.has(status) ? status : undefined;
}

/** Python 3.11 and later name the method in parentheses, too. */
function getId(method: string, place: string): string {
  return place === method || place.endsWith(`.${method}`) ? place : `${place}.${method}`;
}

function parseStatus(text: string): TestResult['status'] {
  switch (text) {
    case 'ok':
      return 'passed';
    case 'FAIL':
      return 'failed';
    case 'ERROR':
      return 'error';
    case 'expected failure':
      return 'xfailed';
    case 'unexpected success':
      return 'xpassed';
    default:
      return 'skipped';
  }
}
