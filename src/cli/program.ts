import { Command } from 'commander';
import { openBatch } from '../app/client/batch-input.ts';
import { openCheckpoints } from '../app/checkpoints/checkpoint-access.ts';
import { inspectWritten } from '../app/checkpoints/checkpoint-inspection.ts';
import { PACKAGE_VERSION } from '../kernel/package-root.ts';
import { createDoctorChecks } from '../app/doctor/doctor-checks.ts';
import { readKeptTrajectories } from '../app/rollouts/kept-rollouts.ts';
import { readResultDocument } from '../app/recorded-results.ts';
import { readConfiguration, Muster } from '../app/main.ts';
import { checkTask } from '../app/grading/task-check.ts';
import { hardenTask } from '../app/grading/task-hardening.ts';
import { InputError } from '../kernel/errors.ts';
import { createTask, listTasks, showTask, listTaskDirectories } from '../app/tasks/task-catalogue.ts';
import { importTasks } from '../app/tasks/task-import.ts';
import { openTask, TaskGrader, type TakenVerdict } from '../app/grading/task-grader.ts';
import { plan } from '../app/plan.ts';
import type { RunningServer } from '../app/server/serve.ts';
import { watchRun } from '../app/run-watching.ts';
import { createCheckpointsCommand } from './commands/checkpoints-command.ts';
import { compareCommand } from './commands/compare-command.ts';
import { createDoctorCommand } from './commands/doctor-command.ts';
import { createEvalCommand } from './commands/eval-command.ts';
import { grantCommand } from './commands/grant-command.ts';
import { planCommand } from './commands/plan-command.ts';
import { createReplayCommand } from './commands/replay-command.ts';
import { reportCommand } from './commands/report-command.ts';
import { createClient, readSuiteToSend } from '../app/client/server-client.ts';
import { cancelCommand, listCommand, createPoolCommand } from './commands/server-commands.ts';
import { openResultLog } from '../app/result-log.ts';
import { setUpPython } from '../app/python-setup.ts';
import { serveCommand, type ServeFlags } from './commands/serve-command.ts';
import { createSetupCommand } from './commands/setup-command.ts';
import { submitCommand } from './commands/submit-command.ts';
import { watchCommand } from './commands/watch-command.ts';
import { createPrepareCommand } from './commands/prepare/prepare-command.ts';
import { openEvaluator } from './commands/suite-evaluator.ts';
import { createTopCommand } from './commands/top-command.ts';
import { createTuneCommand } from './commands/tune-command.ts';
import { createRolloutsCommand } from './commands/rollouts/rollouts-command.ts';
import { createEpisodeCommand } from './commands/tasks/episode-command.ts';
import { createRewardCommand } from './commands/tasks/reward-command.ts';
import type { CheckTasks } from './commands/tasks/task-check-command.ts';
import { createTaskCommand } from './commands/tasks/task-command.ts';
import type { HardenTask } from './commands/tasks/task-harden-command.ts';
import { verifySubmissionCommand } from './commands/tasks/verify-submission-command.ts';
import { createTokenCommand } from './commands/token-command.ts';

/** The `muster` command with all that it can do, ready to parse. */
export function createMusterProgram(): Command {
  const program = new Command('muster')
    .version(PACKAGE_VERSION, '-V, --version')
    .description('Evaluates reinforcement-learning checkpoints on hundreds of isolated sandboxes.')
    .showHelpAfterError('(--help lists what there is)')
    .showSuggestionAfterError()
    .configureHelp({ showGlobalOptions: true })
    .exitOverride();
  for (const command of createCommands()) program.addCommand(command);
  passSettingsOn(program);
  return program;
}

function createCommands(): readonly Command[] {
  return [
    createEvalCommand(async (request) => openEvaluator(await openMuster(request), request), openResultLog),
    compareCommand(openMuster),
    planCommand((request, signal) => plan(request, readConfiguration(request.config, request.sandboxes), signal)),
    reportCommand(readResultDocument),
    createReplayCommand(async ({ config, ...request }, signal) => {
      await using muster = await Muster.open(readConfiguration(config));
      return await muster.replay(request, { signal });
    }, createClient),
    createTuneCommand(openMuster),
    serveCommand(openServer),
    submitCommand({ connect: createClient, suiteToSend: readSuiteToSend, openBatch }),
    watchCommand(
      createClient,
      async (request, hooks) => {
        const config = readConfiguration(request.config, request.sandboxes);
        await using muster = await Muster.open(config);
        return await watchRun(muster, config, request, hooks);
      },
      openResultLog,
    ),
    listCommand(createClient),
    cancelCommand(createClient),
    createTopCommand(createClient),
    createPoolCommand(createClient),
    createSetupCommand(setUpPython),
    createDoctorCommand((file) => createDoctorChecks(readConfiguration(file))),
    createCheckpointsCommand(
      (checkpoint, { config, digest }, signal) => inspectWritten(checkpoint, readConfiguration(config), digest, signal),
      (file) => openCheckpoints(readConfiguration(file)),
    ),
    createTokenCommand(async (flags) => (await import('../app/client/token-access.ts')).openTokenService(flags)),
    grantCommand(createClient),
    createEpisodeCommand(createClient),
    createRolloutsCommand(readKeptTrajectories),
    createRewardCommand(createClient),
    createTaskCommand(checkTasks, hardenOne, { create: createTask, list: listTasks, show: showTask }, importTasks),
    createPrepareCommand(async ({ config, ...terms }, listeners, signal) => {
      const { prepare } = await import('../app/preparation/prepare.ts');
      return await prepare(readConfiguration(config), terms, listeners, signal);
    }),
    verifySubmissionCommand(async ({ task, submission, config, ...options }, onStage, signal) => {
      await using grader = new TaskGrader(readConfiguration(config));
      return await grader.verify(await openTask(task), submission, { ...options, onStage }, signal);
    }),
  ];
}

const hardenOne: HardenTask = async ({ config, ...terms }, onVerdict, signal) => {
  await using grader = new TaskGrader(readConfiguration(config));
  const report = (trial: string, { verdict }: TakenVerdict): void => onVerdict(`${trial}: ${verdict.reward ?? 'no reward'}`);
  return await hardenTask(grader, { ...terms, onVerdict: report }, signal);
};

const checkTasks: CheckTasks = async ({ tasks, times, config }, { onVerdict, onTask }, signal) => {
  await using grader = new TaskGrader(readConfiguration(config));
  const refused: string[] = [];
  for (const path of await listTaskDirectories(tasks)) {
    const taken: TakenVerdict[][] = [];
    const report = (trial: string, verdict: TakenVerdict, at: number): void => {
      (taken[at] ??= []).push(verdict);
      onVerdict(`${path}: ${trial}: ${verdict.verdict.reward ?? 'no reward'}`);
    };
    try {
      const soundness = await checkTask(grader, await openTask(path), { times, onVerdict: report }, signal);
      const submissions = soundness.trials.map(
        ({ expected }, at) => (taken[at] ?? []).find(({ verdict }) => verdict.reward !== expected) ?? taken[at]?.[0],
      );
      await onTask({ soundness, submissions });
    } catch (error) {
      // The others are checked all the same.
      if (!(error instanceof InputError)) throw error;
      refused.push(error.message);
    }
  }
  if (refused.length > 0) throw new InputError('task.unchecked', `${refused.length} could not be checked:\n${refused.join('\n')}`);
};

/** A third of Muster's modules are the server's alone: the command that serves reads them. */
async function openServer({ config, child }: ServeFlags): Promise<RunningServer> {
  const { serve } = await import('../app/server/serve.ts');
  if (!child) return await serve(() => readConfiguration(config));
  const { createStarter, toChildConfig } = await import('../app/server/starter.ts');
  return await serve(() => toChildConfig(readConfiguration(config)), createStarter());
}

function openMuster({ config, sandboxes }: { readonly config?: string; readonly sandboxes?: number }): Promise<Muster> {
  return Muster.open(readConfiguration(config, sandboxes));
}

/** Of commands with a suite as their one argument: the flags are looked for there, or checkpoints given without theirs. */
const CHECKPOINT_FLAGS: Readonly<Record<string, string>> = {
  eval: 'the suite stands by itself, and each checkpoint has a --checkpoint before it: muster eval SUITE -c A -c B',
  compare: 'the suite stands by itself, and checkpoints have their flags: muster compare SUITE --baseline A --candidate B',
};

/** Commander hands settings on to what is made of a command, and not to what was made before and added. */
function passSettingsOn(command: Command): void {
  for (const inner of command.commands) {
    inner.copyInheritedSettings(command);
    if (CHECKPOINT_FLAGS[inner.name()] !== undefined)
      inner.showHelpAfterError(`(${CHECKPOINT_FLAGS[inner.name()]}; --help lists what there is)`);
    passSettingsOn(inner);
  }
}
