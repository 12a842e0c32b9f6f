import type { TestResult } from '../evidence.ts';
import { splitLines, ReportProblem } from './report-problem.ts';

const RESULT = /^test (?<name>\S.*?)(?: - should panic)? \.\.\. (?<status>ok|FAILED|ignored)(?:, .*)?$/;
const BEGIN = /^running (?<count>\d{1,6}) tests?(?: \(shuffle seed: \d{1,20}\))?$/;
const END = /^test result: /;

/**
 * Reads the output of `cargo test` on stdout. The id is the test's path, `module::tests::name`; one that several binaries of a package share is
 * judged `doubled`.
 *
 * @throws ReportProblem when a binary did not finish, or none ran.
 */
export function* readCargoResults(text: string): Generator<TestResult> {
  let [begun, ended] = [0, 0];
  for (const line of splitLines(text)) {
    if (BEGIN.test(line)) begun += 1;
    else if (END.test(line)) ended += 1;
    // Lines longer than any id are skipped: the expression would look for the end from each of their characters.
    const match = line.length > 4096 ? undefined : RESULT.exec(line)?.groups;
    if (match !== undefined) yield { id: match['name'] ?? '', status: parseStatus(match['status']) };
  }
  if (begun === 0) throw new ReportProblem('it does not say "running … tests"; expected what cargo test writes to stdout');
  if (begun !== ended) throw new ReportProblem(`${begun} binaries began their tests and ${ended} ended them`);
}

function parseStatus(status: string | undefined): TestResult['status'] {
  if (status === 'ok') return 'passed';
  return status === 'ignored' ? 'skipped' : 'failed';
}
