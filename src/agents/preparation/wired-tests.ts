import type { Tripwire } from '../tasks/muster-schema.ts';
import type { TripwireDraft } from './languages/language-adapter.ts';
import type { DetectedLanguage } from './languages/language-table.ts';
import type { Outcomes, PinnedTests } from './derivation.ts';
import { type SourceFile, type SourceFiles, readText } from './source/source-files.ts';

const MOST_TRIPWIRES = 4;
/** All drafts are tried in one run. Many of them are no tripwires, because the test passes with any literal. */
const [MOST_TRIED_OF_FILE, MOST_TRIED] = [8, 16];
const PACKAGE = 'package/';

/**
 * Drafts candidates for tripwires, at most a few of each file. Copies of tests of failToPass come first: they run the code that a submission changes,
 * so they also catch a submission whose code makes every test that calls it pass.
 */
export function draftTripwires(
  { language, framework }: DetectedLanguage,
  files: SourceFiles,
  testFiles: readonly string[],
  { failToPass, passToPass }: PinnedTests,
): readonly TripwireDraft[] {
  const telling = new Set(failToPass);
  const rank = ({ of }: TripwireDraft): number => (telling.has(of) ? 0 : 1);
  const drafts = testFiles.flatMap((path) =>
    language
      .tripwires(path, readText(files, path) ?? '', [...failToPass, ...passToPass], framework)
      .toSorted((a, b) => rank(a) - rank(b))
      .slice(0, MOST_TRIED_OF_FILE),
  );
  // Tests with the same name in a file would have tripwires with the same name.
  const once = drafts.filter(({ wire }) => drafts.every((other) => other.wire === wire || other.wire.id !== wire.id));
  return once.slice(0, MOST_TRIED);
}

/** Returns the test files with the drafts. @param withRestored whether each is also added with its literal restored, to be tried. */
export function wireTests(files: SourceFiles, drafts: readonly TripwireDraft[], withRestored: boolean): ReadonlyMap<string, SourceFile> {
  const blocks = drafts.flatMap(({ wire, restored }) => (withRestored ? [restored, wire] : [wire]));
  const wired = new Map<string, SourceFile>();
  for (const [path, ofFile] of Map.groupBy(blocks, (block) => block.path)) {
    const lines = (readText(files, path) ?? '').split('\n');
    for (const { at, block } of ofFile.toSorted((a, b) => b.at - a.at)) lines.splice(at, 0, ...block.slice(0, -1).split('\n'));
    wired.set(path, { content: Buffer.from(lines.join('\n')), executable: files.get(path)?.executable ?? false });
  }
  return wired;
}

/** Keeps drafts that fail on the right code, and pass with only the literal restored. */
export function keepTripwires(drafts: readonly TripwireDraft[], outcomes: Outcomes): readonly TripwireDraft[] {
  const kept = drafts.filter(({ tripwire, restored }) => outcomes.get(tripwire.id) === 'failed' && outcomes.get(restored.id) === 'passed');
  return kept.slice(0, MOST_TRIPWIRES);
}

export function describeTripwire({ tripwire, wire }: TripwireDraft): Tripwire {
  return { ...tripwire, file: `${PACKAGE}${wire.path}` };
}
