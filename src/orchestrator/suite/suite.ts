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

/** Suggests a form for `CartPole-v1` alone, as `gymnasium.make` takes it. */
function suggestRegistered(given: unknown): string {
  return typeof given === 'string' && /^[\w/-]+-v\d+$/.test(given) ? `, such as "gymnasium:${given}"` : '';
}

/** `gymnasium:CartPole-v1` makes a registered environment; `module:factory` calls a function from the suite's files. */
const entrySchema = z
  .string()
  .regex(/^[A-Za-z_][\w.]*:[\w./-]+$/, {
    error: ({ input }) => `expected "gymnasium:ENVIRONMENT-ID" or "module:factory"${suggestRegistered(input)}`,
  })
  .describe('"gymnasium:CartPole-v1" for a registered environment, "module:factory" for one from the suite\'s files');

export const jsonValue = z.json();
const kwargsSchema = z.record(z.string(), jsonValue).default({}).describe('keyword arguments');

const wrapperSchema = z
  .strictObject({ entry: entrySchema, kwargs: kwargsSchema })
  .describe('applied in order, innermost first; for example gymnasium.wrappers:TimeLimit');

const environmentObjectSchema = z.strictObject({
  entry: entrySchema,
  kwargs: kwargsSchema,
  wrappers: z.array(wrapperSchema).max(32).default([]).describe('wrappers around the environment, innermost first'),
});

const environmentSchema = z
  .union([entrySchema.transform((entry) => ({ entry, kwargs: {}, wrappers: [] })), environmentObjectSchema])
  .describe('an environment: its entry alone, or entry, kwargs and wrappers');

const nameSchema = z.string().regex(/^[\w.-]{1,64}$/, 'expected 1 to 64 letters, digits, ".", "_" or "-"');
/** Tasks for agents may have names such as `org/name`. */
const taskNameSchema = z
  .string()
  .regex(
    /^[\w.-]{1,128}(\/[\w.-]{1,128})?$/,
    'expected 1 to 128 letters, digits, ".", "_" or "-", or two such names with "/" between them',
  );

const weightSchema = z
  .number()
  .positive()
  .max(1e9)
  .describe("this task's share of the mean, relative to the other weights; of the episodes too, unless allocation is adaptive");

const taskSchema = z.strictObject({
  name: taskNameSchema.describe('names the task in results'),
  weight: weightSchema.default(1),
  environment: environmentSchema,
});

const taskSourceSchema = z
  .strictObject({
    from: z.string().min(1).describe('directory of a task for agents, or of such tasks, relative to the suite file'),
    only: z.array(taskNameSchema).min(1).max(10_000).optional().describe('names of the tasks that are played; all of them when left out'),
    weights: z.record(taskNameSchema, weightSchema).default({}).describe('by the names of tasks; 1 for every other one'),
  })
  .describe('tasks for agents (docs/tasks.md)');

const tasksSchema = z.union([z.array(taskSchema).min(1).max(10_000), taskSourceSchema], {
  error: 'expected a list of tasks with an environment each, or { from: DIRECTORY } with tasks for agents',
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
  .max(LARGEST_CONFIDENCE, `expected a number below 1, such as 0.95 for 95 %, and at most ${LARGEST_CONFIDENCE}`)
  .describe('probability that the interval holds the true mean');
const confidence = confidenceSchema.default(0.95);

export const stoppingSchema = z
  .discriminatedUnion('rule', [
    z.strictObject({
      rule: z.literal('fixed'),
      episodes: z.int().min(2).max(10_000_000).describe('number of episodes'),
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

/** A rule that replaces a suite's own; it keeps the suite's confidence unless it states another. */
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
  .describe('every return is in [lowest, highest]; otherwise the episode fails');

export const suiteSchema = z
  .strictObject({
    name: nameSchema.describe('names the suite in results'),
    description: z.string().max(2000).optional().describe('text for people'),
    files: z.string().min(1).optional().describe("directory with the suite's own Python modules, relative to the suite file"),
    environment: environmentSchema.optional().describe('short for a single task'),
    tasks: tasksSchema.optional().describe('several tasks, in place of environment'),
    agent: z
      .string()
      .min(1)
      .optional()
      .describe('with tasks for agents, what acts when no other is named: oracle, nop, or a file with actions, relative to the suite file'),
    allocation: allocationSchema.default('proportional'),
    seed: z.int().min(0).default(0).describe('base seed: with the index, it decides every seed'),
    actions: z
      .enum(['deterministic', 'stochastic'])
      .default('deterministic')
      .describe("the policy's best action, or one drawn with a seeded generator"),
    reward: z.strictObject({ bounds: boundsSchema.optional() }).default({}).describe('what returns are possible'),
    failureScores: z
      .strictObject({
        timeout: z.number().optional().describe('for an episode that exceeds its time limit'),
        crash: z.number().optional().describe('for every other failure of the policy or the environment'),
      })
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
      .prefault({})
      .describe('limits of one episode'),
    play: playSchema.default({ mode: 'single' }),
    metrics: z
      .array(nameSchema)
      .max(64)
      .refine((names) => new Set(names).size === names.length, 'expected each metric once')
      .default([])
      .describe("numbers from the environment's last info, or components of an agent's verdict, to aggregate beside the return"),
    success: successSchema.optional(),
    stop: stoppingSchema,
    budget: z
      .strictObject({
        episodes: z.int().positive().optional().describe('most episodes that are played'),
        seconds: z.number().positive().max(31_536_000).optional().describe('longest time, by the wall clock'),
        cost: z.number().positive().optional().describe("in the currency of the template's costPerSandboxHour"),
      })
      .default({})
      .describe('limits at which the evaluation ends at the latest'),
    template: z
      .string()
      .regex(TEMPLATE_NAME, TEMPLATE_NAME_EXPECTED)
      .default('local')
      .describe('name of a sandbox template in the configuration'),
  })
  .describe('Muster suite');

/** The suite as it is written, with its defaults filled in. */
export type WrittenSuite = z.infer<typeof suiteSchema>;
export type TaskSource = z.infer<typeof taskSourceSchema>;
export type ListedTask = z.infer<typeof taskSchema>;

/** The suite with all of its tasks, including those of a directory. */
export type ParsedSuite = Omit<WrittenSuite, 'tasks'> & { readonly tasks?: ListedTask[] | undefined };
