import { z } from 'zod';
import type { StepStore } from '../../adapters/preparation/step-store.ts';
import type { SyntaxParser } from '../../adapters/preparation/syntax-parser.ts';
import type { GradingSandboxes } from '../../agents/grading/grading-sandboxes.ts';
import type { Mutation } from '../../agents/preparation/candidate.ts';
import type { DetectedLanguage } from '../../agents/preparation/languages/language-table.ts';
import { isCode } from '../../agents/preparation/source/path-kinds.ts';
import { type SourceFiles, readText } from '../../agents/preparation/source/source-files.ts';
import { digestFiles } from '../../agents/preparation/step-key.ts';
import { runProgram, withRepository } from './preparation-sandbox.ts';

export interface MutationTools {
  readonly sandboxes: GradingSandboxes;
  readonly steps: StepStore;
  readonly parser: SyntaxParser;
}

/** Covered lines by path; undefined: all code. */
export type Coverage = Readonly<Record<string, readonly number[]>> | undefined;

/** Finds ways to break the code that tests cover. A file that a framework names holds tests, whatever its path. */
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

const SECONDS = 120;
const mutationsSchema = z
  .array(
    z.strictObject({
      path: z.string(),
      function: z.string(),
      documentation: z.string(),
      kind: z.enum(['operator', 'constant', 'branch', 'call']),
      line: z.int(),
      start: z.int().min(0),
      end: z.int().min(0),
      text: z.string(),
    }),
  )
  .max(2000);

/** Finds ways to break the Python code that tests cover. @param files code without tests. @param covered lines by path. */
async function mutatePython(
  { sandboxes, steps }: { readonly sandboxes: GradingSandboxes; readonly steps: StepStore },
  files: SourceFiles,
  covered: Readonly<Record<string, readonly number[]>>,
  signal: AbortSignal,
): Promise<readonly Mutation[]> {
  const paths = [...files.keys()].filter((path) => path.endsWith('.py') && covered[path] !== undefined);
  if (paths.length === 0) return [];
  const asked = { files: Object.fromEntries(paths.map((path) => [path, readText(files, path) ?? ''])), covered };
  const found = await steps.remember('mutate', { files: digestFiles(files), covered }, mutationsSchema, () =>
    withRepository(
      sandboxes,
      { files: new Map(), dependencies: new Map(), tests: {}, tools: [] },
      async (session, until) => mutationsSchema.parse(await runProgram(session, 'mutate_python.py', asked, SECONDS, until)),
      signal,
    ),
  );
  return found.map(({ path, function: name, kind, line, documentation, start, end, text }) => {
    const changed = replaceBytes(files.get(path)?.content, start, end, text);
    return { path, function: name, kind, line, documentation, text: changed };
  });
}

function replaceBytes(content: Buffer | undefined, start: number, end: number, text: string): string {
  return Buffer.concat([
    content?.subarray(0, start) ?? Buffer.alloc(0),
    Buffer.from(text),
    content?.subarray(end) ?? Buffer.alloc(0),
  ]).toString('utf8');
}
