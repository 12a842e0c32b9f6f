import { z } from 'zod';
import { JsonProblem, parseJson } from '../../../kernel/json-bounds.ts';
import type { TestResult } from '../evidence.ts';
import { ReportProblem } from './report-problem.ts';

const reportSchema = z.object({
  testResults: z.array(
    z.object({
      name: z.string().describe('the file'),
      status: z.string().optional(),
      assertionResults: z.array(z.object({ ancestorTitles: z.array(z.string()).default([]), title: z.string(), status: z.string() })),
    }),
  ),
});
const BOUNDS = { bytes: 64 * 1024 * 1024, depth: 32, values: 4_000_000 };

/**
 * Reads the output of jest's JSON reporter, which vitest has as well. The id is `FILE > describe > title`. A file that fails as a whole is a result
 * of its own, which no task pins.
 *
 * @throws ReportProblem
 */
export function* readJestResults(text: string, workdir: string): Generator<TestResult> {
  for (const { name, status, assertionResults } of parseReport(text).testResults) {
    const file = name.startsWith(`${workdir}/`) ? name.slice(workdir.length + 1) : name;
    if (status === 'failed' && assertionResults.every((result) => result.status !== 'failed')) yield { id: file, status: 'error' };
    for (const { ancestorTitles, title, status: outcome } of assertionResults)
      yield { id: [file, ...ancestorTitles, title].join(' > '), status: parseStatus(outcome) };
  }
}

function parseReport(text: string): z.infer<typeof reportSchema> {
  try {
    const { data } = reportSchema.safeParse(parseJson(Buffer.from(text, 'utf8'), BOUNDS));
    if (data !== undefined) return data;
  } catch (error) {
    if (!(error instanceof JsonProblem)) throw error;
    throw new ReportProblem(error.message, { cause: error });
  }
  throw new ReportProblem('it has no testResults; expected what the JSON reporter of jest or vitest writes');
}

function parseStatus(status: string): TestResult['status'] {
  if (status === 'passed') return 'passed';
  return status === 'failed' ? 'failed' : 'skipped';
}
