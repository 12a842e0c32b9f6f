import { InfrastructureError } from '../../kernel/errors.ts';
import type { CommandLine } from './command-line.ts';
import type { Collected, CommandEnd, CommandResult, PrintedOutput, WorkspaceFile } from './command.ts';
import type { AnswerFrame } from './workspace-frames.ts';

/** Joins the frames of one answer. */
export interface Answer<Result> {
  /** @returns undefined while there is more to come. @throws InfrastructureError when the frame does not belong here. */
  take(frame: AnswerFrame): Result | undefined;
}

type Stream = 'stdout' | 'stderr' | 'report';

export class CommandAnswer implements Answer<CommandResult> {
  readonly #parts: Record<Stream, Record<'head' | 'tail', Buffer[]>> = {
    stdout: { head: [], tail: [] },
    stderr: { head: [], tail: [] },
    report: { head: [], tail: [] },
  };

  readonly #line: CommandLine | undefined;

  constructor(line?: CommandLine) {
    this.#line = line;
  }

  take(frame: AnswerFrame): CommandResult | undefined {
    switch (frame.type) {
      case 'line':
        this.#line?.take(frame.data);
        return undefined;
      case 'output':
        this.#parts[frame.stream][frame.part].push(frame.data);
        return undefined;
      case 'ended': {
        const { end, bytes, seconds, cpuSeconds, peakBytes, called } = frame;
        return { ...this.#buildResult(end, bytes), seconds, cpuSeconds, peakBytes, called };
      }
      case 'refused':
        throw new InfrastructureError('workspace.failed', `a command could not be run: ${frame.kind} ${frame.path}: ${frame.detail}`);
      default:
        throw createUnexpectedError(frame);
    }
  }

  /** Returns what is known when the sandbox was ended by its memory limit. */
  outOfMemory(): CommandResult {
    return {
      ...this.#buildResult({ kind: 'out-of-memory' }, { stdout: 0, stderr: 0, report: 0 }),
      seconds: 0,
      cpuSeconds: 0,
      peakBytes: 0,
      called: [],
    };
  }

  #buildResult(end: CommandEnd, bytes: Readonly<Record<Stream, number>>): Pick<CommandResult, 'end' | Stream> {
    const printed = (stream: Stream): PrintedOutput => ({
      head: Buffer.concat(this.#parts[stream].head),
      tail: Buffer.concat(this.#parts[stream].tail),
      total: bytes[stream],
    });
    return { end, stdout: printed('stdout'), stderr: printed('stderr'), report: printed('report') };
  }
}

export class CollectionAnswer implements Answer<Collected> {
  readonly #files: { readonly path: string; readonly executable: boolean; readonly parts: Buffer[] }[] = [];
  readonly #directories: string[] = [];

  take(frame: AnswerFrame): Collected | undefined {
    switch (frame.type) {
      case 'entry':
        if (frame.kind === 'directory') this.#directories.push(frame.path);
        else if (frame.kind === 'link') throw createUnexpectedError(frame);
        else this.#files.push({ path: frame.path, executable: frame.executable, parts: [] });
        return undefined;
      case 'data':
        this.#files.at(-1)?.parts.push(frame.data);
        return undefined;
      case 'done':
        return { kind: 'collected', files: this.#files.map(joinParts), directories: this.#directories };
      case 'refused':
        return { kind: 'refused', refusal: { kind: frame.kind, path: frame.path, detail: frame.detail } };
      default:
        throw createUnexpectedError(frame);
    }
  }
}

function joinParts({
  path,
  executable,
  parts,
}: {
  readonly path: string;
  readonly executable: boolean;
  readonly parts: Buffer[];
}): WorkspaceFile {
  return { path, executable, content: Buffer.concat(parts) };
}

/** The answer to a request that has no result. */
export class DoneAnswer implements Answer<true> {
  take(frame: AnswerFrame): true {
    if (frame.type === 'done') return true;
    if (frame.type !== 'refused') throw createUnexpectedError(frame);
    throw new InfrastructureError('workspace.failed', `the workspace refused: ${frame.kind} ${frame.path}: ${frame.detail}`);
  }
}

function createUnexpectedError({ type }: AnswerFrame): InfrastructureError {
  return new InfrastructureError('workspace.protocol', `the program in the workspace answered with "${type}"`);
}
