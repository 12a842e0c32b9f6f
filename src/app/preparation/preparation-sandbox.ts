import { findNetworkNeeds } from '../../agents/preparation/network-needs.ts';
import { STORAGE_MEBIBYTES, WORKDIR } from '../../agents/preparation/emitted-task.ts';
import type { SourceFiles } from '../../agents/preparation/source/source-files.ts';
import { cleanEnvironment } from '../../agents/grading/clean-environment.ts';
import { joinStreams } from '../../agents/grading/endings.ts';
import { LOGS, TESTS } from '../../agents/grading/grading-template.ts';
import type { GradingTemplate, GradingSandboxes, GradingTool } from '../../agents/grading/grading-sandboxes.ts';
import type { CommandResult, WorkspaceFile } from '../../agents/workspace/command.ts';
import type { WorkspaceSession } from '../../agents/workspace/workspace-session.ts';
import { InfrastructureError } from '../../kernel/errors.ts';

const LIMITS: GradingTemplate['limits'] = { cpus: undefined, memoryBytes: undefined, storageBytes: STORAGE_MEBIBYTES * 2 ** 20 };
/** Modules are imported from Muster's own directory only, not from the workdir. */
const START = "import runpy, sys; sys.path.insert(0, '/muster/runner'); runpy.run_module(sys.argv[1], run_name='__main__')";
/** Bounds on the output of Muster's own programs. */
const ANSWER = { head: 32 * 2 ** 20, tail: 4096, most: 40 * 2 ** 20 };

/** Directories of this machine in which preparations store things. */
export interface PreparationPaths {
  readonly layers: string;
}

export interface PreparationWorkspace {
  readonly files: SourceFiles;
  /** Dependencies by their paths in the workdir. */
  readonly dependencies: SourceFiles;
  /** Files by their paths in /tests. */
  readonly tests: Readonly<Record<string, string>>;
  readonly tools?: readonly GradingTool[];
  readonly limits?: GradingTemplate['limits'];
}

/** Opens a fresh sandbox with a repository's files in the workdir, and lets `use` work in it. */
export async function withRepository<Result>(
  sandboxes: GradingSandboxes,
  { files, dependencies, tests, tools = ['pytest'], limits = LIMITS }: PreparationWorkspace,
  use: (session: WorkspaceSession, signal: AbortSignal) => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  const template: GradingTemplate = { root: { kind: 'host' }, writable: [WORKDIR, LOGS, TESTS], limits, tools };
  await using sandbox = await sandboxes.open(template, signal);
  const either = AbortSignal.any([signal, sandbox.signal]);
  const texts = Object.entries(tests).map(([path, text]) => ({
    path: `${TESTS}/${path}`,
    content: Buffer.from(text),
    executable: path.endsWith('.sh'),
  }));
  await sandbox.session.put([...toWorkspaceFiles(WORKDIR, files), ...toWorkspaceFiles(WORKDIR, dependencies), ...texts], either);
  return await use(sandbox.session, either);
}

export function toWorkspaceFiles(directory: string, files: SourceFiles): readonly WorkspaceFile[] {
  return Array.from(files, ([path, file]) => ({ path: `${directory}/${path}`, ...file }));
}

/**
 * Runs one of Muster's own programs on the files in a sandbox; it reads JSON and answers with JSON.
 *
 * @throws InfrastructureError when it fails, which is no fault of the repository.
 */
export async function runProgram(
  session: WorkspaceSession,
  program: string,
  asked: unknown,
  seconds: number,
  signal: AbortSignal,
): Promise<unknown> {
  const input = Buffer.from(JSON.stringify(asked));
  const argv = ['/usr/bin/python3', '-I', '-B', '-c', START, `muster_preparation.${program.replace(/\.py$/, '')}`];
  const result = await session.run({ argv, directory: WORKDIR, environment: cleanEnvironment(), seconds, input, output: ANSWER }, signal);
  const { end, stdout } = result;
  if (end.kind === 'exited' && end.code === 0 && stdout.total === stdout.head.length) return JSON.parse(stdout.head.toString('utf8'));
  throw new InfrastructureError('preparation.program', `${program}: it ended with ${end.kind}: ${joinStreams(result).slice(-800)}`);
}

/** Reads the end of the output, for people, and what it says about a network. */
export function readOutput(result: CommandResult): { readonly output: string; readonly needNetwork: readonly string[] } {
  const output = joinStreams(result);
  return { output: output.slice(-4000), needNetwork: findNetworkNeeds(output) };
}

const RULER = /([=_-])\1{9,}/g;

/** Returns the end of the tests' output, without lines that draw across a terminal, as a part of a sentence. */
export function shortenOutput(output: string): string {
  return output.replaceAll(RULER, '$1$1$1').trim().slice(-600);
}
