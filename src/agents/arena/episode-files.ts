import type { Digest } from '../../kernel/ids.ts';
import { digestBytes } from '../../kernel/canonical-json.ts';
import type { WorkspaceFile } from '../workspace/command.ts';
import type { AgentEpisodeId } from './episode-ids.ts';
import { readContent, applyDeltas, type FileContents, type StepDelta } from './step-files.ts';

/** Something in the workspace after a step. Paths are absolute. */
export type FileAtStep =
  | {
      readonly kind: 'file';
      readonly path: string;
      readonly digest: Digest;
      readonly bytes: number;
      readonly executable: boolean;
      /** @returns undefined when it is no longer stored. */
      readonly content: () => Promise<Buffer | undefined>;
    }
  | { readonly kind: 'link'; readonly path: string; readonly target: string }
  | { readonly kind: 'directory'; readonly path: string };

/** The files of an episode after any of its steps: those of the task, with the changes of the steps. */
export class EpisodeFiles {
  readonly #brought: readonly WorkspaceFile[];
  readonly #deltas: readonly StepDelta[];
  readonly #contents: FileContents;
  readonly #tree: AgentEpisodeId;

  /** @param deltas of all steps, from the first one on. */
  constructor(brought: readonly WorkspaceFile[], deltas: readonly StepDelta[], contents: FileContents, tree: AgentEpisodeId) {
    this.#brought = brought;
    this.#deltas = deltas;
    this.#contents = contents;
    this.#tree = tree;
  }

  /** @param step 0 for the task's own files. @returns by path, in the order of the paths. */
  at(step: number): ReadonlyMap<string, FileAtStep> {
    const { entries, removed } = applyDeltas(this.#deltas.slice(0, step));
    const found = new Map<string, FileAtStep>();
    for (const file of this.#brought) if (!removed.has(file.path)) found.set(file.path, toFileAtStep(file));
    for (const entry of entries) {
      if (entry.kind !== 'file') found.set(entry.path, entry);
      else {
        const { path, digest, bytes, executable } = entry;
        const content = (): Promise<Buffer | undefined> => readContent(entry, this.#contents, this.#tree);
        found.set(path, { kind: 'file', path, digest, bytes, executable, content });
      }
    }
    return new Map([...found].sort(([one], [other]) => (one < other ? -1 : 1)));
  }
}

function toFileAtStep({ path, content, executable }: WorkspaceFile): FileAtStep {
  return { kind: 'file', path, digest: digestBytes(content), bytes: content.length, executable, content: async () => content };
}
