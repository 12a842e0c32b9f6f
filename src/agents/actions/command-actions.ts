import type { Command, OutputBounds } from '../workspace/command.ts';
import type { FileResult } from '../workspace/file-answers.ts';
import { StartedCommands, type Polled } from '../workspace/started-commands.ts';
import type { WorkspaceSession } from '../workspace/workspace-session.ts';
import { joinDeltas, runAndReadChanges, type RunWithChanges, type WorkspaceDelta } from '../workspace/workspace-snapshots.ts';
import type { Action } from './action.ts';
import { formatExcerpt } from './escaped-text.ts';
import type { ObservationData } from './observation.ts';
import type { ToolCall } from './own-tool.ts';
import { refuseFile } from './refusals.ts';

/** Says where and how an agent acts. */
export interface ActionTerms {
  /** Absolute: where relative paths and commands begin. */
  readonly workdir: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The bounds of a command's output, for each stream. */
  readonly output: OutputBounds;
  /** Directories whose changes are read with each command that runs; none are when it is left out. */
  readonly watched?: readonly string[];
}

/** What an agent sees of a command, and its changes, where they were read together. */
export interface Commanded {
  readonly data: ObservationData;
  readonly changes?: FileResult<WorkspaceDelta> | undefined;
}

/** The first existing one: tasks are written for bash, and some images have none. */
const SHELLS = ['/bin/bash', '/bin/sh'] as const;

type CommandAction = Extract<Action, { action: 'run' | 'start' | 'poll' | 'stop' }>;

/** The actions that run programs in a workspace. */
export class CommandActions {
  readonly #session: WorkspaceSession;
  readonly #started: StartedCommands;
  readonly #terms: ActionTerms;
  #shell: (typeof SHELLS)[number] = SHELLS[0];

  constructor(session: WorkspaceSession, terms: ActionTerms) {
    this.#session = session;
    this.#started = new StartedCommands(session);
    this.#terms = terms;
  }

  /** @param seconds that it may take at most. @throws InfrastructureError when the workspace is lost; the signal's reason. */
  async perform(action: CommandAction, seconds: number, signal: AbortSignal): Promise<Commanded> {
    switch (action.action) {
      case 'run':
        return await this.#run(action, seconds, signal);
      case 'start':
        return { data: await this.#start(action, signal) };
      case 'poll':
        return { data: toPolled(action.name, await this.#started.poll(action.name, Math.min(action.wait, seconds), signal)) };
      case 'stop':
        return { data: toPolled(action.name, await this.#started.stop(action.name, signal)) };
    }
  }

  /** Runs a tool of the task with its arguments as one line of JSON. */
  async callTool({ tool, values }: ToolCall, seconds: number, signal: AbortSignal): Promise<Commanded> {
    const rest = { ...this.#buildCommand(`${JSON.stringify(values)}\n`), seconds: boundSeconds(tool.timeout, seconds) };
    return toCommanded(await this.#runOne({ argv: tool.command, ...rest }, signal));
  }

  async #run({ command, stdin, timeout }: Extract<Action, { action: 'run' }>, seconds: number, signal: AbortSignal): Promise<Commanded> {
    const bound = boundSeconds(timeout, seconds);
    const ran = await this.#runInShell(
      (shell) => this.#runOne({ ...this.#buildShellCommand(shell, command, stdin), seconds: bound }, signal),
      ({ result: { end } }) => end.kind === 'unstartable',
      joinChanges,
    );
    return toCommanded(ran);
  }

  async #runOne(command: Command, signal: AbortSignal): Promise<RunWithChanges> {
    const { watched } = this.#terms;
    if (watched !== undefined) return await runAndReadChanges(this.#session, command, watched, signal);
    return { result: await this.#session.run(command, signal), changes: undefined };
  }

  async #start({ name, command, stdin }: Extract<Action, { action: 'start' }>, signal: AbortSignal): Promise<ObservationData> {
    const started = await this.#runInShell(
      (shell) => this.#started.start(name, this.#buildShellCommand(shell, command, stdin), signal),
      (result) => result.kind === 'given' && result.result.end?.kind === 'unstartable',
    );
    return started.kind === 'given' && started.result.end === null ? { kind: 'started', name } : toPolled(name, started);
  }

  #buildCommand(stdin: string): Omit<Command, 'argv' | 'seconds'> {
    const { workdir, environment, output } = this.#terms;
    return { directory: workdir, environment, output, input: Buffer.from(stdin), sampled: false };
  }

  /** SHELL is set as in a terminal: without it each start of bash reads the names of all users, and the files that say where those are. */
  #buildShellCommand(shell: string, command: string, stdin: string): Omit<Command, 'seconds'> {
    const { environment, ...rest } = this.#buildCommand(stdin);
    const { SHELL = shell } = this.#session.environment;
    return { argv: [shell, '-c', command], ...rest, environment: { SHELL, ...environment } };
  }

  /** Uses the next shell when the first does not exist. */
  async #runInShell<Result>(
    begin: (shell: string) => Promise<Result>,
    isMissing: (result: Result) => boolean,
    join = (_first: Result, second: Result): Result => second,
  ): Promise<Result> {
    const result = await begin(this.#shell);
    if (this.#shell !== SHELLS[0] || !isMissing(result)) return result;
    [, this.#shell] = SHELLS;
    return join(result, await begin(this.#shell));
  }
}

function boundSeconds(asked: number, most: number): number {
  return Math.max(0.001, Math.min(asked, most));
}

function toCommanded({ result: { end, stdout, stderr }, changes }: RunWithChanges): Commanded {
  return { data: { kind: 'ran', end, stdout: formatExcerpt(stdout), stderr: formatExcerpt(stderr) }, changes };
}

/** The second scan reports what the first one refused. */
function joinChanges({ changes: first }: RunWithChanges, { result, changes: second }: RunWithChanges): RunWithChanges {
  if (first?.kind !== 'given' || second?.kind !== 'given') return { result, changes: second };
  return { result, changes: { kind: 'given', result: joinDeltas(first.result, second.result) } };
}

function toPolled(name: string, polled: FileResult<Polled>): ObservationData {
  if (polled.kind === 'refused') return refuseFile(polled.refusal);
  const { end, stdout, stderr } = polled.result;
  return { kind: 'polled', name, end, stdout: formatExcerpt(stdout), stderr: formatExcerpt(stderr) };
}
