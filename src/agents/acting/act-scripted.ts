import type { Clock } from '../../kernel/clock.ts';
import type { Action } from '../actions/action.ts';
import { ActionExecutor, SHOWN_TO_AGENTS } from '../actions/action-executor.ts';
import { cleanEnvironment } from '../grading/clean-environment.ts';
import { exportSubmission } from '../grading/export-submission.ts';
import { describeGradingPlace } from '../grading/grading-place.ts';
import type { GradingSandboxes } from '../grading/grading-sandboxes.ts';
import { layWorkdir } from '../grading/lay-workdir.ts';
import type { StopReason } from '../rollouts/record/trajectory.ts';
import { AGENT_SECONDS, type Acted, type OpenStep } from './acted/acted.ts';

/**
 * Carries a list of actions out in a workspace of its own, until one submits, the list is at its end or the task's time is over. What is there by
 * then is exported.
 *
 * @throws InfrastructureError when the workspace is lost; the signal's reason.
 */
export async function playScript(
  { task, step, content }: OpenStep,
  actions: readonly Action[],
  { sandboxes, clock }: { readonly sandboxes: GradingSandboxes; readonly clock: Clock },
  signal: AbortSignal,
): Promise<Acted> {
  const { workdir, environment } = task.workspace;
  await using sandbox = await sandboxes.open(describeGradingPlace(task, step, []), signal);
  const either = AbortSignal.any([signal, sandbox.signal]);
  await layWorkdir(sandbox.session, { task, content }, { sandboxes }, either);
  const executor = new ActionExecutor(sandbox.session, { workdir, environment: cleanEnvironment(environment), output: SHOWN_TO_AGENTS });
  const end = clock.now() + (step.agent.timeoutSeconds ?? AGENT_SECONDS) * 1000;
  let done = 0;
  let stopReason: StopReason = 'script-ended';
  for (const action of actions) {
    const seconds = (end - clock.now()) / 1000;
    if (seconds <= 0) {
      stopReason = 'time';
      break;
    }
    const { data } = (await executor.perform(action, seconds, either)).observation;
    done += 1;
    if (data.kind === 'ran' && data.end.kind === 'out-of-memory')
      return { submission: undefined, actions: done, stopReason: 'out-of-memory', course: undefined };
    if (data.kind === 'submitted') {
      stopReason = 'submitted';
      break;
    }
  }
  return { submission: await exportSubmission(sandbox.session, step.artifacts, either), actions: done, stopReason, course: undefined };
}
