import { z } from 'zod';
import { arenaRulesSchema } from './arena-rules.ts';
import { relativePath } from './relative-path.ts';

/**
 * `muster.toml`: what Harbor has no key for. It is beside `task.toml`, and in a step's directory for that step. Unlike Harbor's file it is strict,
 * because a misspelt key would silently change a verdict.
 */
const command = z.array(z.string().min(1).max(4096)).min(1).max(256).describe('the program and its arguments; no shell reads them');
const seconds = z.number().positive('expected more than 0 seconds').max(86_400);
const DEFAULT_CASE_SECONDS = 10;
const DEFAULT_OUTPUT_BYTES = 16 * 1024 * 1024;

const workspaceSchema = z.strictObject({
  root: z
    .enum(['host', 'image', 'dockerfile'])
    .optional()
    .describe("the root file system; by default the task's image or Dockerfile, and the host's where it has neither"),
  workdir: z
    .string()
    .startsWith('/', 'expected an absolute path')
    .optional()
    .describe('where the agent works; by default as the Dockerfile says, or /app'),
});

const compileSchema = z
  .strictObject({ command, seconds: seconds.default(120).describe('time limit, by the wall clock') })
  .describe('builds the submission before anything runs, in its own sandbox; when it fails the reward is 0');

const casesSchema = z
  .strictObject({
    kind: z.literal('cases'),
    command: command.describe('the candidate, in the workdir, a process for each case'),
    driver: relativePath.optional().describe("directory in tests/ that the candidate's process sees read-only at /driver; it is no secret"),
    stored: relativePath.optional().describe('file in tests/ with a case on each line, as JSON'),
    visible: z.int().min(0).default(0).describe('how many of the stored cases, from the first on, the agent is shown'),
    generator: z
      .strictObject({
        command,
        cases: z.int().min(1).max(10_000).describe('how many cases it draws'),
        seconds: seconds.default(60).describe('time limit, by the wall clock'),
      })
      .optional()
      .describe('draws hidden cases: it gets MUSTER_SEED and MUSTER_CASES, sees /tests, and writes a case on each line, as JSON'),
    repeated: z.int().min(0).max(100).default(1).describe('how many cases, drawn at random, are run a second time'),
    output: z
      .union([z.literal('stdout'), relativePath])
      .default('stdout')
      .describe('what is compared: stdout, or a file that the candidate writes in its working directory'),
    outputBytes: z
      .int()
      .min(1)
      .max(256 * 1024 * 1024)
      .default(DEFAULT_OUTPUT_BYTES)
      .describe('most bytes of the output of one case'),
    seconds: seconds
      .default(DEFAULT_CASE_SECONDS)
      .describe('time limit of one case, by the wall clock without what it waits for a processor'),
  })
  .describe('the candidate runs on inputs, and its outputs are compared with the golden model');

export const RUNNER_KINDS = ['pytest', 'unittest', 'go', 'cargo', 'vitest', 'jest', 'ctest', 'junit'] as const;
const testId = z.string().min(1).max(2048);
const testIds = z.union([z.array(testId).max(100_000), relativePath]).describe('test ids, or a file in tests/ with a JSON list of them');

const tripwireSchema = z
  .strictObject({
    id: testId.describe('the test that must fail'),
    file: relativePath.describe('its file in tests/'),
    changed: z.string().min(1).describe('the literal as the tripwire has it'),
    literal: z.string().min(1).describe('the literal with which it passes'),
  })
  .refine(({ changed, literal }) => changed !== literal, 'expected "changed" to differ from "literal"');

const suiteSchema = z
  .strictObject({
    kind: z.literal('suite'),
    runner: z.enum(RUNNER_KINDS).describe('which program runs the tests; it decides how its report is read'),
    command: command.describe(
      'runs the tests, in the workdir; {report} stands for the file that the runner writes, {seed} for a number that orders the tests, {tests} for the ids of all tests in the order in which they are to run',
    ),
    overlay: relativePath.optional().describe('directory in tests/ whose files are laid over the workdir, after those of the submission'),
    failToPass: testIds.describe('tests that fail before and must pass'),
    passToPass: testIds.default([]).describe('tests that pass before and must continue to pass'),
    boundary: z
      .enum(['process', 'shared'])
      .default('process')
      .describe('process: the tests see the candidate through a proxy; shared: they import it, run twice, with tripwires among them'),
    modules: z.array(z.string().min(1)).max(100).default([]).describe("the candidate's modules, for boundary process"),
    classes: z
      .array(z.string().min(3))
      .max(1000)
      .default([])
      .describe(
        "the candidate's classes, as MODULE.CLASS, whose objects the tests use, for boundary process; of all others only plain data passes",
      ),
    tripwires: z.array(tripwireSchema).max(64).default([]).describe('tests that must fail; a run in which one passes does not count'),
    seconds: seconds.default(600).describe('time limit of one run of the suite, by the wall clock'),
  })
  .describe('a test suite whose ids are pinned');

const goldenSchema = z
  .strictObject({ command, seconds: seconds.default(60).describe('time limit of one case, by the wall clock') })
  .describe('the trusted reference: runs on the same inputs, sees /tests, and has ended before the candidate begins');

export const DTYPES = ['float64', 'float32', 'float16', 'int64', 'int32', 'uint8'] as const;
export const CANONICAL_FORMS = ['lines', 'sorted-lines', 'tokens', 'json'] as const;
const tolerance = z.number().min(0).max(1e300);

export const compareSchema = z
  .discriminatedUnion('mode', [
    z.strictObject({ mode: z.literal('bytes') }),
    z.strictObject({
      mode: z.literal('numbers'),
      encoding: z.enum(['text', 'json', 'raw']).default('text').describe('text: separated by white space; raw: little-endian'),
      dtype: z.enum(DTYPES).default('float64').describe('type of each number'),
      shape: z.array(z.int().min(0)).max(8).optional().describe("as many numbers as the golden model's output has, when left out"),
      tolerance: z
        .strictObject({
          absolute: tolerance.default(0).describe('the part that is the same for each number'),
          relative: tolerance.default(0).describe('the part that is a share of the expected number'),
        })
        .prefault({})
        .describe('allowed difference: absolute + relative × |expected|'),
    }),
    z.strictObject({
      mode: z.literal('canonical'),
      form: z.enum(CANONICAL_FORMS).describe('what is compared: lines, lines in any order, words between white space, or JSON values'),
    }),
  ])
  .describe("how an output is compared with the golden model's");

export const BOUNDED_MEASURES = [
  'wallSeconds',
  'processorSeconds',
  'peakBytes',
  'instructions',
  'sourceBytes',
  'binaryBytes',
  'registers',
  'sharedMemoryBytes',
] as const;
export const FORBIDDING_MEASURES = ['imports', 'symbols', 'systemCalls'] as const;

export const constraintSchema = z
  .discriminatedUnion('measure', [
    z.strictObject({
      measure: z.enum(BOUNDED_MEASURES).describe('the figure that has an upper bound'),
      most: z.number().min(0).describe('the largest value that is allowed, over all cases'),
      of: relativePath.optional().describe('file of the submission, for sizes; all source files, when left out'),
    }),
    z.strictObject({
      measure: z.enum(FORBIDDING_MEASURES).describe('what the submission may not use'),
      forbidden: z.array(z.string().min(1).max(256)).min(1).max(1000).describe('forbidden names'),
      of: relativePath.optional().describe('file of the submission; all source files, when left out'),
    }),
  ])
  .describe('a bound on a measured figure; one that is violated makes the reward 0');

const ratioRange = {
  r0: z.number().positive().describe('a ratio golden ÷ candidate of this scores 0'),
  r1: z.number().positive().describe('a ratio of this scores 1'),
};
const isAscending = ({ r0, r1 }: { readonly r0: number; readonly r1: number }): boolean => r0 < r1;
const ASCENDING = 'expected r0 < r1';

const weight = z.number().min(0).max(1);
export const scoreSchema = z
  .strictObject({
    correctness: z.enum(['all', 'share']).default('all').describe('all: every case must pass; share: the share of cases that pass'),
    weights: z
      .strictObject({
        correctness: weight.default(0).describe('weight of correctness'),
        speed: weight.default(0).describe('weight of speed'),
        efficiency: weight.default(0).describe('weight of efficiency'),
      })
      .default({ correctness: 1, speed: 0, efficiency: 0 })
      .describe('weights of the terms; they add up to 1'),
    speed: z
      .strictObject({
        ...ratioRange,
        halfWidth: z.number().positive().max(0.5).default(0.05).describe('of the interval of the score: how certain it has to be'),
        pairs: z.int().min(3).max(1000).default(30).describe('measurements of golden model and candidate in turns, at most'),
      })
      .refine(isAscending, ASCENDING)
      .optional()
      .describe('how a ratio of wall-clock times becomes a score'),
    efficiency: z
      .strictObject({ ...ratioRange, measure: z.enum(['instructions', 'peakBytes']).describe('the figure whose ratio counts') })
      .refine(isAscending, ASCENDING)
      .optional()
      .describe('how a ratio of instructions or of memory becomes a score'),
  })
  .describe('how the reward comes from correctness, speed and efficiency; the weights add up to 1');

export const executeSchema = z
  .discriminatedUnion('kind', [casesSchema, suiteSchema])
  .describe('how a submission is executed: on cases, or by a test suite');

export const musterTaskSchema = z
  .strictObject({
    version: z.literal(1).default(1),
    workspace: workspaceSchema.prefault({}).describe('where the agent works'),
    compile: compileSchema.optional(),
    execute: executeSchema.optional(),
    golden: goldenSchema.optional(),
    compare: compareSchema.default({ mode: 'bytes' }),
    constraints: z.array(constraintSchema).max(100).default([]).describe('bounds that a submission must keep'),
    score: scoreSchema.prefault({}),
    arena: arenaRulesSchema.prefault({}),
  })
  .describe('muster.toml: stages, golden model, constraints and weights of a task');

export type MusterTask = z.infer<typeof musterTaskSchema>;
export type CompileStage = z.infer<typeof compileSchema>;
export type CasesStage = z.infer<typeof casesSchema>;
export type SuiteStage = Omit<z.infer<typeof suiteSchema>, 'failToPass' | 'passToPass'> & {
  readonly failToPass: readonly string[];
  readonly passToPass: readonly string[];
  /** Files in tests/ from which the ids were read. The test runner does not see them: they distinguish tests from tripwires. */
  readonly lists: readonly string[];
};
export type RunnerKind = (typeof RUNNER_KINDS)[number];
export type Tripwire = z.infer<typeof tripwireSchema>;
export type GoldenModel = z.infer<typeof goldenSchema>;
export type CompareMode = z.infer<typeof compareSchema>;
export type Constraint = z.infer<typeof constraintSchema>;
export type Measure = Constraint['measure'];
export type ScoreTerms = z.infer<typeof scoreSchema>;
