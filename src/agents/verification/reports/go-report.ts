import { z } from 'zod';
import { tryParseJson } from '../../../kernel/json-bounds.ts';
import type { TestResult } from '../evidence.ts';
import { splitLines, ReportProblem } from './report-problem.ts';

const eventSchema = z.object({ Action: z.string(), Package: z.string().optional(), Test: z.string().optional() });
const STATUS: ReadonlyMap<string, TestResult['status']> = new Map([
  ['pass', 'passed'],
  ['fail', 'failed'],
  ['skip', 'skipped'],
]);

/**
 * Reads the output of `go test -json` on stdout. The id is `PACKAGE::Test/subtest`; a failing package is a result of its own, which no task pins,
 * because a package can fail although each of its tests passed.
 *
 * @throws ReportProblem when a line is no event, or a package did not finish.
 */
export function* readGoResults(text: string): Generator<TestResult> {
  const running = new Set<string>();
  const explained = new Set<string>();
  let events = 0;
  for (const line of splitLines(text)) {
    if (line === '') continue;
    const { data: event } = eventSchema.safeParse(tryParseJson(line));
    if (event === undefined) throw new ReportProblem(`a line is no event of go test -json: ${JSON.stringify(line.slice(0, 80))}`);
    events += 1;
    const { Action: action, Package: name = '', Test: test } = event;
    const status = STATUS.get(action);
    if (status === undefined || test === undefined) {
      if (action === 'start' || action === 'run') running.add(name);
      if (status === undefined) continue;
      running.delete(name);
      if (status === 'failed' && !explained.has(name)) yield { id: name, status };
    } else {
      if (status === 'failed') explained.add(name);
      yield { id: `${name}::${test}`, status };
    }
  }
  if (events === 0) throw new ReportProblem('it is empty; expected what go test -json writes to stdout');
  const [unended] = running;
  if (unended !== undefined) throw new ReportProblem(`the package ${unended} did not come to its end`);
}
