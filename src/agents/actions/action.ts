import { z } from 'zod';
import { describeInvalid } from '../../kernel/documents/problems.ts';

/** The largest number of bytes of a file that an action reads or writes whole. */
export const FILE_BYTES = 4 * 2 ** 20;

/** Bounds of every action: an agent's absurd number is refused before anything is done. */
const PATH_LENGTH = 4096;
const COMMAND_LENGTH = 64 * 1024;
const TEXT_LENGTH = FILE_BYTES;

export const isText = (text: string): boolean => text.isWellFormed();
const text = (length: number): z.ZodString => z.string().max(length).refine(isText, 'expected Unicode without lone surrogates');
const createTextWithoutNul = (length: number): z.ZodString =>
  text(length)
    .min(1)
    .refine((value) => !value.includes('\0'), 'expected a text without NUL');

const file = createTextWithoutNul(PATH_LENGTH).describe('relative to the working directory, or absolute');
const directory = file.default('.');

const readFile = z.strictObject({
  action: z.literal('read_file'),
  file,
  from: z.int().min(1).max(1e9).default(1).describe('first line'),
  lines: z.int().min(1).max(1e6).optional().describe('number of lines; all when it is left out'),
});

const writeFile = z
  .strictObject({ action: z.literal('write_file'), file, content: text(TEXT_LENGTH).describe('the whole content') })
  .describe('writes a whole file, and the directories that it is in');

const editFile = z
  .strictObject({
    action: z.literal('edit_file'),
    file,
    old: text(TEXT_LENGTH).min(1).describe('the text that is replaced'),
    new: text(TEXT_LENGTH).describe('the text in its place'),
  })
  .describe('replaces a text that occurs exactly once');

const applyPatch = z
  .strictObject({ action: z.literal('apply_patch'), patch: text(TEXT_LENGTH).min(1).describe('unified diff') })
  .describe('applies a unified diff to all of its files, or to none');

const listFiles = z.strictObject({
  action: z.literal('list_files'),
  path: directory,
  depth: z.int().min(1).max(64).default(1).describe('1: only what is directly in the directory'),
});

const search = z
  .strictObject({
    action: z.literal('search'),
    text: createTextWithoutNul(1000).describe('the text that lines have to hold'),
    path: directory,
    ignoreCase: z.boolean().default(false).describe('whether upper and lower case are the same'),
  })
  .describe('lines that hold a text, letter for letter');

const commandFields = {
  command: createTextWithoutNul(COMMAND_LENGTH).describe('for bash, or for sh where there is none; it begins in the working directory'),
  stdin: text(2 ** 20)
    .default('')
    .describe('standard input of the command'),
};

const run = z
  .strictObject({ action: z.literal('run'), ...commandFields, timeout: z.number().positive().max(86_400).default(60).describe('seconds') })
  .describe('runs a command until it ends, and ends what it has left running');

const name = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,64}$/, 'expected 1 to 64 letters, digits, ".", "_" and "-"')
  .describe('of a command that was started');

const start = z
  .strictObject({ action: z.literal('start'), name: name.describe('by which poll and stop know it'), ...commandFields })
  .describe('starts a command that runs on while you do other things, a server for example');

const poll = z
  .strictObject({
    action: z.literal('poll'),
    name,
    wait: z.number().min(0).max(30).default(0).describe('seconds to wait until it prints something or ends'),
  })
  .describe('what a started command has printed since it was polled last, and whether it has ended');

const stop = z
  .strictObject({ action: z.literal('stop'), name })
  .describe('ends a started command and all that it has started: with SIGTERM, and two seconds later for good');

const submit = z.strictObject({ action: z.literal('submit') }).describe('ends the episode: what is in the workspace is graded');

/** What an agent does in its workspace. */
export const actionSchema = z.discriminatedUnion('action', [
  readFile,
  writeFile,
  editFile,
  applyPatch,
  listFiles,
  search,
  run,
  start,
  poll,
  stop,
  submit,
]);

export type Action = z.infer<typeof actionSchema>;
export type ActionName = Action['action'];
/** An action as it is given, before defaults are filled in. */
export type GivenAction = z.input<typeof actionSchema>;

export const ACTION_NAMES: readonly ActionName[] = actionSchema.options.map((option) => option.shape.action.value);

/** Why something is no action. */
export interface Misfit {
  readonly reason: 'malformed' | 'unknown-action' | 'not-allowed';
  readonly detail: string;
}

export type ReadAction = { readonly kind: 'action'; readonly action: Action } | { readonly kind: 'misfit'; readonly misfit: Misfit };

/**
 * Reads an action. `edit_file` with `code` and without `old` and `new` is `write_file`.
 *
 * @param allowed names that the task allows. @param tools names of the task's own tools, which are no actions of Muster.
 */
export function readAction(given: unknown, allowed: readonly ActionName[] = ACTION_NAMES, tools: readonly string[] = []): ReadAction {
  const expected = [...allowed, ...tools].join(', ');
  const name = getField(given, 'action');
  if (typeof name !== 'string')
    return toMisfit('malformed', `action: expected one of ${expected}, got ${JSON.stringify(name) ?? 'nothing'}`);
  const known = ACTION_NAMES.find((each) => each === name);
  if (known === undefined)
    return toMisfit('unknown-action', `action: expected one of ${expected}, got ${JSON.stringify(name.slice(0, 100))}`);
  if (!allowed.includes(known)) return toMisfit('not-allowed', `action ${known} is not allowed in this task; it allows ${expected}`);
  const written = toWholeWrite(given);
  const parsed = actionSchema.safeParse(written);
  if (parsed.success) return { kind: 'action', action: parsed.data };
  const schema = actionSchema.options.find(({ shape }) => shape.action.value === getField(written, 'action'));
  return toMisfit('malformed', `${name}: ${describeInvalid(parsed.error, written, schema ?? actionSchema)}`);
}

function toWholeWrite(given: unknown): unknown {
  if (getField(given, 'action') !== 'edit_file' || getField(given, 'code') === undefined) return given;
  if (typeof given !== 'object' || given === null || 'old' in given || 'new' in given) return given;
  const { code, ...others } = { code: undefined, ...given };
  return { ...others, action: 'write_file', content: code };
}

function getField(given: unknown, name: string): unknown {
  if (typeof given !== 'object' || given === null || !Object.hasOwn(given, name)) return undefined;
  const field: unknown = Reflect.get(given, name);
  return field;
}

function toMisfit(reason: Misfit['reason'], detail: string): ReadAction {
  return { kind: 'misfit', misfit: { reason, detail: detail.slice(0, 2000) } };
}
