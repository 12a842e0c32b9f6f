import { type FileResult, ChangeAnswer, FileAnswer } from './file-answers.ts';
import { GRACE_MS, computeLongestMilliseconds, type Command, type CommandResult } from './command.ts';
import type { AnswerFrame } from './workspace-frames.ts';
import type { WorkspaceSession } from './workspace-session.ts';

/** An entry of a workspace, with its absolute path. Only files, links and directories are kept. */
export type WorkspaceEntry =
  | { readonly kind: 'file'; readonly path: string; readonly content: Buffer; readonly executable: boolean }
  | { readonly kind: 'link'; readonly path: string; readonly target: string }
  | { readonly kind: 'directory'; readonly path: string };

/** The changes of a workspace since the last scan. */
export interface WorkspaceDelta {
  readonly entries: readonly WorkspaceEntry[];
  readonly removed: readonly string[];
}

/** Bounds on what is scanned, and on what is new in it. */
export const SNAPSHOT_BOUNDS = { files: 50_000, bytes: 128 * 2 ** 20 } as const;

/** Takes what is in directories of a workspace as the state that changes are compared with. */
export async function markWorkspace(
  session: WorkspaceSession,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<FileResult<unknown>> {
  return await session.request(new DeltaAnswer(), { type: 'snapshot', paths, baseline: true, ...SNAPSHOT_BOUNDS }, signal);
}

/**
 * Reads the changes since the last scan, without ending what runs there. More changes than the bounds allow are refused, and the next scan reports
 * them again.
 */
export async function readChanges(
  session: WorkspaceSession,
  paths: readonly string[],
  signal: AbortSignal,
  bounds: { readonly files: number; readonly bytes: number } = SNAPSHOT_BOUNDS,
): Promise<FileResult<WorkspaceDelta>> {
  return await session.request(new DeltaAnswer(), { type: 'snapshot', paths, baseline: false, ...bounds }, signal);
}

/** A command's result, and the changes of the workspace with it; undefined when the sandbox has ended with the command. */
export interface RunWithChanges {
  readonly result: CommandResult;
  readonly changes: FileResult<WorkspaceDelta> | undefined;
}

/** Runs a command and reads the changes after it, in one exchange. @throws as both do. */
export async function runAndReadChanges(
  session: WorkspaceSession,
  command: Command,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<RunWithChanges> {
  const ran = session.run(command, signal);
  const look = { type: 'snapshot', paths, baseline: false, ...SNAPSHOT_BOUNDS };
  const looked = session.request(new DeltaAnswer(), look, signal, undefined, computeLongestMilliseconds(command) + GRACE_MS);
  // The command fails with it, and says why.
  looked.catch(() => undefined);
  const result = await ran;
  return { result, changes: session.exit === undefined ? await looked : undefined };
}

/** Joins two consecutive changes into one. */
export function joinDeltas(first: WorkspaceDelta, second: WorkspaceDelta): WorkspaceDelta {
  const later = new Set([...second.removed, ...second.entries.map(({ path }) => path)]);
  return {
    entries: [...first.entries.filter(({ path }) => !later.has(path)), ...second.entries],
    removed: [...first.removed.filter((path) => !later.has(path)), ...second.removed],
  };
}

/** Selects the changes in these directories. */
export function selectInside({ entries, removed }: WorkspaceDelta, directories: readonly string[]): WorkspaceDelta {
  const isInside = (path: string): boolean => directories.some((each) => path.startsWith(`${each}/`));
  return { entries: entries.filter(({ path }) => isInside(path)), removed: removed.filter(isInside) };
}

/** Brings an empty workspace into a stored state. @throws InfrastructureError when that fails. */
export async function restoreWorkspace(
  session: WorkspaceSession,
  entries: readonly WorkspaceEntry[],
  signal: AbortSignal,
): Promise<FileResult<true>> {
  const files = entries.filter((entry) => entry.kind === 'file');
  await session.put(files, signal);
  const links = entries.filter((entry) => entry.kind === 'link');
  const directories = entries.filter((entry) => entry.kind === 'directory').map(({ path }) => path);
  const frame = { type: 'arrange', directories, links: links.map(({ path }) => path), targets: links.map(({ target }) => target) };
  return await session.request(new ChangeAnswer(), frame, signal);
}

/** Puts together what a change has changed: the program does not send back the contents that it was given. */
export class ChangedAnswer extends FileAnswer<WorkspaceDelta> {
  readonly #contents: readonly Buffer[];
  readonly #entries: WorkspaceEntry[] = [];
  readonly #removed: string[] = [];
  #files = 0;

  /** @param contents of the files, in the order of the request. */
  constructor(contents: readonly Buffer[]) {
    super();
    this.#contents = contents;
  }

  protected override takePart(frame: AnswerFrame): WorkspaceDelta | undefined | 'unexpected' {
    switch (frame.type) {
      case 'entry': {
        if (frame.kind !== 'file') {
          this.#entries.push(toKeptEntry(frame));
          return undefined;
        }
        const content = this.#contents[this.#files];
        if (content === undefined) return 'unexpected';
        this.#files += 1;
        this.#entries.push({ kind: 'file', path: frame.path, executable: frame.executable, content });
        return undefined;
      }
      case 'removed':
        this.#removed.push(frame.path);
        return undefined;
      case 'done':
        return { entries: this.#entries, removed: this.#removed };
      default:
        return 'unexpected';
    }
  }
}

interface OpenFile {
  readonly path: string;
  readonly executable: boolean;
  readonly parts: Buffer[];
}

class DeltaAnswer extends FileAnswer<WorkspaceDelta> {
  readonly #entries: (OpenFile | Exclude<WorkspaceEntry, { kind: 'file' }>)[] = [];
  readonly #removed: string[] = [];

  protected override takePart(frame: AnswerFrame): WorkspaceDelta | undefined | 'unexpected' {
    switch (frame.type) {
      case 'entry':
        this.#entries.push(frame.kind === 'file' ? { path: frame.path, executable: frame.executable, parts: [] } : toKeptEntry(frame));
        return undefined;
      case 'data': {
        const last = this.#entries.at(-1);
        if (last === undefined || !('parts' in last)) return 'unexpected';
        last.parts.push(frame.data);
        return undefined;
      }
      case 'removed':
        this.#removed.push(frame.path);
        return undefined;
      case 'done':
        return { entries: this.#entries.map(toWhole), removed: this.#removed };
      default:
        return 'unexpected';
    }
  }
}

function toKeptEntry(
  frame: { readonly kind: 'directory'; readonly path: string } | { readonly kind: 'link'; readonly path: string; readonly target: string },
): Exclude<WorkspaceEntry, { kind: 'file' }> {
  return frame.kind === 'link' ? { kind: 'link', path: frame.path, target: frame.target } : { kind: 'directory', path: frame.path };
}

function toWhole(entry: OpenFile | Exclude<WorkspaceEntry, { kind: 'file' }>): WorkspaceEntry {
  if (!('parts' in entry)) return entry;
  return { kind: 'file', path: entry.path, executable: entry.executable, content: Buffer.concat(entry.parts) };
}
