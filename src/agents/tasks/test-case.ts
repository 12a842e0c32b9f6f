import { z } from 'zod';
import { JsonProblem, parseJson, type JsonBounds } from '../../kernel/json-bounds.ts';
import { InputError } from '../../kernel/errors.ts';
import { formatPath } from '../../kernel/documents/path.ts';
import { relativePath } from './relative-path.ts';

/** One run of the candidate: its input, and the stored output where there is one. Texts are UTF-8; other data is base64. */
export const caseSchema = z
  .strictObject({
    name: z
      .string()
      .regex(/^[\w.-]{1,64}$/, 'expected 1 to 64 letters, digits, ".", "_" or "-"')
      .optional()
      .describe('name of the case in verdicts; its position when left out'),
    arguments: z.array(z.string()).max(256).default([]).describe('after those of the command'),
    stdin: z.string().optional().describe('standard input, as text'),
    stdinBase64: z.base64().optional().describe('standard input that is not UTF-8'),
    files: z.record(relativePath, z.string()).default({}).describe("in the process's working directory, by path"),
    expected: z.string().optional().describe('the output of the golden model'),
    expectedBase64: z.base64().optional().describe('the output of the golden model, if it is not UTF-8'),
  })
  .refine(({ stdin, stdinBase64 }) => stdin === undefined || stdinBase64 === undefined, 'expected stdin or stdinBase64, not both')
  .refine(
    ({ expected, expectedBase64 }) => expected === undefined || expectedBase64 === undefined,
    'expected one form of the expected output',
  )
  .describe('case of a task');

export interface TestCase {
  readonly name: string;
  readonly arguments: readonly string[];
  readonly stdin: Uint8Array;
  readonly files: Readonly<Record<string, string>>;
  /** When it is undefined, the golden model decides. */
  readonly expected: Uint8Array | undefined;
}

const LINE_BOUNDS: JsonBounds = { bytes: 64 * 1024 * 1024, depth: 4, values: 1000 };
const NEWLINE = 0x0a;

/**
 * Reads cases as a file has them or a generator writes them: a JSON object on each line; empty lines do not count.
 *
 * @param where names them for messages. @param prefix of the names of cases that have none, before their position. @throws InputError `task.cases`
 * that names the line and the field.
 */
export function parseCases(where: string, bytes: Uint8Array, prefix: string): readonly TestCase[] {
  const cases: TestCase[] = [];
  const names = new Set<string>();
  for (const { line, text } of readLines(bytes)) {
    const one = parseCase(`${where}:${line}`, text, `${prefix}${cases.length + 1}`);
    if (names.has(one.name))
      throw new InputError('task.cases', `${where}:${line}: name: "${one.name}" occurs twice; expected different names`);
    names.add(one.name);
    cases.push(one);
  }
  return cases;
}

function* readLines(bytes: Uint8Array): Generator<{ readonly line: number; readonly text: Uint8Array }> {
  let line = 1;
  for (let begin = 0; begin < bytes.length; line += 1) {
    const found = bytes.indexOf(NEWLINE, begin);
    const end = found === -1 ? bytes.length : found;
    if (end > begin) yield { line, text: bytes.subarray(begin, end) };
    begin = end + 1;
  }
}

function parseCase(where: string, text: Uint8Array, otherwise: string): TestCase {
  const { data, error } = caseSchema.safeParse(parseLine(where, text));
  if (error !== undefined) {
    const [issue] = error.issues;
    const path = (issue?.path ?? []).map((part) => (typeof part === 'number' ? part : String(part)));
    throw new InputError('task.cases', `${where}: ${formatPath(path)}${path.length > 0 ? ': ' : ''}${issue?.message ?? 'no case'}`);
  }
  return {
    name: data.name ?? otherwise,
    arguments: data.arguments,
    stdin: decodeBytes(data.stdin, data.stdinBase64) ?? new Uint8Array(),
    files: data.files,
    expected: decodeBytes(data.expected, data.expectedBase64),
  };
}

function parseLine(where: string, text: Uint8Array): unknown {
  try {
    return parseJson(text, LINE_BOUNDS);
  } catch (error) {
    if (!(error instanceof JsonProblem)) throw error;
    throw new InputError('task.cases', `${where}: ${error.message}`, { cause: error });
  }
}

function decodeBytes(text: string | undefined, base64: string | undefined): Uint8Array | undefined {
  if (base64 !== undefined) return Buffer.from(base64, 'base64');
  return text === undefined ? undefined : Buffer.from(text, 'utf8');
}
