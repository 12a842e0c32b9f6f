import type { Clock } from '../../kernel/clock.ts';
import type { Action } from '../actions/action.ts';
import { ActionExecutor, SHOWN_TO_AGENTS } from '../actions/action-executor.ts';
import { cleanEnvironment } from '../grading/clean-environment.ts';
import type { StopReason } from '../rollouts/record/trajectory.ts';
import type { WorkspaceSession } from '../workspace/workspace-session.ts';
import { AGENT_SECONDS, type Acted, type OpenStep } from './acted/acted.ts';

/**
 * Carries a list of actions out in a workspace, until one submits, the list is at its end or the task's time is over.
 *
 * @throws InfrastructureError when the workspace is lost; the signal's reason.
 */
export async function playScript(
  { task, step }: OpenStep,
  actions: readonly Action[],
  session: WorkspaceSession,
  clock: Clock,
  signal: AbortSignal,
): Promise<Omit<Acted, 'submission'>> {
  const { workdir, environment } = task.workspace;
  const executor = new ActionExecutor(session, { workdir, environment: cleanEnvironment(environment), output: SHOWN_TO_AGENTS });
  const end = clock.now() + (step.agent.timeoutSeconds ?? AGENT_SECONDS) * 1000;
  let done = 0;
  let stopReason: StopReason = 'script-ended';
  for (const action of actions) {
    const seconds = (end - clock.now()) / 1000;
    if (seconds <= 0) {
      stopReason = 'time';
      break;
    }
    const { data } = (await executor.perform(action, seconds, signal)).observation;
    done += 1;
    if (data.kind === 'ran' && data.end.kind === 'out-of-memory') {
      stopReason = 'out-of-memory';
      break;
    }
    if (data.kind === 'submitted') {
      stopReason = 'submitted';
      break;
    }
  }
  return { actions: done, stopReason, course: undefined };
}
