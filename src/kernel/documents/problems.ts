import type { z } from 'zod';
import { findNearest, suggestNames } from './did-you-mean.ts';
import { KnownSettings } from './known-settings.ts';
import { formatPath, getValueAt, isMapping, type SettingPath } from './path.ts';

/** An error in a document that a person wrote, and its path. */
export interface Problem {
  readonly path: SettingPath;
  /** `expected a number, got "many"` */
  readonly text: string;
  /** The expected value alone: `a number`. Left out where that cannot be said. */
  readonly expected?: string;
  /** It is true when the value is missing. A layer that may be incomplete ignores such problems. */
  readonly isAbsence: boolean;
}

/** Users fix no more at a time. A document of another kind may have any number of problems. */
const MOST_PROBLEMS = 50;

/** More alternatives than these do not help a reader. */
const MOST_KEYS = 12;

/** One of the first keys of an object decides on its form. */
const MOST_TEXTS = 3;

/** Settings whose value never appears in a message: logs have more readers than configurations. */
const SECRET = /secret$/i;

/** User and password of a URL, also of one whose scheme is misspelt. */
const CREDENTIALS = /\/\/[^"]*@/g;

/** Lists the first problems, up to `MOST_PROBLEMS`. */
export function listProblems(error: z.ZodError, value: unknown, known: KnownSettings): readonly Problem[] {
  return [...listProblemsOfIssues(error.issues, value, known).take(MOST_PROBLEMS)];
}

/** Formats one line for a value that no file holds: `command: is missing; expected a text; timeout: expected …`. */
export function describeInvalid(error: z.ZodError, value: unknown, schema: z.ZodType): string {
  const problems = listProblems(error, value, new KnownSettings(schema));
  return problems.map(({ path, text }) => (path.length === 0 ? text : `${formatPath(path)}: ${text}`)).join('; ');
}

/** Formats one line: `muster.yaml:12: pool.max: expected …`. */
export function formatProblemLine(where: string, { path, text }: Problem): string {
  return path.length === 0 ? `${where}: ${text}` : `${where}: ${formatPath(path)}: ${text}`;
}

/** The message for a value that has none of several forms. */
const NO_FORM = 'not valid';

type Issues = readonly z.core.$ZodIssue[];

function* listProblemsOfIssues(issues: Issues, value: unknown, known: KnownSettings, above: SettingPath = []): Generator<Problem> {
  for (const issue of issues) yield* listProblemsOfIssue(issue, value, known, above);
}

function* listProblemsOfIssue(issue: z.core.$ZodIssue, value: unknown, known: KnownSettings, above: SettingPath): Generator<Problem> {
  const path = stopAtText(value, [...above, ...issue.path.map((part) => (typeof part === 'number' ? part : String(part)))]);
  if (issue.code === 'invalid_union') {
    const closest = findClosestForm(issue.errors);
    if (closest !== undefined) return yield* listProblemsOfIssues(closest, value, known, path);
  }
  if (issue.code === 'unrecognized_keys') {
    for (const key of issue.keys) yield createUnknownKeyProblem(path, key, value, known);
    return;
  }
  const found = getValueAt(value, path);
  const isEmpty = found === null && path.length > 0 && issue.code === 'invalid_type';
  const message = describeIssue(issue, path, known);
  const expected = /^expected (?<what>.+)$/s.exec(message)?.groups?.['what'];
  const problem = { path, ...(expected === undefined ? {} : { expected }) };
  if (found === undefined)
    return yield { ...problem, text: `is missing${suggestSlip(issue, path, value, known) || formatExpected(expected)}`, isAbsence: true };
  if (isEmpty) return yield { ...problem, text: `is empty (null)${formatExpected(expected)}`, isAbsence: false };
  if (SECRET.test(String(path.at(-1)))) return yield { ...problem, text: message, isAbsence: false };
  const isChoice = issue.code === 'invalid_value' || issue.code === 'invalid_union';
  const choices = isChoice ? [...message.matchAll(/"([^"]+)"/g)].flatMap(([, name]) => name ?? []) : [];
  const choice = typeof found === 'string' ? suggestNames(found, choices) : '';
  const got = formatValue(issue.code === 'invalid_key' ? path.at(-1) : found);
  const isItem = issue.code === 'invalid_type' && issue.expected === 'array' && known.takesTextOnly([...path, 0]);
  const list = isItem && typeof found === 'string' ? suggestList(found) : '';
  yield { ...problem, text: `${message}, got ${got}${choice}${list}`, isAbsence: false };
}

/** Suggests a list in place of a single text. */
function suggestList(text: string): string {
  if (/^\s*\[/.test(text)) return '; a list in brackets ends with "]", and has quotation marks in pairs';
  const items = text.split(',').map((item) => item.trim());
  return `; did you mean ${formatValue(items.filter((item) => item !== ''))}?`;
}

function formatExpected(expected: string | undefined): string {
  return expected === undefined || /^(an )?object/.test(expected) ? '' : `; expected ${expected}`;
}

/** Stops at a text that the schema splits further: the document has the whole text. */
function stopAtText(value: unknown, path: SettingPath): SettingPath {
  const above = path.slice(0, -1);
  return typeof getValueAt(value, above) === 'string' ? above : path;
}

/**
 * Reports the problems of the closest form of a value that may have one of several: the form whose type it has. Returns undefined when no form has
 * its type, or when the schema's own message about the whole says more.
 */
function findClosestForm(forms: readonly Issues[]): Issues | undefined {
  const fitting = forms.filter(
    (issues) => !issues.some(({ code, path }) => path.length === 0 && (code === 'invalid_type' || code === 'invalid_value')),
  );
  return fitting.length === 1 ? fitting[0] : undefined;
}

function createUnknownKeyProblem(path: SettingPath, key: string, value: unknown, known: KnownSettings): Problem {
  const names = known.listKeys(path);
  if (names.includes(key)) return { path: [...path, key], text: describeMisfit(key, getValueAt(value, path)), isAbsence: false };
  const suggestion = suggestNames(key, names) || describePlaceOf(path, key, known);
  if (names.length === 0) return { path: [...path, key], text: `unknown key${suggestion}`, isAbsence: false };
  const expected = `one of ${[...new Set(names)].join(', ')}`;
  return {
    path: [...path, key],
    text: `unknown key${suggestion === '' ? `; expected ${expected}` : suggestion}`,
    expected,
    isAbsence: false,
  };
}

/** Describes a key that only other forms of the same object have. The keys whose values are texts may have decided on the form. */
function describeMisfit(key: string, beside: unknown): string {
  const texts = Object.entries(isMapping(beside) ? beside : {}).filter(([name, value]) => name !== key && typeof value === 'string');
  const form = texts
    .slice(0, MOST_TEXTS)
    .map(([name, value]) => `${name}: ${formatValue(value)}`)
    .join(', ');
  return form === '' ? 'does not go with the keys beside it' : `does not go with ${form}; leave one of them out`;
}

/** Makes `half_width` and `halfWidth` equal. */
function squeeze(name: string): string {
  return name.replaceAll(/[-_]/g, '').toLowerCase();
}

/** Describes where the key is known, in any spelling: one level further down, or above. */
function describePlaceOf(path: SettingPath, key: string, known: KnownSettings): string {
  const below = [...new Set(known.listKeys(path))].flatMap((name) =>
    known.listKeys([...path, name]).flatMap((inner) => (squeeze(inner) === squeeze(key) ? [`${name}.${inner}`] : [])),
  );
  if (below.length > 0) return `; expected below another key: ${[...new Set(below)].join(' or ')}`;
  const above = path.findLastIndex((_, depth) => known.listKeys(path.slice(0, depth)).includes(key));
  return above < 0 ? '' : `; expected as "${formatPath([...path.slice(0, above), key])}", not below "${formatPath(path)}"`;
}

/** Names the key that may be a missing one, misspelt: while the key that decides between forms is missing, the keys beside it are not checked. */
function suggestSlip(issue: z.core.$ZodIssue, path: SettingPath, value: unknown, known: KnownSettings): string {
  const beside = getValueAt(value, path.slice(0, -1));
  if (issue.code !== 'invalid_union' || !isMapping(beside)) return '';
  const names = known.listKeys(path.slice(0, -1));
  const slip = findNearest(
    String(path.at(-1)),
    Object.keys(beside).filter((key) => !names.includes(key)),
  );
  return slip === undefined ? '' : `; is it what "${slip}" is meant to be?`;
}

function describeIssue(issue: z.core.$ZodIssue, path: SettingPath, known: KnownSettings): string {
  if (issue.code === 'invalid_key') return simplifyMessage(issue.issues[0]?.message ?? issue.message);
  const message = simplifyMessage(issue.message);
  if (issue.code === 'invalid_union' && message === NO_FORM) return describeForms(issue.errors, path, known) ?? message;
  const keys = message === 'expected object' ? [...new Set(known.listKeys(path))] : [];
  return keys.length > 0 && keys.length <= MOST_KEYS ? `expected an object with ${keys.join(', ')}` : message;
}

/** Describes what each form expects of a value that fits none of them. Returns undefined where one of them does not say it. */
function describeForms(forms: readonly Issues[], path: SettingPath, known: KnownSettings): string | undefined {
  const expected = forms.map(([first]) => /^expected (.+)$/s.exec(first?.path.length === 0 ? describeIssue(first, path, known) : '')?.[1]);
  return expected.length === 0 || expected.includes(undefined) ? undefined : `expected ${[...new Set(expected)].join(', or ')}`;
}

function formatValue(value: unknown): string {
  // JSON turns NaN and infinity into null; an empty variable is null, too.
  const written = typeof value === 'number' ? String(value) : (JSON.stringify(value) ?? String(value));
  const text = written.replaceAll(CREDENTIALS, '//…@');
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

/** Translates Zod's names of types into the words of people who write YAML. */
const TYPES: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  tuple: 'a list',
  record: 'a mapping of names to values',
  nonoptional: 'a value',
};

const BOUNDS: Readonly<Record<string, (bound: string) => string>> = {
  '>': (bound) => `above ${bound}`,
  '>=': (bound) => `of ${bound} or more`,
  '<': (bound) => `below ${bound}`,
  '<=': (bound) => `of ${bound} at most`,
};

/** Writes `expected a number above 0` for Zod's message `Too small: expected number to be >0`. Messages that the schema writes itself stay. */
function simplifyMessage(message: string): string {
  return message
    .replace(/^(Invalid input|Invalid option|Too small|Too big|Invalid string): /, '')
    .replace(/, received .*$/, '')
    .replace(
      /^Invalid discriminator value\. Expected (.+)$/,
      (_, kinds: string) => `expected one of ${kinds.replaceAll("'", '"').replaceAll(' | ', '|')}`,
    )
    .replace(/^expected (\w+)$/, (whole, type: string) => (TYPES[type] === undefined ? whole : `expected ${TYPES[type]}`))
    .replace(/^expected (number|int) to be ([<>]=?)(\S+)$/, (_, type: string, sign: string, bound: string) => {
      return `expected ${TYPES[type] ?? type} ${BOUNDS[sign]?.(bound) ?? `${sign} ${bound}`}`;
    })
    .replace(
      /^expected (array|string) to have ([<>]=?)(\d+) (item|character)s?$/,
      (_, type: string, sign: string, bound: string, unit: string) => {
        const count = `${bound} ${unit}${bound === '1' ? '' : 's'}`;
        return `expected ${TYPES[type] ?? type} ${BOUNDS[sign]?.(count) ?? `${sign} ${count}`}`;
      },
    )
    .replace(/^Invalid URL$/, 'expected a URL, such as https://host.example:8000')
    .replace(/^Invalid ISO datetime$/, 'expected a time with its zone, such as 2026-01-31T12:00:00Z')
    .replace(/^Invalid input$/, NO_FORM);
}
