import { z } from 'zod';
import { JsonProblem, parseJson } from '../../kernel/json-bounds.ts';
import { InputError } from '../../kernel/errors.ts';
import type { Problem } from '../../kernel/documents/problems.ts';
import { assertSound, INVALID } from './declaration.ts';
import type { CasesStage, MusterTask, SuiteStage } from './muster-schema.ts';
import { findStageContradictions } from './stage-contradictions.ts';
import type { StagedVerifier } from './task.ts';
import { parseCases, type TestCase } from './test-case.ts';
import type { TestFiles } from './test-files.ts';

interface Settings {
  readonly timeoutSeconds: number;
  readonly environment: Readonly<Record<string, string>>;
}

const ID_BOUNDS = { bytes: 4 * 1024 * 1024, depth: 1, values: 100_001 };
const idList = z.array(z.string().min(1).max(2048));

/**
 * @param where names muster.toml for messages. @returns undefined when it has no stages.
 * @throws InputError `task.invalid` with all contradictions and missing settings.
 */
export function parseStagedVerifier(where: string, muster: MusterTask, tests: TestFiles, settings: Settings): StagedVerifier | undefined {
  const { compile, execute, golden, compare, constraints, score } = muster;
  if (execute === undefined) {
    const needless = [compile && 'compile', golden && 'golden', constraints.length > 0 && 'constraints'].filter(
      (key) => typeof key === 'string',
    );
    const problems = needless.map((key) => ({ path: ['execute'], text: `is missing; ${key} has no effect without it`, isAbsence: true }));
    assertSound({ findOrigin: () => where }, problems);
    return undefined;
  }
  const problems: Problem[] = [];
  const stage = execute.kind === 'cases' ? execute : parseSuiteStage(execute, tests, problems);
  const stored = execute.kind === 'cases' ? readStoredCases(execute, tests, problems) : [];
  problems.push(...findStageContradictions({ muster, stage, stored, tests }));
  assertSound({ findOrigin: () => where }, problems);
  return { kind: 'staged', ...settings, compile, execute: stage, golden, compare, constraints, score };
}

/** @throws InputError `task.cases` */
function readStoredCases({ stored }: CasesStage, tests: TestFiles, problems: Problem[]): readonly TestCase[] {
  if (stored === undefined) return [];
  const bytes = tests.bytes(stored);
  if (bytes !== undefined) return parseCases(tests.name(stored), bytes, STORED_PREFIX);
  problems.push({ path: ['execute', 'stored'], text: toAbsent(stored, tests), isAbsence: false });
  return [];
}

/** Begins the names of stored cases that have no name of their own. */
export const STORED_PREFIX = 'stored-';

function toAbsent(path: string, tests: TestFiles): string {
  return tests.has(path) ? `tests/${path}: expected a name that ends in .json or .jsonl` : `tests/${path} is not among the task's files`;
}

type WrittenSuite = Extract<NonNullable<MusterTask['execute']>, { readonly kind: 'suite' }>;

function parseSuiteStage(written: WrittenSuite, tests: TestFiles, problems: Problem[]): SuiteStage {
  const idsOf = (key: 'failToPass' | 'passToPass'): readonly string[] => {
    const given = written[key];
    if (typeof given !== 'string') return given;
    const bytes = tests.bytes(given);
    if (bytes !== undefined) return listOfIds(tests.name(given), bytes);
    problems.push({ path: ['execute', key], text: toAbsent(given, tests), isAbsence: false });
    return [];
  };
  const lists = [written.failToPass, written.passToPass].filter((each) => typeof each === 'string');
  return { ...written, failToPass: idsOf('failToPass'), passToPass: idsOf('passToPass'), lists };
}

/** @throws InputError `task.invalid` */
function listOfIds(where: string, bytes: Uint8Array): readonly string[] {
  try {
    const { data } = idList.safeParse(parseJson(bytes, ID_BOUNDS));
    if (data !== undefined) return data;
    throw new JsonProblem('this is not a list of test ids', 'a JSON list of texts of 1 to 2048 characters');
  } catch (error) {
    if (!(error instanceof JsonProblem)) throw error;
    throw new InputError(INVALID, `${where}: ${error.message}`, { cause: error });
  }
}
