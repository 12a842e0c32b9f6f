import type { Command } from 'commander';
import { readConfiguration } from '../../app/configuration.ts';
import { checkTask } from '../../app/grading/task-check.ts';
import { openTask, TaskGrader, type TakenVerdict } from '../../app/grading/task-grader.ts';
import { hardenTask } from '../../app/grading/task-hardening.ts';
import { readKeptTrajectories } from '../../app/rollouts/kept-rollouts.ts';
import { createTask, listTasks, showTask, listTaskDirectories, withNearestTask } from '../../app/tasks/task-catalogue.ts';
import { importTasks } from '../../app/tasks/task-import.ts';
import { openSoundnessKeeper } from '../../app/soundness-keeper.ts';
import { InputError } from '../../kernel/errors.ts';
import { createClient } from '../../app/client/server-client.ts';
import { createPrepareCommand } from '../commands/prepare/prepare-command.ts';
import { createRolloutsCommand } from '../commands/rollouts/rollouts-command.ts';
import type { CheckTasks } from '../commands/tasks/task-check-command.ts';
import { createTaskCommand } from '../commands/tasks/task-command.ts';
import type { TaskCatalogue } from '../commands/tasks/task-catalogue-commands.ts';
import type { HardenTask } from '../commands/tasks/task-harden-command.ts';
import { createVerifySubmissionCommand } from '../commands/tasks/verify-submission-command.ts';
import { formatNotice } from '../terminal/error-report.ts';
import { print } from '../terminal/output.ts';

const catalogue: TaskCatalogue = {
  create: createTask,
  list: (directory) => withNearestTask(directory, () => listTasks(directory)),
  show: (directory) => withNearestTask(directory, () => showTask(directory)),
};

const hardenOne: HardenTask = async ({ config, ...terms }, onVerdict, signal) => {
  await using grader = new TaskGrader(readConfiguration(config));
  const report = (trial: string, { verdict }: TakenVerdict): void => onVerdict(`${trial}: ${verdict.reward ?? 'no reward'}`);
  return await hardenTask(grader, { ...terms, onVerdict: report }, signal);
};

const checkTasks: CheckTasks = async ({ tasks, times, seed, keep, config: file }, { onVerdict, onTask }, signal) => {
  const config = readConfiguration(file);
  await using keeper = keep === true ? await openSoundnessKeeper(config) : undefined;
  await using grader = new TaskGrader(config);
  const refused: string[] = [];
  for (const path of await listTaskDirectories(tasks)) {
    const taken: TakenVerdict[][] = [];
    const report = (trial: string, verdict: TakenVerdict, at: number): void => {
      (taken[at] ??= []).push(verdict);
      onVerdict(`${path}: ${trial}: ${verdict.verdict.reward ?? 'no reward'}`);
    };
    try {
      const open = await openTask(path);
      const soundness = await checkTask(grader, open, { times, seed, onVerdict: report }, signal);
      await keeper?.keep(open.task, soundness);
      const submissions = soundness.trials.map(
        ({ expected }, at) => (taken[at] ?? []).find(({ verdict }) => verdict.reward !== expected) ?? taken[at]?.[0],
      );
      await onTask({ soundness, submissions });
    } catch (error) {
      // One invalid task does not prevent the others from being checked.
      if (!(error instanceof InputError)) throw error;
      refused.push(error.message);
    }
  }
  if (refused.length > 0) throw new InputError('task.unchecked', `${refused.length} could not be checked:\n${refused.join('\n')}`);
};

/** The commands that make, grade and show tasks for agents. */
export const COMMANDS = {
  rollouts: (): Command => createRolloutsCommand(readKeptTrajectories, createClient),
  task: (): Command => createTaskCommand(checkTasks, hardenOne, catalogue, importTasks),
  prepare: (): Command =>
    createPrepareCommand(
      async (terms, config, listeners, signal) => {
        const { prepare } = await import('../../app/preparation/prepare.ts');
        return await prepare(readConfiguration(config), terms, listeners, signal);
      },
      async (suite, config, signal) => {
        const { proveTasks } = await import('../../app/preparation/prove-tasks.ts');
        return await proveTasks(readConfiguration(config), suite, signal);
      },
    ),
  verify: (): Command =>
    createVerifySubmissionCommand(async ({ task, submission, config, ...options }, onStage, signal) => {
      await using grader = new TaskGrader(readConfiguration(config));
      const open = await withNearestTask(task, () => openTask(task));
      // The others are about the task's own submissions, which a verdict does not need.
      const notices = open.task.notices.filter((notice) => notice.includes('/task.toml: '));
      for (const notice of notices) await print(process.stderr, formatNotice(notice));
      return await grader.verify(open, submission, { ...options, onStage }, signal);
    }),
};
