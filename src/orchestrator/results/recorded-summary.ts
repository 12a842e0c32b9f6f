import { z } from 'zod';
import { InputError } from '../../kernel/errors.ts';
import { KnownSettings } from '../../kernel/documents/known-settings.ts';
import { formatProblemLine, listProblems } from '../../kernel/documents/problems.ts';
import { allocationSchema } from '../suite/suite.ts';
import type { SuiteDefinition } from '../suite/suite-definition.ts';
import { digestSchema } from './summary.ts';

/** What every reader of a stored summary needs. It ignores the rest, so that summaries of other versions are accepted. */
export const recordedSummarySchema = z.object({
  schema: z.literal('muster.summary/1'),
  official: z.object({
    suite: z.object({ digest: digestSchema }),
    checkpoint: z.object({ digest: digestSchema }),
    // Missing in summaries of versions that had only this allocation.
    allocation: allocationSchema.default('proportional'),
  }),
});

type RecordedSummary = z.infer<typeof recordedSummarySchema>;

/** How a reader refuses a stored document: a stable code, and what should have been given. */
export interface Refusal {
  readonly code: string;
  readonly remedy: string;
}

/** Refuses documents that are not as `--out` wrote them. */
export const NOT_KEPT: Refusal = {
  code: 'results.invalid',
  remedy: 'expected what "muster eval --out" writes; record the evaluation again',
};

/** @param where its file, and the line if it has several. @throws InputError that names every field that is wrong. */
export function parseRecord<Value>(schema: z.ZodType<Value>, value: unknown, where: string, { code, remedy }: Refusal): Value {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const known = new KnownSettings(schema);
  const problems = listProblems(parsed.error, value, known);
  // A document of another kind lacks many fields; only its kind matters.
  const ofKind = problems.filter(({ path }) => path.join('.') === 'schema');
  const lines = (ofKind.length > 0 ? ofKind : problems).map((problem) => formatProblemLine(where, problem));
  throw new InputError(code, `${lines.join('\n')}\n${remedy}`);
}

/** @throws InputError when it was played on another suite, whose episodes differ. */
export function assertPlayedOn(
  { digest }: Pick<SuiteDefinition, 'digest'>,
  { suite }: RecordedSummary['official'],
  summaryFile: string,
  { code, remedy }: Refusal,
): void {
  if (suite.digest === digest) return;
  throw new InputError(code, `${summaryFile}: the baseline was played on the suite ${suite.digest}, and this one is ${digest}; ${remedy}`);
}
