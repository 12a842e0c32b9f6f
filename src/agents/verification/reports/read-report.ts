import type { RunnerKind } from '../../tasks/muster-schema.ts';
import type { TestResult } from '../evidence.ts';
import { readCargoResults } from './cargo-report.ts';
import { readGoResults } from './go-report.ts';
import { readJestResults } from './jest-report.ts';
import { readJunitResults } from './junit-report.ts';
import { ReportProblem } from './report-problem.ts';
import { readUnittestResults } from './unittest-report.ts';
import { formatExactBytes } from '../../../kernel/text/figures.ts';

/** The largest report in bytes, far larger than that of any repository's tests. */
const MOST_BYTES = 64 * 1024 * 1024;
const MOST_RESULTS = 100_000;
const MOST_ID = 2048;

export type ReadReport =
  { readonly results: readonly TestResult[]; readonly problem: null } | { readonly results: readonly []; readonly problem: string };

/**
 * Reads the report of a test runner. Its text is as trustworthy as the process that wrote it; here it is bounded, and read in linear time. A
 * truncated or malformed report is a problem, never a shorter list of tests.
 *
 * @param workdir prefix that ids omit from absolute paths of test files.
 */
export function readReport(runner: RunnerKind, report: Uint8Array, workdir: string): ReadReport {
  try {
    if (report.length > MOST_BYTES)
      throw new ReportProblem(`it has ${formatExactBytes(report.length)}; at most ${formatExactBytes(MOST_BYTES)} are read`);
    const results: TestResult[] = [];
    for (const result of getResults(runner, Buffer.from(report).toString('utf8'), workdir)) {
      if (results.length === MOST_RESULTS) throw new ReportProblem(`it has more than ${MOST_RESULTS} tests`);
      if (result.id === '' || result.id.length > MOST_ID)
        throw new ReportProblem(`a test id has ${result.id.length} characters; expected 1 to ${MOST_ID}`);
      results.push(result);
    }
    return { results, problem: null };
  } catch (error) {
    if (error instanceof ReportProblem) return { results: [], problem: error.message };
    throw error;
  }
}

function getResults(runner: RunnerKind, text: string, workdir: string): Iterable<TestResult> {
  switch (runner) {
    case 'pytest':
    case 'ctest':
    case 'junit':
      return readJunitResults(text);
    case 'unittest':
      return readUnittestResults(text);
    case 'go':
      return readGoResults(text);
    case 'cargo':
      return readCargoResults(text);
    case 'vitest':
    case 'jest':
      return readJestResults(text, workdir);
  }
}
