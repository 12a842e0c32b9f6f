import type { FileContents, FilesByPath } from '../../../support/grading-fixture.ts';
import type { TaskKind } from './kinds.ts';

/** What a verifier has to withstand. Each has at least one attack in the catalogue. */
export const ITEMS = [
  'equal-objects',
  'comparator',
  'stack',
  'by-heart',
  'call-count',
  'constant',
  'empty-answer',
  'guessed-path',
  'reference',
  'arguments',
  'precision',
  'exit',
  'skip',
  'markers',
  'no-tests',
  'deleted-tests',
  'hang',
  'report-file',
  'results-parser',
  'planted-tests',
  'early-reward',
  'invalid-reward',
  'reward-daemon',
  'script-daemon',
  'start-files',
  'programs',
  'linked-artifact',
  'huge-artifact',
  'many-artifacts',
  'leaving-archive',
  'artifact-names',
  'left-over-answers',
  'history',
  'network',
  'clock',
  'spread-memory',
  'measured-only',
  'endless-output',
  'endless-compile',
  'compile-outside',
  'forbidden',
] as const;

/** A way to be rewarded without having solved the task, and an honest solution that does something similar for a good reason. */
export interface Attack {
  readonly name: string;
  readonly item: (typeof ITEMS)[number];
  /** The kind of task that it is made against; 'cases' by default. */
  readonly against?: TaskKind;
  /** What the agent leaves in /app. */
  readonly files: FilesByPath;
  /** What it runs in its workspace, where that is. Processes that it leaves behind are there when a naive verifier judges. */
  readonly script?: string;
  /** The naive verifier's tests, beside or in place of `NAIVE_TESTS`; with a task that a script judges, they are that task's as well. */
  readonly naive?: FilesByPath;
  /** What the naive verifier gives; "1" by default. */
  readonly fooled?: string;
  /** What ours gives; 0 by default. null: no reward, since the script's own is none. */
  readonly reward?: 0 | null;
  /** Files of our task in place of those of its kind. */
  readonly task?: FileContents;
  /** Whether the naive verifier's sandbox reaches the network. "{index}" in the files stands for an address where the solution is. */
  readonly isOnline?: true;
  /**
   * Whether "{bound}" and "{beyond}" in the files stand for processor seconds: several times what the twin uses here, and twice that. The start of
   * Python alone takes ten times as long behind one wall as behind another.
   */
  readonly isCalibrated?: true;
  readonly twin: { readonly files: FilesByPath; readonly script?: string };
}
