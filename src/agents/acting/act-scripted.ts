import type { Clock } from '../../kernel/clock.ts';
import type { Action } from '../actions/action.ts';
import { ActionExecutor, SHOWN_TO_AGENTS } from '../actions/action-executor.ts';
import { cleanEnvironment } from '../grading/clean-environment.ts';
import type { StopReason } from '../rollouts/record/trajectory.ts';
import { AGENT_SECONDS, type Acted, type OpenWorkspace, type PerformedAction } from './acted/acted.ts';
import type { OpenStep } from '../grading/make-submission.ts';

/**
 * Carries out a list of actions in a workspace, until one submits, the list ends or the task's time is over.
 *
 * @throws InfrastructureError when the workspace is lost; the signal's reason.
 */
export async function playScript(
  { task, step }: OpenStep,
  actions: readonly Action[],
  { session, changes }: OpenWorkspace,
  clock: Clock,
  signal: AbortSignal,
): Promise<Omit<Acted, 'submission'>> {
  const { workdir, environment } = task.workspace;
  const executor = new ActionExecutor(session, { workdir, environment: cleanEnvironment(environment), output: SHOWN_TO_AGENTS });
  const end = clock.now() + (step.agent.timeoutSeconds ?? AGENT_SECONDS) * 1000;
  const performed: PerformedAction[] = [];
  let stopReason: StopReason = 'script-ended';
  for (const action of actions) {
    const seconds = (end - clock.now()) / 1000;
    if (seconds <= 0) {
      stopReason = 'time';
      break;
    }
    const { observation, effect } = await executor.perform(action, seconds, signal);
    const { data, text } = observation;
    performed.push({ turn: performed.length, call: null, action, text, diff: await changes.after(effect, signal) });
    if (data.kind === 'ran' && data.end.kind === 'out-of-memory') {
      stopReason = 'out-of-memory';
      break;
    }
    if (data.kind === 'submitted') {
      stopReason = 'submitted';
      break;
    }
  }
  return { actions: performed.length, performed, stopReason, course: undefined };
}
