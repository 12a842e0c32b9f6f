import type { RunnerKind, Tripwire } from '../../tasks/muster-schema.ts';
import type { WrittenFile } from '../../tasks/written-task.ts';
import type { SourceFiles } from '../source/source-files.ts';

/** The tests to run: whole files, to learn their tests, or these tests. */
export type TestSelection =
  { readonly kind: 'files'; readonly files: readonly string[] } | { readonly kind: 'ids'; readonly ids: readonly string[] };

/** How to have a framework run tests. */
export interface SuiteCommand {
  readonly runner: RunnerKind;
  /** The command in the form of `execute.command` of muster.toml. */
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
  /** Directories of tests, by their ids; empty where an id names its file. */
  readonly places: ReadonlyMap<string, string>;
  /** Words that a user adds to the command that runs the tests. */
  readonly added?: readonly string[];
}

/** Lines that are inserted into a file, which may be a new one. */
export interface TestBlock {
  readonly id: string;
  /** Path in the repository. */
  readonly path: string;
  /** Line of the file before which the block is inserted, from 0. */
  readonly at: number;
  readonly block: string;
}

/** A copy of a test with one literal changed. */
export interface TripwireDraft {
  readonly tripwire: Omit<Tripwire, 'file'>;
  /** The test that it is a copy of, which passes with the fix. */
  readonly of: string;
  readonly wire: TestBlock;
  /** The test with the literal restored, under another name. */
  readonly restored: TestBlock;
}

/** How what tests need is installed. */
export interface DependencyPlan {
  /** Whether a file declares dependencies: nothing else in a repository changes what is installed. */
  declares(path: string): boolean;
  /** Whether such a file may name something that is to be installed. */
  mayName(path: string, text: string): boolean;
  /** A program in runner/muster_preparation. */
  readonly program: string;
  /** A directory below the one that is placed in the workdir. When it is empty, the program puts its files there itself. */
  readonly directory: string;
}

/** A run of the tests that writes the covered lines of each file, as JSON, to the file that `MUSTER_COVERAGE_FILE` names. */
export type CoveragePlan =
  | { readonly kind: 'plugin'; readonly plugin: 'muster_coverage' }
  | { readonly kind: 'suite'; readonly suite: (framework: Framework) => SuiteCommand };

/** A grammar by which code is read. */
export type Grammar = 'javascript' | 'typescript' | 'tsx' | 'go' | 'rust' | 'cpp';

/** What cheats are made of. */
export interface CheatSources {
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
  /** Returns the framework that the repository's files name; undefined when they name no known one. */
  detect(files: SourceFiles): Framework | undefined;
  /** Names the smallest part that can be run: the test itself, or what holds it. Every test of a part that runs has to be pinned. */
  getPart(id: string): string;
  suite(framework: Framework, selection: TestSelection): SuiteCommand;
  /** Returns the environment of every command, in agents' workspaces too. @param dependencies by their paths in the workdir. */
  environment(files: SourceFiles, workdir: string, dependencies: SourceFiles): Readonly<Record<string, string>>;
  /** Finds the file of a test, by its id. */
  findFile(id: string, framework: Framework): string | undefined;
  /** Whether a file of tests can be taken away without breaking the build. */
  readonly hidesTests: boolean;
  readonly dependencies: DependencyPlan | undefined;
  /** Directories of a machine in which an agent can read installed code of this language; `*` matches any name. */
  readonly releases: readonly string[];
  /** How the tests are run to learn which lines they cover; undefined: all code counts as covered. */
  readonly coverage: CoveragePlan | undefined;
  /** Chooses how code is read to break it; `ast`: by Python's own parser. */
  chooseGrammar(path: string): Grammar | 'ast' | undefined;
  /** @param ids of tests in the file that pass with the fix. */
  tripwires(path: string, text: string, ids: readonly string[], framework: Framework): readonly TripwireDraft[];
  cheats(place: CheatSources): readonly Cheat[];
}
