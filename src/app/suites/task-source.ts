import { basename, resolve } from 'node:path';
import type { Task } from '../../agents/tasks/task.ts';
import { VERIFIER_VERSION } from '../../agents/verification/verdict.ts';
import { suggestNames } from '../../kernel/documents/did-you-mean.ts';
import { InputError } from '../../kernel/errors.ts';
import { describeAgentEnvironment } from '../../orchestrator/suite/agent-tasks.ts';
import type { ListedTask, TaskSource } from '../../orchestrator/suite/suite.ts';
import { listTasks } from '../tasks/task-catalogue.ts';

/** Tasks for agents as a suite names them, read from their directory. */
export interface FoundTasks {
  readonly tasks: readonly ListedTask[];
  /** Absolute path to which their files are relative. */
  readonly directory: string;
  /** Whether a path in it belongs to no played task. */
  readonly ignores: (path: string) => boolean;
}

interface FoundTask {
  readonly directory: string;
  readonly task: Task;
}

/**
 * @param base directory to which the source is relative. @param where the source is, for messages. @throws InputError when there are no tasks, when
 * one of them cannot be played, or when no task has a given name.
 */
export async function findTasks({ from, only, weights }: TaskSource, base: string, where: string): Promise<FoundTasks> {
  const top = resolve(base, from);
  const listed = await listTasks(top).catch((error: unknown) => {
    if (!(error instanceof InputError)) throw error;
    throw new InputError(error.code, `${where}: tasks.from: "${from}": ${error.message}`, { cause: error });
  });
  const wanted = listed.filter(({ directory, task }) => only === undefined || only.some((name) => isCalled(name, directory, task)));
  for (const name of [...(only ?? []), ...Object.keys(weights)])
    if (!listed.some(({ directory, task }) => isCalled(name, directory, task))) throw createUnknownTaskError(name, listed, where);
  const found = wanted.map(({ directory, task, problem }): FoundTask => {
    if (task === null)
      throw new InputError('suite.tasks', `${where}: a task cannot be played: ${problem}; correct it, or name others in tasks.only`);
    return { directory, task };
  });
  const isOne = found.some(({ directory }) => resolve(directory) === top);
  const kept = new Set(found.map(({ directory }) => basename(directory)));
  return {
    tasks: found.map((each) => toListedTask(each, isOne, weights)),
    directory: top,
    ignores: (path) => !isOne && !kept.has(path.split('/')[0] ?? ''),
  };
}

function toListedTask({ directory, task }: FoundTask, isOne: boolean, weights: TaskSource['weights']): ListedTask {
  const called = basename(directory);
  const weight = Object.entries(weights).find(([name]) => isCalled(name, directory, task))?.[1] ?? 1;
  const executable = task.files.filter(({ isExecutable }) => isExecutable).map(({ path }) => path);
  const place = { digest: task.digest, directory: isOne ? '' : called, called, executable, verifier: VERIFIER_VERSION };
  return { name: task.id, weight, environment: describeAgentEnvironment(task.id, place) };
}

/** Finds a task by its id, by the part of the id after the organisation, or by its directory. */
function isCalled(name: string, directory: string, task: Task | null): boolean {
  return name === basename(directory) || name === task?.id || name === task?.id.split('/').at(-1);
}

function createUnknownTaskError(name: string, listed: readonly { readonly directory: string }[], where: string): InputError {
  const names = listed.map(({ directory }) => basename(directory));
  const some = names.slice(0, 20).join(', ') + (names.length > 20 ? ', …' : '');
  return new InputError('suite.tasks', `${where}: there is no task "${name}"; there are ${some}${suggestNames(name, names)}`);
}
