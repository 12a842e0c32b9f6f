import { z } from 'zod';
import { LARGEST_CONFIDENCE } from '../../aggregation/intervals/confidence.ts';
import { FAILURE_POLICIES } from '../../aggregation/folding/scoring.ts';
import { TEMPLATE_NAME, TEMPLATE_NAME_EXPECTED } from '../../pool/ports/template.ts';
import { playSchema } from './play.ts';

/**
 * What to evaluate, as a person writes it (YAML or JSON). The parsed form has every default filled in.
 * What decides an episode's outcome is named by the suite's digest; `name`, `description`, `allocation`, `success`, `stop`, `budget` and `template` are
 * not part of it.
 */

/** `gymnasium:CartPole-v1` makes a registered environment; `module:factory` calls a function from the suite's files. */
const entrySchema = z
  .string()
  .regex(/^[A-Za-z_][\w.]*:[\w./-]+$/, 'expected "gymnasium:ENVIRONMENT-ID" or "module:factory"')
  .describe('"gymnasium:CartPole-v1" for a registered environment, "module:factory" for one from the suite\'s files');

/** Anything that JSON can say. */
export const jsonValue = z.json();
const kwargsSchema = z.record(z.string(), jsonValue).default({}).describe('keyword arguments');

const wrapperSchema = z
  .strictObject({ entry: entrySchema, kwargs: kwargsSchema })
  .describe('applied in order, innermost first; for example gymnasium.wrappers:TimeLimit');

const environmentObjectSchema = z.strictObject({
  entry: entrySchema,
  kwargs: kwargsSchema,
  wrappers: z.array(wrapperSchema).max(32).default([]),
});

const environmentSchema = z
  .union([entrySchema.transform((entry) => ({ entry, kwargs: {}, wrappers: [] })), environmentObjectSchema])
  .describe('an environment: its entry alone, or entry, kwargs and wrappers');

const taskNameSchema = z.string().regex(/^[\w.-]{1,64}$/, 'expected 1 to 64 letters, digits, ".", "_" or "-"');

const taskSchema = z.strictObject({
  name: taskNameSchema,
  weight: z
    .number()
    .positive()
    .max(1e9)
    .default(1)
    .describe("this task's share of the mean, relative to the other weights; of the episodes too, unless allocation is adaptive"),
  environment: environmentSchema,
});

export const allocationSchema = z
  .enum(['proportional', 'adaptive'])
  .describe(
    'how episodes are shared out between tasks: in proportion to their weights, or more to tasks whose returns vary more, as earlier episodes showed',
  );

const halfWidth = z.number().positive().describe('in units of the return: the interval ends up at most this far to either side');
export const confidenceSchema = z
  .number()
  .gt(0.5)
  .max(LARGEST_CONFIDENCE, `expected at most ${LARGEST_CONFIDENCE}; a larger one cannot be distinguished from 1`);
const confidence = confidenceSchema.default(0.95).describe('probability that the interval holds the true mean');

export const stoppingSchema = z
  .discriminatedUnion('rule', [
    z.strictObject({
      rule: z.literal('fixed'),
      episodes: z.int().min(2).max(10_000_000),
      confidence,
    }),
    z.strictObject({ rule: z.literal('certified'), halfWidth, confidence }),
    z.strictObject({ rule: z.literal('approximate'), halfWidth, confidence }),
    z.strictObject({
      rule: z.literal('asymptotic'),
      halfWidth,
      confidence,
      tightestAt: z
        .int()
        .min(64)
        .max(10_000_000)
        .default(500)
        .describe('number of episodes at which the interval is tightest for what it is'),
    }),
  ])
  .describe(
    'when to stop: after a fixed number of episodes, or as soon as a certified, approximate or asymptotic interval is narrow enough',
  );

/** A rule in place of a suite's own, whose confidence it keeps unless it says another. */
export const stopOverrideSchema = z
  .discriminatedUnion('rule', [
    stoppingSchema.options[0].extend({ confidence: confidence.unwrap().optional() }),
    stoppingSchema.options[1].extend({ confidence: confidence.unwrap().optional() }),
    stoppingSchema.options[2].extend({ confidence: confidence.unwrap().optional() }),
    stoppingSchema.options[3].extend({ confidence: confidence.unwrap().optional() }),
  ])
  .describe("a stopping rule in place of the suite's own, whose confidence it keeps unless it says another");

const successSchema = z
  .strictObject({
    threshold: z.number().describe('an episode whose return is at least this succeeds'),
    k: z
      .array(z.int().min(1).max(100))
      .min(1)
      .max(16)
      .default([1])
      .transform((several) => [...new Set(several)].sort((a, b) => a - b))
      .describe('numbers of tries at one task for which to estimate pass@k and pass^k'),
  })
  .describe('which episodes succeed, for the success rate in the result');

const boundsSchema = z
  .tuple([z.number(), z.number()])
  .refine(([low, high]) => low < high, 'expected [lowest, highest] with lowest < highest')
  .describe('every return lies in [lowest, highest]; one that does not is a failed episode');

export const suiteSchema = z
  .strictObject({
    name: taskNameSchema,
    description: z.string().max(2000).optional(),
    files: z.string().min(1).optional().describe("directory with the suite's own Python modules, relative to the suite file"),
    environment: environmentSchema.optional().describe('short for a single task'),
    tasks: z.array(taskSchema).min(1).max(10_000).optional(),
    allocation: allocationSchema.default('proportional'),
    seed: z.int().min(0).default(0).describe('base seed: with the index, it decides every seed'),
    actions: z
      .enum(['deterministic', 'stochastic'])
      .default('deterministic')
      .describe("the policy's best action, or one drawn with a seeded generator"),
    reward: z.strictObject({ bounds: boundsSchema.optional() }).default({}),
    failureScores: z
      .strictObject({ timeout: z.number().optional(), crash: z.number().optional() })
      .default({})
      .describe('return that a failed episode counts as; the lower reward bound where there is one'),
    failures: z
      .enum(FAILURE_POLICIES)
      .default('unexpected')
      .describe(
        '"unexpected": an evaluation whose episodes all fail has no answer, and ends with their error; "scored": failing is an answer',
      ),
    episode: z
      .strictObject({ seconds: z.number().positive().max(86_400).default(60).describe('time limit for one episode, by the wall clock') })
      .prefault({}),
    play: playSchema.default({ mode: 'single' }),
    metrics: z
      .array(taskNameSchema)
      .max(64)
      .default([])
      .describe("numbers from the environment's last info to aggregate beside the return"),
    success: successSchema.optional(),
    stop: stoppingSchema,
    budget: z
      .strictObject({
        episodes: z.int().positive().optional(),
        seconds: z.number().positive().max(31_536_000).optional(),
        cost: z.number().positive().optional().describe("in the currency of the template's costPerSandboxHour"),
      })
      .default({}),
    template: z
      .string()
      .regex(TEMPLATE_NAME, TEMPLATE_NAME_EXPECTED)
      .default('local')
      .describe('name of a sandbox template in the configuration'),
  })
  .describe('Muster suite');

/** As written, with its defaults filled in. */
export type ParsedSuite = z.infer<typeof suiteSchema>;
