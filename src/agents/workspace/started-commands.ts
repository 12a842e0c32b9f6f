import { FileAnswer, type FileResult } from './file-answers.ts';
import type { Command, CommandEnd, PrintedOutput } from './command.ts';
import type { AnswerFrame } from './workspace-frames.ts';
import type { WorkspaceSession } from './workspace-session.ts';

/** A started command, since it was last queried. */
export interface Polled {
  /** Null while it runs. */
  readonly end: CommandEnd | null;
  readonly stdout: PrintedOutput;
  readonly stderr: PrintedOutput;
}

/**
 * Commands of a workspace that run while others run; each has a name. They end with the workspace, and when files are collected. The rest of an ended
 * command's output is kept until its name or its slot is needed.
 */
export class StartedCommands {
  readonly #session: WorkspaceSession;

  constructor(session: WorkspaceSession) {
    this.#session = session;
  }

  /** @returns with an end when it could not be started; refused when one with this name runs, or too many do. */
  start(
    name: string,
    { argv, directory, environment, input, output }: Omit<Command, 'seconds'>,
    signal: AbortSignal,
  ): Promise<FileResult<Polled>> {
    // Fields of a command that ends, of which none matters here.
    const plain = { seconds: 1, reports: false, line: false, alone: false, sampled: false, watched: [], forks: false, modules: [] };
    const variables = { ...this.#session.environment, ...environment };
    const frame = { type: 'start', name, argv, directory, environment: variables, ...output, ...plain };
    return this.#session.request(new PolledAnswer(), frame, signal, input);
  }

  /** @param seconds to wait until it prints or ends, a minute at most. */
  poll(name: string, seconds: number, signal: AbortSignal): Promise<FileResult<Polled>> {
    return this.#session.request(new PolledAnswer(), { type: 'poll', name, seconds: Math.max(0.001, seconds) }, signal);
  }

  /** Ends it and what it has started. */
  stop(name: string, signal: AbortSignal): Promise<FileResult<Polled>> {
    return this.#session.request(new PolledAnswer(), { type: 'stop', name }, signal);
  }
}

class PolledAnswer extends FileAnswer<Polled> {
  readonly #parts = {
    stdout: { head: new Array<Buffer>(), tail: new Array<Buffer>() },
    stderr: { head: new Array<Buffer>(), tail: new Array<Buffer>() },
  };

  protected override takePart(frame: AnswerFrame): Polled | undefined | 'unexpected' {
    if (frame.type === 'polled')
      return { end: frame.end, stdout: this.#getPrinted('stdout', frame.bytes), stderr: this.#getPrinted('stderr', frame.bytes) };
    if (frame.type !== 'output' || frame.stream === 'report') return 'unexpected';
    this.#parts[frame.stream][frame.part].push(frame.data);
    return undefined;
  }

  #getPrinted(stream: 'stdout' | 'stderr', bytes: Readonly<Record<'stdout' | 'stderr', number>>): PrintedOutput {
    const { head, tail } = this.#parts[stream];
    return { head: Buffer.concat(head), tail: Buffer.concat(tail), total: bytes[stream] };
  }
}
