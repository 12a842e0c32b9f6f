import { z } from 'zod';
import { evidenceSchema } from './evidence.ts';

const STAGES = ['submission', 'compile', 'execute', 'compare', 'constraints', 'score'] as const;

const componentSchema = z.strictObject({
  name: z.enum(['correctness', 'speed', 'efficiency']),
  weight: z.number().min(0).max(1),
  score: z.number().min(0).max(1).nullable().describe('null when it was not measured, because the submission is not correct'),
});

const stageSchema = z.strictObject({
  stage: z.enum(STAGES),
  outcome: z.enum(['passed', 'failed', 'infrastructure', 'not-run']),
  detail: z.string().describe('one sentence for people; empty when it passed'),
});

/** The verifier's result for a submission. */
export const verdictSchema = z
  .strictObject({
    reward: z.number().min(0).max(1).nullable().describe('null: the infrastructure or the verifier failed, never the submission'),
    problem: z
      .strictObject({ kind: z.enum(['infrastructure', 'verifier']), detail: z.string() })
      .nullable()
      .describe('why there is no reward: infrastructure may be tried again, a broken verifier has to be corrected'),
    gate: z.union([z.literal(0), z.literal(1)]).describe('0 closes it: the reward is 0, whatever the components are'),
    components: z.array(componentSchema).max(3),
    stages: z.array(stageSchema).max(STAGES.length),
    evidence: z.array(evidenceSchema),
    verifierDigest: z.string().describe('of the stages, the tests and the version of the code that judged'),
  })
  .describe('verdict of Muster');

export type Verdict = z.infer<typeof verdictSchema>;
export type VerdictComponent = z.infer<typeof componentSchema>;
export type StageOutcome = z.infer<typeof stageSchema>;

/** Version of the grading code, increased when it changes the verdict for the same evidence. */
export const VERIFIER_VERSION = 2;

/** Keys whose values are measured and differ from run to run. */
const FIGURES = ['seconds', 'cpuSeconds', 'peakBytes', 'ratio', 'low', 'high', 'pairs', 'turns', 'value', 'golden', 'candidate'];
/** Includes text for people that is not compared: of compilers, scripts and test runners, and the error output of runs. It may hold measured times. */
const MEASURED = new Set([...FIGURES, 'output', 'errors']);

/** Removes the measurements: two verdicts on one submission with one seed then have the same bytes. */
export function omitMeasurements(verdict: Verdict): unknown {
  // The sentence about a violated constraint names the measured figure.
  const stages = verdict.stages.map((each) => (each.stage === 'constraints' ? { ...each, detail: '' } : each));
  return JSON.parse(JSON.stringify({ ...verdict, stages }, (key, value: unknown) => (MEASURED.has(key) ? undefined : value)));
}
