import { z } from 'zod';
import { soundnessSchema } from '../grading/soundness.ts';
import { PREPARATION_STEPS } from './source/steps.ts';
import { WAVERING_CAUSES } from './steadiness.ts';

const seconds = z.number().min(0);
const ids = z.array(z.string());
const waveringSchema = z.strictObject({
  id: z.string(),
  cause: z.enum(WAVERING_CAUSES),
  figure: z.string(),
  failures: z.int().min(0),
  runs: z.int().min(1),
});

/** The findings about a candidate, as far as it came. */
const evidenceSchema = z.strictObject({
  language: z.string().optional(),
  framework: z.strictObject({ name: z.string(), evidence: z.string().describe('the file that names it') }).optional(),
  dependencies: ids.optional().describe('as they were installed, with their versions'),
  testSeconds: seconds.optional().describe('of a run of the tests with the fix'),
  failToPass: ids.optional(),
  passToPass: z.int().min(0).optional().describe('how many'),
  needNetwork: ids.optional().describe('tests whose failure says that they wanted a network or a service'),
  wavering: z.array(waveringSchema).optional().describe('tests that did not come out the same each time'),
  repeatedRuns: z.int().min(0).optional().describe('how often each test was run again, at least'),
  leaks: ids.optional().describe('where the fix was found, and what was done about it'),
  instruction: z
    .strictObject({
      source: z.enum(['commit', 'issue', 'mutation', 'model']).describe('issue: with the text of an issue that the message names'),
      issues: z.array(z.int().min(1)).optional().describe('numbers of the issues that were found'),
      leftOut: ids.describe('lines that named a test or held the fix'),
    })
    .optional(),
  tripwires: z.int().min(0).optional(),
  soundness: soundnessSchema.optional(),
});

const candidateSchema = z.strictObject({
  id: z.string(),
  kind: z.enum(['fix', 'mutation']),
  title: z.string(),
  refusal: z.strictObject({ step: z.enum(PREPARATION_STEPS), reason: z.string() }).nullable(),
  void: z.string().nullable().describe('why nothing is known of it: the infrastructure failed each time. The same command tries it again'),
  task: z.strictObject({ directory: z.string(), id: z.string(), digest: z.string() }).nullable(),
  evidence: evidenceSchema,
});

/** The findings of `muster prepare`, candidate by candidate. */
export const preparationSchema = z.strictObject({
  repository: z.string(),
  head: z.string().nullable().describe('commit; null where the repository has no history'),
  licence: z.string().nullable(),
  notices: z.array(z.string()),
  refusedBy: z.record(z.string(), z.int().min(1)).describe('how many candidates each step refused'),
  seconds,
  proof: z
    .array(
      z.strictObject({
        agent: z.enum(['oracle', 'nop']),
        episodes: z.int().min(0),
        mean: z.number().nullable().describe('null: the infrastructure failed'),
        isAsExpected: z.boolean().describe('1 for oracle, 0 for nop, in every episode'),
      }),
    )
    .describe('what agents scored in the suite of the tasks; empty where there are none'),
  candidates: z.array(candidateSchema),
});

export type Preparation = z.infer<typeof preparationSchema>;
export type ProofOfTasks = Preparation['proof'];
export type PreparedCandidate = z.infer<typeof candidateSchema>;
export type CandidateEvidence = z.infer<typeof evidenceSchema>;

export function countRefusals(candidates: readonly PreparedCandidate[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const step of PREPARATION_STEPS) {
    const count = candidates.filter(({ refusal }) => refusal?.step === step).length;
    if (count > 0) counts[step] = count;
  }
  return counts;
}
