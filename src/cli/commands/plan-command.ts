import { Command } from 'commander';
import type { EvaluationPlan } from '../../orchestrator/planning/evaluation-plan.ts';
import type { StopOverride } from '../../orchestrator/suite/suite-definition.ts';
import { formatNotice } from '../terminal/error-report.ts';
import { EXIT_CODES } from '../terminal/exit-code.ts';
import { watchInterruption } from '../terminal/interruption.ts';
import { print, formatJson } from '../terminal/output.ts';
import { formatPlanLines } from '../lines/plan-lines.ts';
import { addSuiteFlags, type SuiteFlags } from '../flags/run-flags.ts';
import { addStopFlags, buildStopOverride, type StopFlags } from '../flags/stop-override.ts';

/** `muster plan` gets this from the composition root. */
export type PlanSuite = (request: PlanSuiteRequest, signal: AbortSignal) => Promise<EvaluationPlan>;

export interface PlanSuiteRequest extends Pick<SuiteFlags, 'config' | 'sandboxes'> {
  /** Path of the suite file. */
  readonly suite: string;
  /** Replaces the suite's own rule. */
  readonly stop?: StopOverride;
  /** Path of an earlier evaluation's directory, or of its summary. */
  readonly baseline?: string;
}

interface PlanFlags extends StopFlags, SuiteFlags, Pick<PlanSuiteRequest, 'baseline'> {}

export function createPlanCommand(planSuite: PlanSuite): Command {
  const command = new Command('plan')
    .summary('say how many episodes an evaluation will take')
    .description('Simulates the stopping rule of a suite: how many episodes it will take, how long and at what cost. Nothing is played.')
    .argument('<suite>', 'suite file (YAML or JSON)')
    .option('-b, --baseline <path>', 'directory that "muster eval --out" kept on the same suite, or a summary of it');
  return addSuiteFlags(addStopFlags(command))
    .addHelpText('after', HELP)
    .action(async (suite: string, flags: PlanFlags) => {
      process.exitCode = await runPlan(planSuite, suite, flags);
    });
}

const HELP = `
Without a baseline the returns are taken to vary as much as the reward bounds allow, and nothing can be said about time and cost.

Exit codes:
  0    done
  1    a defect of Muster
  2    bad input: a suite, baseline, configuration or flag
  3    the infrastructure failed
  130  interrupted

Example:
  muster eval examples/game/cartpole.yaml --checkpoint examples/game/checkpoints/late.safetensors --episodes 200 --out first
  muster plan examples/game/cartpole.yaml --baseline first --half-width 5 --sandboxes 8`;

async function runPlan(planSuite: PlanSuite, suite: string, flags: PlanFlags): Promise<number> {
  using interrupt = watchInterruption(process);
  const stop = buildStopOverride(flags);
  try {
    const plan = await planSuite({ ...flags, suite, ...(stop ? { stop } : {}) }, interrupt.signal);
    await print(process.stdout, flags.json ? formatJson(plan) : `${formatPlanLines(plan).join('\n')}\n`);
    // Printing may have revealed that stdout is closed.
    return interrupt.signal.aborted ? EXIT_CODES.interrupted : EXIT_CODES.done;
  } catch (error) {
    if (!(interrupt.signal.aborted && error instanceof Error && error.name === 'AbortError')) throw error;
    await print(process.stderr, formatNotice('interrupted before there was a plan'));
    return EXIT_CODES.interrupted;
  }
}
