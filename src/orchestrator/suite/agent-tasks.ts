import { z } from 'zod';
import { InputError } from '../../kernel/errors.ts';
import { isDigest, type Digest } from '../../kernel/ids.ts';
import type { TaskEnvironment } from '../../runner/frames.ts';
import type { ListedTask, ParsedSuite, TaskSource, WrittenSuite } from './suite.ts';

/**
 * Tasks for agents as tasks of a suite: the agent's workspace is the environment, so these tasks are drawn, weighted, named and folded like
 * all others.
 */

const ENTRY = 'task:';

const agentTaskSchema = z.strictObject({
  digest: z.custom<Digest>((value) => typeof value === 'string' && isDigest(value), 'expected the digest of a task'),
  /** Directory of the suite's files; empty where these are the task's own. */
  directory: z.string(),
  /** Name of the task's directory, which names a task without a name of its own. */
  called: z.string(),
  /** Paths of executable files: the store keeps no modes. */
  executable: z.array(z.string()),
  /** Version of the grading code. */
  verifier: z.int(),
});

/** Says where a task for agents is among the suite's files, and what it must contain. */
export type AgentTask = z.infer<typeof agentTaskSchema>;

type Environment = TaskEnvironment['environment'];

export function describeAgentEnvironment(name: string, task: AgentTask): ListedTask['environment'] {
  return { entry: `${ENTRY}${name}`, kwargs: { ...task }, wrappers: [] };
}

/** @returns undefined for an environment that a policy plays. @throws InputError `suite.task` for an entry that Muster did not write. */
export function getAgentTask({ entry, kwargs }: Pick<Environment, 'entry' | 'kwargs'>): AgentTask | undefined {
  if (!entry.startsWith(ENTRY)) return undefined;
  const parsed = agentTaskSchema.safeParse(kwargs);
  if (parsed.success) return parsed.data;
  throw new InputError('suite.task', `${entry}: expected "tasks: { from: DIRECTORY }": only Muster itself lists tasks for agents`);
}

/** Whether agents play the suite, and not policies. */
export function isPlayedByAgents({ tasks }: { readonly tasks: readonly { readonly environment: Pick<Environment, 'entry'> }[] }): boolean {
  return tasks.some(({ environment }) => environment.entry.startsWith(ENTRY));
}

/** Returns the directory that a suite takes its tasks from, if it does. */
export function getTaskSource({ tasks }: Pick<WrittenSuite, 'tasks'>): TaskSource | undefined {
  return tasks === undefined || Array.isArray(tasks) ? undefined : tasks;
}

/** Returns the suite with the tasks that were found. */
export function withTasks(suite: WrittenSuite, tasks: readonly ListedTask[]): ParsedSuite {
  return { ...suite, tasks: [...tasks] };
}

const REWARD = 'a reward is a number from 0 to 1';

/**
 * Adds what is known of agents' rewards, so that suites need not declare it: their bounds, the threshold of success, and the parts of a
 * verdict.
 */
export function withKnownRewards(suite: WrittenSuite): WrittenSuite {
  const listed = Array.isArray(suite.tasks) ? suite.tasks : [];
  if (getTaskSource(suite) === undefined && !isPlayedByAgents({ tasks: listed })) return suite;
  return {
    ...suite,
    reward: { bounds: suite.reward.bounds ?? [0, 1] },
    success: suite.success ?? { threshold: 1, k: [1] },
    metrics: suite.metrics.length > 0 ? suite.metrics : ['correctness'],
  };
}

/** Finds settings that contradict the suite's kind of player, agents or policies: the path of a key, and a sentence. */
export function findAgentContradictions(
  suite: WrittenSuite,
): readonly { readonly path: readonly (string | number)[]; readonly text: string }[] {
  const source = getTaskSource(suite);
  const listed = Array.isArray(suite.tasks) ? suite.tasks : [];
  const isOfAgents = source !== undefined || isPlayedByAgents({ tasks: listed });
  if (!isOfAgents)
    return suite.agent === undefined
      ? []
      : [{ path: ['agent'], text: 'expected nothing: agents play tasks for agents, and this suite has environments for policies' }];
  const { reward, play, actions, files } = suite;
  return [
    ...(source !== undefined && files !== undefined
      ? [{ path: ['files'], text: 'expected nothing: tasks for agents bring their own files' }]
      : []),
    ...(listed.some(({ environment }) => !environment.entry.startsWith(ENTRY))
      ? [{ path: ['tasks'], text: 'expected tasks for agents only, or environments for policies only' }]
      : []),
    ...(reward.bounds && (reward.bounds[0] !== 0 || reward.bounds[1] !== 1)
      ? [{ path: ['reward', 'bounds'], text: `expected [0, 1], or nothing: ${REWARD}` }]
      : []),
    ...(play.mode === 'single' ? [] : [{ path: ['play'], text: `expected single, or nothing: agents act one by one, got ${play.mode}` }]),
    ...(actions === 'deterministic' ? [] : [{ path: ['actions'], text: 'expected nothing: an agent chooses its actions itself' }]),
  ];
}
