import { type FileResult, type Counted, type FoundLine, ListAnswer, type ListedEntry, ReadAnswer, SearchAnswer } from './file-answers.ts';
import type { WorkspaceSession } from './workspace-session.ts';
import { ChangedAnswer, type WorkspaceDelta } from './workspace-snapshots.ts';

/** The result of writing files: all of it or nothing. */
export interface FileChange {
  /** Whole contents. Directories are made as needed; an existing file keeps its mode. */
  readonly written: readonly { readonly path: string; readonly content: Buffer }[];
  readonly removed: readonly string[];
}

/**
 * Files of a workspace while programs run in it. Paths are absolute; links are followed, including those that the agent has made, and their targets
 * have to be where the workspace is writable. A wrong path is an answer; only the loss of the workspace is thrown.
 */
export class WorkspaceFiles {
  readonly #session: WorkspaceSession;

  constructor(session: WorkspaceSession) {
    this.#session = session;
  }

  /** @param most bytes; a larger file is refused. */
  read(path: string, most: number, signal: AbortSignal): Promise<FileResult<Buffer>> {
    return this.#session.request(new ReadAnswer(), { type: 'read', path, most }, signal);
  }

  /** @param depth 1 for what is directly in the directory. @param most entries in the answer. */
  list(path: string, depth: number, most: number, signal: AbortSignal): Promise<FileResult<Counted<ListedEntry>>> {
    return this.#session.request(new ListAnswer(), { type: 'list', path, depth, most }, signal);
  }

  /** Finds the lines that hold a text, letter for letter. @param most lines in the answer. */
  search(
    path: string,
    { text, ignoresCase }: { readonly text: string; readonly ignoresCase: boolean },
    most: number,
    signal: AbortSignal,
  ): Promise<FileResult<Counted<FoundLine>>> {
    return this.#session.request(new SearchAnswer(), { type: 'search', path, text, ignoresCase, most }, signal);
  }

  /** @returns its changes, by the paths after following links: a later scan of the workspace does not report them again. */
  change({ written, removed }: FileChange, signal: AbortSignal): Promise<FileResult<WorkspaceDelta>> {
    const frame = { type: 'change', paths: written.map(({ path }) => path), sizes: written.map(({ content }) => content.length), removed };
    const contents = written.map(({ content }) => content);
    return this.#session.request(new ChangedAnswer(contents), frame, signal, Buffer.concat(contents));
  }
}
