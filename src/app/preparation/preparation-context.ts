import type { GitRepository } from '../../adapters/preparation/git-repository.ts';
import type { StepStore } from '../../adapters/preparation/step-store.ts';
import type { SyntaxParser } from '../../adapters/preparation/syntax-parser.ts';
import type { GradingSandboxes } from '../../agents/grading/grading-sandboxes.ts';
import type { DetectedLanguage } from '../../agents/preparation/languages/language-table.ts';
import type { SourceFiles } from '../../agents/preparation/source/source-files.ts';
import type { PrepareListeners } from './prepare-terms.ts';
import type { TestRuns } from './test-runs.ts';

/** The packages that a repository's tests need besides the repository, installed once and pinned. */
export interface InstalledDependencies {
  /** Files by their paths in the workdir. */
  readonly files: SourceFiles;
  /** The names of the packages, with their versions. */
  readonly pinned: readonly string[];
}

/** Writes the instruction of a fix whose message says nothing. */
export interface WritesInstructions {
  write(message: string, patch: string, signal: AbortSignal): Promise<string>;
}

/** What the preparations of one repository's candidates share. */
export interface PreparationContext {
  readonly repository: string;
  readonly history: GitRepository | undefined;
  readonly sandboxes: GradingSandboxes;
  readonly steps: StepStore;
  readonly runs: TestRuns;
  readonly parser: SyntaxParser;
  /** The largest number of seconds of one run of the tests. */
  readonly testSeconds: number;
  /** Words for the command that runs the tests. */
  readonly testArguments: readonly string[];
  readonly writer: WritesInstructions | undefined;
  readonly onStep: PrepareListeners['onStep'];
  /** @throws Refused (`bootstrap`) when they cannot be installed. */
  readonly dependencies: (detected: DetectedLanguage, files: SourceFiles, signal: AbortSignal) => Promise<InstalledDependencies>;
}
