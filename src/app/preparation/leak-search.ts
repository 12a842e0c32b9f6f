import { z } from 'zod';
import type { StepStore } from '../../adapters/preparation/step-store.ts';
import type { GradingSandboxes } from '../../agents/grading/grading-sandboxes.ts';
import { WORKDIR } from '../../agents/preparation/emitted-task.ts';
import type { FixTrace } from '../../agents/preparation/leaks.ts';
import type { SourceFiles } from '../../agents/preparation/source/source-files.ts';
import { digestFiles } from '../../agents/preparation/step-key.ts';
import { runProgram, withRepository } from './preparation-sandbox.ts';

const SUFFIXES = [
  '.py',
  '.go',
  '.rs',
  '.js',
  '.mjs',
  '.cjs',
  '.ts',
  '.tsx',
  '.jsx',
  '.c',
  '.cc',
  '.cpp',
  '.h',
  '.hpp',
  '.patch',
  '.diff',
  '.orig',
  '.txt',
  '.md',
];
const SECONDS = 120;

export interface LeakSearchTerms {
  /** Files as an agent finds them. */
  readonly files: SourceFiles;
  readonly dependencies: SourceFiles;
  readonly trace: FixTrace;
  /** `LanguageAdapter.releases` */
  readonly releases: readonly string[];
}

/** Finds files in which an agent would find the fix: vendored copies, packages, installed releases, patches. */
export async function searchLeaks(
  { sandboxes, steps }: { readonly sandboxes: GradingSandboxes; readonly steps: StepStore },
  { files, dependencies, trace, releases }: LeakSearchTerms,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const inputs = { files: digestFiles(files), dependencies: digestFiles(dependencies), trace, releases };
  const asked = { parts: trace.parts, word: trace.word, places: [WORKDIR, ...releases], suffixes: SUFFIXES };
  const found = z.array(z.string().max(4096)).max(50);
  return await steps.remember('leaks', inputs, found, () =>
    withRepository(
      sandboxes,
      { files, dependencies, tests: {}, tools: [] },
      async (session, until) => found.parse(await runProgram(session, 'find_leaks.py', asked, SECONDS, until)),
      signal,
    ),
  );
}
