import { digestBytes } from '../../../kernel/canonical-json.ts';
import type { Effect } from '../../actions/action-executor.ts';
import type { FileAtStep } from '../../arena/episode-files.ts';
import { compareWorkspaces, type WorkspaceDiff } from '../../arena/workspace-diff.ts';
import type { WorkspaceFile } from '../../workspace/command.ts';
import type { FileResult } from '../../workspace/file-answers.ts';
import type { WorkspaceSession } from '../../workspace/workspace-session.ts';
import {
  joinDeltas,
  markWorkspace,
  readChanges,
  SNAPSHOT_BOUNDS,
  type WorkspaceDelta,
  type WorkspaceEntry,
  selectInside,
} from '../../workspace/workspace-snapshots.ts';

export interface ChangesTerms {
  /** The task's next step needs all changes in the end. */
  readonly isKept: boolean;
  /** Whether each action is shown with what it has changed. */
  readonly isShown: boolean;
}

/** Larger files are named only, so their contents are of no use here. */
const MOST_FILE_BYTES = 512 * 1024;
/** The largest number of bytes of contents that are held for one workspace, besides the task's own files. */
const MOST_HELD_BYTES = 32 * 2 ** 20;
/** The bounds of one scan: reading more of what a program has written is not worth the time. */
const SHOWN_BOUNDS = { files: SNAPSHOT_BOUNDS.files, bytes: 4 * 2 ** 20 };
const NOTHING: WorkspaceDelta = { entries: [], removed: [] };

/** The changes of one workspace's files from one action to the next. It is scanned only where programs have run in it. */
export class WorkspaceChanges {
  readonly #session: WorkspaceSession;
  readonly #paths: readonly string[];
  readonly #terms: ChangesTerms;
  /** The files as last seen; null for removed ones. A content is hashed only when it is compared, which most never are. */
  readonly #known = new Map<string, (() => FileAtStep) | null>();
  #held = 0;
  #isMarked = false;
  #all = NOTHING;

  /** @param paths of the directories that are scanned. */
  constructor(session: WorkspaceSession, paths: readonly string[], terms: ChangesTerms) {
    this.#session = session;
    this.#paths = paths;
    this.#terms = terms;
  }

  /** Begins in an empty workspace: files that are laid into it are kept for the next step, too. */
  async beginEmpty(signal: AbortSignal): Promise<void> {
    if (this.#terms.isKept) await this.#mark(signal);
  }

  /** Begins when the agent is about to act. @param brought the step's initial files, as far as they are known. */
  async begin(brought: readonly (WorkspaceFile | WorkspaceEntry)[], signal: AbortSignal): Promise<void> {
    if (!this.#terms.isShown) return;
    for (const entry of brought) this.#known.set(entry.path, () => toFileAtStep('kind' in entry ? entry : { kind: 'file', ...entry }));
    if (!this.#terms.isKept) return await this.#mark(signal);
    const laid = await this.#read(signal);
    for (const entry of laid?.entries ?? []) this.#known.set(entry.path, () => toFileAtStep(entry));
  }

  /** Returns the changes of an action; undefined where they are not shown, or exceed the bounds. */
  async after({ delta, isOpen }: Effect, signal: AbortSignal): Promise<WorkspaceDiff | undefined> {
    const own = selectInside(delta, this.#paths);
    this.#note(own);
    if (!this.#terms.isShown || this.#session.exit !== undefined) return undefined;
    if (!isOpen) return await this.#compare(own);
    const read = await this.#read(signal);
    return read && (await this.#compare(joinDeltas(own, read)));
  }

  /** Returns the changes besides the actions': by an agent that is a program, or by programs that keep running. */
  async rest(signal: AbortSignal): Promise<WorkspaceDiff | undefined> {
    return await this.after({ delta: NOTHING, isOpen: true }, signal);
  }

  /** Reads all changes since `beginEmpty`. */
  async readAll(signal: AbortSignal): Promise<FileResult<WorkspaceDelta>> {
    const last = await readChanges(this.#session, this.#paths, signal);
    return last.kind === 'refused' ? last : { kind: 'given', result: joinDeltas(this.#all, last.result) };
  }

  async #mark(signal: AbortSignal): Promise<void> {
    this.#isMarked = (await markWorkspace(this.#session, this.#paths, signal)).kind === 'given';
  }

  /** When one scan may not return everything, the next one starts from the beginning, unless everything has to be kept. */
  async #read(signal: AbortSignal): Promise<WorkspaceDelta | undefined> {
    if (!this.#isMarked) return undefined;
    const changes = await readChanges(this.#session, this.#paths, signal, this.#terms.isKept ? SNAPSHOT_BOUNDS : SHOWN_BOUNDS);
    if (changes.kind === 'given') {
      this.#note(changes.result);
      return changes.result;
    }
    if (!this.#terms.isKept) await this.#mark(signal);
    return undefined;
  }

  #note(delta: WorkspaceDelta): void {
    if (this.#terms.isKept) this.#all = joinDeltas(this.#all, delta);
  }

  async #compare({ entries, removed }: WorkspaceDelta): Promise<WorkspaceDiff> {
    const [before, after] = [new Map<string, FileAtStep>(), new Map<string, FileAtStep>()];
    const now = [...entries.map((entry) => [entry.path, toFileAtStep(entry)] as const), ...removed.map((path) => [path, null] as const)];
    for (const [path, file] of now) {
      const known = this.#known.get(path);
      if (known) before.set(path, known());
      if (file) after.set(path, file);
      const held = file && this.#hold(file);
      this.#known.set(path, held && (() => held));
    }
    return await compareWorkspaces(before, after);
  }

  /** Keeps the content of the file while there is room. */
  #hold(file: FileAtStep): FileAtStep {
    if (file.kind !== 'file') return file;
    this.#held += file.bytes;
    const isHeld = file.bytes <= MOST_FILE_BYTES && this.#held <= MOST_HELD_BYTES;
    return isHeld ? file : { ...file, content: async () => undefined };
  }
}

function toFileAtStep(entry: WorkspaceEntry): FileAtStep {
  if (entry.kind !== 'file') return entry;
  const { path, content, executable } = entry;
  return { kind: 'file', path, digest: digestBytes(content), bytes: content.length, executable, content: async () => content };
}
