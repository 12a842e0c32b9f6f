import type { RunnerKind } from '../../tasks/muster-schema.ts';
import type { Tripwire } from '../../tasks/muster-schema.ts';
import type { WrittenFile } from '../../tasks/written-task.ts';
import type { SourceFiles } from '../source/source-files.ts';

/** What tests are asked for: whole files, to learn what is in them, or exactly these tests. */
export type TestSelection =
  { readonly kind: 'files'; readonly files: readonly string[] } | { readonly kind: 'ids'; readonly ids: readonly string[] };

/** How a framework is told to run tests. */
export interface SuiteCommand {
  readonly runner: RunnerKind;
  /** As `execute.command` of muster.toml. */
  readonly command: readonly string[];
  /** Files in /tests that the command reads, by their paths there. */
  readonly files: Readonly<Record<string, string>>;
}

/** A test framework that a repository's files name. */
export interface Framework {
  readonly name: string;
  /** The file that says so. */
  readonly evidence: string;
  /** Files with tests, in the order of their paths. */
  readonly testFiles: readonly string[];
}

/** A copy of a test with one literal changed, and the file that holds it. */
export interface TripwireDraft {
  readonly tripwire: Omit<Tripwire, 'file'>;
  /** The test that it is a copy of, which passes with the fix. */
  readonly of: string;
  /** Of the repository. */
  readonly path: string;
  /** What is added to the file. */
  readonly block: string;
  /** The same with the literal restored, under another name. */
  readonly restored: { readonly id: string; readonly block: string };
  /** Line of the file before which the blocks are put, from 0. */
  readonly at: number;
}

/** What was installed for the tests. */
export interface PlacedDependencies {
  /** Where it lies: absolute. */
  readonly directory: string;
  readonly files: SourceFiles;
}

/** What cheats are made of. */
export interface CheatPlace {
  /** The source files that the fix changes, as they are without it. */
  readonly sources: readonly { readonly path: string; readonly text: string }[];
  readonly testFiles: readonly string[];
}

/** A submission that has to score 0: files over those of the workdir, or a `solve.sh`. */
export interface Cheat {
  readonly name: string;
  readonly files: readonly WrittenFile[];
}

/** A language with its frameworks. One that is added here and in the table can be prepared. */
export interface LanguageAdapter {
  readonly name: string;
  /** By the repository's files; undefined where they name no framework that is known. */
  detect(files: SourceFiles): Framework | undefined;
  /** Whether exact ids can be asked for; otherwise every test of a file that runs has to be pinned. */
  readonly selectsIds: boolean;
  suite(framework: Framework, selection: TestSelection): SuiteCommand;
  /** Of every command, in agents' workspaces too. @param dependencies undefined where there are none. */
  environment(files: SourceFiles, workdir: string, dependencies: PlacedDependencies | undefined): Readonly<Record<string, string>>;
  /** The file of a test, by its id. */
  fileOf(id: string, framework: Framework): string | undefined;
  /** @param ids of tests in the file that pass with the fix. */
  tripwires(path: string, text: string, ids: readonly string[]): readonly TripwireDraft[];
  cheats(place: CheatPlace): readonly Cheat[];
}
