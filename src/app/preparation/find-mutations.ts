import type { StepStore } from '../../adapters/preparation/step-store.ts';
import type { SyntaxParser } from '../../adapters/preparation/syntax-parser.ts';
import type { GradingSandboxes } from '../../agents/grading/grading-sandboxes.ts';
import type { Mutation } from '../../agents/preparation/candidate.ts';
import type { DetectedLanguage } from '../../agents/preparation/languages/language-table.ts';
import { isCode } from '../../agents/preparation/source/path-kinds.ts';
import { type SourceFiles, readText } from '../../agents/preparation/source/source-files.ts';
import { mutatePython } from './python-mutations.ts';

export interface MutationTools {
  readonly sandboxes: GradingSandboxes;
  readonly steps: StepStore;
  readonly parser: SyntaxParser;
}

/** Covered lines by path; undefined: all code. */
export type Coverage = Readonly<Record<string, readonly number[]>> | undefined;

/** Ways to break the code that tests cover. A file that a framework names holds tests, whatever its path. */
export async function findMutations(
  tools: MutationTools,
  { language, framework }: DetectedLanguage,
  files: SourceFiles,
  covered: Coverage,
  signal: AbortSignal,
): Promise<readonly Mutation[]> {
  const found: Mutation[] = [];
  const tests = new Set(framework.testFiles);
  const code = new Map([...files].filter(([path]) => isCode(path) && !tests.has(path)));
  for (const path of code.keys()) {
    const grammar = language.chooseGrammar(path);
    if (grammar === undefined || grammar === 'ast') continue;
    const lines = covered === undefined ? undefined : new Set(covered[path]);
    const mutations = await tools.parser.mutate(path, readText(code, path) ?? '', grammar);
    found.push(...mutations.filter(({ line }) => lines === undefined || lines.has(line)));
    signal.throwIfAborted();
  }
  return covered === undefined ? found : [...found, ...(await mutatePython(tools, code, covered, signal))];
}
