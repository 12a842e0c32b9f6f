import { dirname, relative, resolve, sep } from 'node:path';
import { formatBuiltInAgentUri } from '../../adapters/checkpoints/built-in-agents.ts';
import { suggestNearest } from '../../adapters/files/nearest-path.ts';
import { readSuiteFile } from '../../adapters/files/suite-file.ts';
import { BUILT_IN_AGENTS } from '../../agents/acting/agent.ts';
import { suggestNames } from '../../kernel/documents/did-you-mean.ts';
import { InfrastructureError, InputError, MusterError } from '../../kernel/errors.ts';
import { isPlayedByAgents, getTaskSource } from '../../orchestrator/suite/agent-tasks.ts';
import {
  addTasks,
  createInlineLayer,
  parseSuite,
  parseWrittenSuite,
  overrideSettings,
  overrideStop,
  type StopOverride,
  type SuiteChanges,
} from '../../orchestrator/suite/suite-definition.ts';
import type { ParsedSuite } from '../../orchestrator/suite/suite.ts';
import { isUri } from '../checkpoints/own-checkpoints.ts';
import type { Layer } from '../../kernel/documents/layer.ts';

export interface SuiteInput {
  /** Path of a suite file, or the content of one. */
  readonly suite: string | object;
  /** Replaces the suite's own rule. */
  readonly stop?: StopOverride;
  readonly changes?: SuiteChanges;
}

export interface ReadSuite {
  readonly parsed: ParsedSuite;
  /** Absolute path of its modules or tasks, if it has any. */
  readonly directory: string | undefined;
  /** Paths in it that are not part of the suite. When left out: files that Python itself writes. */
  readonly ignores?: ((path: string) => boolean) | undefined;
}

/** Reads a suite of a person on this machine. Names the nearest existing path when there is no such file. @throws InputError */
export function readOwnSuite(input: SuiteInput): Promise<ReadSuite> {
  const { suite } = input;
  return typeof suite === 'string' ? suggestNearest(suite, () => readSuite(input)) : readSuite(input);
}

/** Reads and checks a suite without its modules. Part of the composition root. @throws InputError when it is wrong. */
export async function readSuite({ suite, stop, changes = {} }: SuiteInput): Promise<ReadSuite> {
  const written = typeof suite === 'string' ? await readSuiteFile(suite) : createInlineLayer(suite);
  const layer = overrideSettings(stop ? overrideStop(written, stop) : written, changes);
  const parsed = parseWrittenSuite(layer);
  const base = typeof suite === 'string' ? dirname(resolve(suite)) : process.cwd();
  const source = getTaskSource(parsed);
  if (source !== undefined) {
    const { findTasks } = await import('./task-source.ts');
    const { tasks, ...found } = await findTasks(source, base, written.findOrigin(['tasks']));
    const agent = parsed.agent === undefined ? {} : { agent: toAgentUri(parsed.agent, base) };
    return { ...found, parsed: addTasks(layer, { ...parsed, ...agent }, tasks) };
  }
  const directory = parsed.files === undefined ? undefined : resolve(base, parsed.files);
  if (typeof suite === 'string' && directory !== undefined && isWithin(resolve(suite), directory)) throw holdsItself(written, parsed.files);
  return { parsed: parseSuite(layer), directory };
}

/** Returns the URI or the absolute path of an agent that a person wrote: as a word if it needs no file, otherwise as a path. */
export function toAgentUri(written: string, base: string = process.cwd()): string {
  if (BUILT_IN_AGENTS.has(written)) return formatBuiltInAgentUri(written);
  return isUri(written) ? written : resolve(base, written);
}

/** Awaits the adding of an agent or a checkpoint. An error about a missing path suggests the nearest one. */
export async function blameAgent<Value>(adding: Promise<Value>, written: string, isAgent: boolean): Promise<Value> {
  const names = [...BUILT_IN_AGENTS.keys()];
  try {
    return await adding;
  } catch (error) {
    if (!(error instanceof InputError) || error.code !== 'checkpoint.missing') throw error;
    if (isAgent) {
      const expected = `agent: expected ${names.join(', ')}, or an agent's file`;
      const found = error.message.replace(/^checkpoint: /, '');
      throw new InputError(error.code, `${expected}; ${found}${suggestNames(written, names)}`, { cause: error });
    }
    if (!names.includes(written)) throw error;
    throw new InputError(
      error.code,
      `${error.message}; "${written}" is an agent, and this suite has environments, which a policy plays; agents play suites with tasks.from`,
      { cause: error },
    );
  }
}

function isWithin(path: string, directory: string): boolean {
  const [first] = relative(directory, path).split(sep);
  return first !== '..';
}

function holdsItself(written: Layer, files: string | undefined): InputError {
  return new InputError(
    'suite.files',
    `${written.findOrigin(['files'])}: files: "${files}" contains the suite file: every file that is changed or saved there (a checkpoint, results) would make another suite; expected a directory with only the files of the environment: move its modules into one, such as "environment", and name that`,
  );
}

/** Runs `work` on a suite's modules, which are read like checkpoints, and makes its errors name the modules. */
export async function blameFiles<Value>(
  { files, tasks }: Pick<ParsedSuite, 'files' | 'tasks'>,
  work: () => Promise<Value>,
): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof MusterError) || !error.code.startsWith('checkpoint.')) throw error;
    const [key, expected] = isPlayedByAgents({ tasks: tasks ?? [] })
      ? ['tasks.from', 'expected tasks for agents']
      : [`files: "${files}"`, 'expected a directory of Python modules, its path from the suite file'];
    const message = `suite: ${key}: ${error.message.replace(/^checkpoint: /, '').replace(/; (check the path|expected a directory)$/, '')}`;
    if (error.kind === 'infrastructure') throw new InfrastructureError('suite.files', message, { cause: error });
    throw new InputError('suite.files', `${message}; ${expected}`, { cause: error });
  }
}
