import { z } from 'zod';
import { BOUNDED_MEASURES, FORBIDDING_MEASURES } from '../tasks/muster-schema.ts';

/**
 * The results of a stage, as values. They are stored with the verdict, which follows from them alone: equal evidence gives an equal verdict. Texts of
 * the candidate are shortened before they get here. Only fields called `seconds`, `cpuSeconds` and `peakBytes`, and measurements of speed, differ
 * between runs.
 */
const text = z.string().max(64 * 1024);
const name = z.string().max(2048);
const seconds = z.number().min(0).describe('measured, outside of the sandbox');
const cpuSeconds = z
  .number()
  .min(0)
  .optional()
  .describe('processor time of all its processes, measured outside of the sandbox; left out in earlier verdicts');
const count = z.int().min(0);

/** How a process of the candidate ended. */
export const endingSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('exited'), code: z.int() }),
  z.strictObject({ kind: z.literal('signal'), signal: z.string().max(32) }),
  z.strictObject({ kind: z.literal('timeout') }),
  z.strictObject({ kind: z.literal('out-of-memory') }),
  z.strictObject({ kind: z.literal('output-too-large') }),
  z.strictObject({ kind: z.literal('no-output'), detail: text.describe('the file that should hold it is missing, a link, a device') }),
]);

const submissionEvidence = z
  .strictObject({
    stage: z.literal('submission'),
    problem: text.nullable().describe('an artifact that is missing, too large, a link, a device; null when it was accepted'),
    files: count,
    bytes: count,
  })
  .describe('what was exported');

const compileEvidence = z.strictObject({ stage: z.literal('compile'), ending: endingSchema, output: text, seconds });

const runSchema = z.strictObject({
  ending: endingSchema,
  outputDigest: name,
  outputBytes: count,
  errors: text,
  seconds,
  cpuSeconds,
  peakBytes: count.nullable(),
});

const casesEvidence = z.strictObject({
  stage: z.literal('execute'),
  kind: z.literal('cases'),
  seed: name.describe('of the drawn cases and of which cases are repeated: the verdict can be taken again with it'),
  cases: z
    .array(
      z.strictObject({
        name,
        isVisible: z.boolean().describe('whether the agent was shown this case'),
        inputDigest: name,
        runs: z.array(runSchema).min(1).max(2).describe('more than one where it was repeated'),
      }),
    )
    .max(20_000),
});

export const testResultSchema = z.strictObject({
  id: name,
  status: z.enum(['passed', 'failed', 'error', 'skipped', 'xfailed', 'xpassed']),
});

const suiteEvidence = z.strictObject({
  stage: z.literal('execute'),
  kind: z.literal('suite'),
  runs: z
    .array(
      z.strictObject({
        order: z.enum(['listed', 'shuffled']),
        ending: endingSchema,
        results: z.array(testResultSchema).max(100_000),
        problem: text.nullable().describe('why the report could not be read'),
        output: text,
        seconds,
        cpuSeconds,
      }),
    )
    .min(1)
    .max(2),
});

const scriptEvidence = z.strictObject({
  stage: z.literal('execute'),
  kind: z.literal('script'),
  ending: endingSchema,
  rewardJson: text.nullable().describe('reward.json as the script left it'),
  rewardText: text.nullable().describe('reward.txt as the script left it'),
  output: text,
  seconds,
  cpuSeconds,
});

const compareEvidence = z.strictObject({
  stage: z.literal('compare'),
  cases: z
    .array(
      z.strictObject({
        name,
        run: count,
        isEqual: z.boolean(),
        difference: text.nullable(),
        outputs: z
          .strictObject({ expected: text, got: text })
          .optional()
          .describe('both from a little before where they begin to differ, of the first cases that do'),
      }),
    )
    .max(20_000)
    .describe('of every run that ended with an output'),
});

const reason = text.describe('why there is nothing to measure');

const constraintsEvidence = z.strictObject({
  stage: z.literal('constraints'),
  measured: z
    .array(
      z.discriminatedUnion('measure', [
        z.strictObject({ measure: z.enum(BOUNDED_MEASURES), of: name.nullable(), value: z.number().nullable(), reason: reason.optional() }),
        z.strictObject({
          measure: z.enum(FORBIDDING_MEASURES),
          of: name.nullable(),
          found: z.array(name).max(1000).nullable(),
          reason: reason.optional(),
        }),
      ]),
    )
    .max(100)
    .describe('in the order of the constraints; null where the submission has nothing to measure'),
});

const wrong = text.nullable().describe('what was wrong with an output of the candidate while it was measured; null when all were right');

const speedEvidence = z.strictObject({
  stage: z.literal('score'),
  kind: z.literal('speed'),
  ratio: z.number().min(0).describe('golden ÷ candidate: the geometric mean of the turns'),
  low: z.number().min(0).describe('of the interval of the ratio, at 95 %'),
  high: z.number().min(0),
  pairs: count,
  turns: z
    .array(z.strictObject({ name, golden: seconds, candidate: seconds }))
    .max(1000)
    .describe('a case on which both were measured, in seconds by the clock outside'),
  wrong,
});

const efficiencyEvidence = z.strictObject({
  stage: z.literal('score'),
  kind: z.literal('efficiency'),
  measure: z.enum(['instructions', 'peakBytes']),
  golden: z.number().min(0).describe('over all cases: the sum of the instructions, the largest memory'),
  candidate: z.number().min(0),
  wrong,
});

const failureEvidence = z
  .strictObject({
    stage: z.enum(['submission', 'compile', 'execute', 'compare', 'constraints', 'score']),
    kind: z.literal('infrastructure'),
    reason: text,
  })
  .describe('the stage could not be carried out, through no fault of the submission');

export const evidenceSchema = z.union([
  failureEvidence,
  submissionEvidence,
  compileEvidence,
  casesEvidence,
  suiteEvidence,
  scriptEvidence,
  compareEvidence,
  constraintsEvidence,
  speedEvidence,
  efficiencyEvidence,
]);

export type Evidence = z.infer<typeof evidenceSchema>;
export type EvidenceStage = Evidence['stage'];
export type Ending = z.infer<typeof endingSchema>;
export type TestResult = z.infer<typeof testResultSchema>;
export type SubmissionEvidence = z.infer<typeof submissionEvidence>;
export type CompileEvidence = z.infer<typeof compileEvidence>;
export type CasesEvidence = z.infer<typeof casesEvidence>;
export type SuiteEvidence = z.infer<typeof suiteEvidence>;
export type ScriptEvidence = z.infer<typeof scriptEvidence>;
export type CompareEvidence = z.infer<typeof compareEvidence>;
export type ConstraintsEvidence = z.infer<typeof constraintsEvidence>;
export type SpeedEvidence = z.infer<typeof speedEvidence>;
export type EfficiencyEvidence = z.infer<typeof efficiencyEvidence>;
export type InfrastructureEvidence = z.infer<typeof failureEvidence>;

/** The most of a text of the candidate that evidence holds, in characters. */
export const EVIDENCE_TEXT = 64 * 1024;
