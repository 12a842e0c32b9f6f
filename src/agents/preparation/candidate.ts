import type { Issue } from './issue.ts';
import type { SourceFiles } from './source/source-files.ts';

/** A commit of the first-parent history of HEAD; of a merge, the merged change as a whole. */
export interface Commit {
  readonly id: string;
  readonly parent: string | undefined;
  /** Seconds since 1970. */
  readonly committed: number;
  readonly message: string;
}

export interface FileChange {
  readonly path: string;
  readonly isBinary: boolean;
  /** Lines. */
  readonly added: number;
  readonly removed: number;
  /** No plain file before or after: a link or a submodule. */
  readonly isSpecial: boolean;
}

/** A place in covered code that is broken on purpose. */
export interface Mutation {
  readonly path: string;
  /** The function's name in the language's form; empty when unknown. */
  readonly function: string;
  readonly kind: 'operator' | 'constant' | 'branch' | 'call';
  readonly line: number;
  /** The file with the mutation. */
  readonly text: string;
  /** The function's documentation; empty where there is none. */
  readonly documentation: string;
}

/** What a task can be made from. */
export type Candidate =
  | {
      readonly kind: 'fix';
      readonly id: string;
      readonly commit: Commit;
      readonly changes: readonly FileChange[];
      /** The issues that the commit says it fixes, as far as they were looked up. */
      readonly issues?: readonly Issue[];
    }
  | { readonly kind: 'mutation'; readonly id: string; readonly mutation: Mutation };

/** The states of the code that all later steps work with. */
export interface CodeStates {
  /** The files that the agent finds. */
  readonly before: SourceFiles;
  /** The files with the judging tests. */
  readonly tested: SourceFiles;
  /** The files with the judging tests and the right code. */
  readonly solved: SourceFiles;
}
