import { InfrastructureError } from '../../kernel/errors.ts';
import type { ScriptVerifier } from '../tasks/task.ts';
import type { ScriptEvidence } from '../verification/evidence.ts';
import type { WorkspaceSession } from '../workspace/workspace-session.ts';
import { readEnding, shortenEvidence, SHOWN_OUTPUT, formatShownText } from './endings.ts';
import type { Grading, GradingContext } from './grading-context.ts';
import { describeGradingTemplate, LOGS, TESTS, readTestFiles } from './grading-template.ts';
import { layWorkdir } from './lay-workdir.ts';
import { cleanEnvironment } from './clean-environment.ts';
import { putSubmission } from './submission.ts';

const REWARDS = `${LOGS}/verifier`;
const REWARD_BYTES = 64 * 1024;

/** The evidence for a submission that could not be placed in the sandbox. */
const UNJUDGED: Omit<ScriptEvidence, 'ending'> = {
  stage: 'execute',
  kind: 'script',
  rewardJson: null,
  rewardText: null,
  output: '',
  seconds: 0,
};

/**
 * Lets `tests/test.sh` judge the submission, in a sandbox that the agent has never seen. As in Harbor, the exit status is ignored: the reward file
 * decides, which is read when every process of the sandbox is dead.
 */
export async function gradeScript(
  { task, step, content, submission }: Grading,
  verifier: ScriptVerifier,
  { sandboxes }: GradingContext,
  signal: AbortSignal,
): Promise<ScriptEvidence> {
  await using sandbox = await sandboxes.open(describeGradingTemplate(task, step, [TESTS]), signal);
  const { session } = sandbox;
  const either = AbortSignal.any([signal, sandbox.signal]);
  await layWorkdir(session, { task, content, submission }, { sandboxes }, either);
  const problem = await putSubmission(session, submission.files, either);
  if (problem !== undefined) return { ...UNJUDGED, ending: { kind: 'no-output', detail: shortenEvidence(problem) } };
  for (const directory of [TESTS, LOGS, REWARDS]) await session.wipe(directory, either);
  await session.put(await readTestFiles(task, step, content), either);
  const result = await session.run(
    {
      argv: ['/bin/bash', '-c', `(${TESTS}/test.sh) 2>&1`],
      directory: task.workspace.workdir,
      environment: cleanEnvironment(task.workspace.environment, verifier.environment),
      seconds: verifier.timeoutSeconds,
      output: SHOWN_OUTPUT,
    },
    either,
  );
  if (result.end.kind === 'unstartable') {
    const remedy = 'the root file system needs /bin/bash for tests/test.sh, as Harbor does';
    throw new InfrastructureError('task.no-shell', `${result.end.detail}; ${remedy}`);
  }
  const isAlive = result.end.kind !== 'out-of-memory';
  return {
    stage: 'execute',
    kind: 'script',
    ending: readEnding(result.end),
    rewardJson: isAlive ? await readRewardFile(session, 'reward.json', either) : null,
    rewardText: isAlive ? await readRewardFile(session, 'reward.txt', either) : null,
    output: formatShownText(result.stdout),
    seconds: result.seconds,
    cpuSeconds: result.cpuSeconds,
  };
}

/** Returns null where there is no such file, or no regular file. */
async function readRewardFile(session: WorkspaceSession, name: string, signal: AbortSignal): Promise<string | null> {
  const collected = await session.collect([`${REWARDS}/${name}`], { files: 1, bytes: REWARD_BYTES }, signal);
  if (collected.kind === 'refused') return null;
  return collected.files[0]?.content.toString('utf8') ?? null;
}
