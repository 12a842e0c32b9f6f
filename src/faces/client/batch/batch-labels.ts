import { InputError } from '../../../kernel/errors.ts';

/** What the path of a checkpoint says about it. */
export interface LabelsInPath {
  readonly run?: string;
  readonly version?: number;
}

const PLACEHOLDER = /\{run\}|\{version\}|\*/g;
const FORMS: Readonly<Record<string, string>> = { '{run}': '(?<run>[^/]+)', '{version}': '(?<version>\\d{1,15})', '*': '[^/]*' };

/** Tells whether the text is a pattern for labels in paths: `{run}/step-{version}.safetensors`. `*` matches anything within a name. */
export function isLabelPattern(text: string): boolean {
  const found = [...text.matchAll(/\{[^}]*\}/g)].map(([placeholder]) => placeholder);
  return found.length > 0 && found.every((placeholder) => placeholder in FORMS) && new Set(found).size === found.length;
}

/**
 * Reads the labels at the end of a path.
 *
 * @param pattern for which `isLabelPattern` holds. @throws InputError `batch.labels` when the path does not match.
 */
export function readLabels(path: string, pattern: string): LabelsInPath {
  const { run, version } = compileExpression(pattern).exec(path)?.groups ?? {};
  if (run === undefined && version === undefined)
    throw new InputError('batch.labels', `${path} does not match "labelled: ${pattern}"; change one of them, or list it separately`);
  return { ...(run === undefined ? {} : { run }), ...(version === undefined ? {} : { version: Number(version) }) };
}

function compileExpression(pattern: string): RegExp {
  const between = pattern.split(PLACEHOLDER);
  const forms = [...pattern.matchAll(PLACEHOLDER)].map(([placeholder]) => FORMS[placeholder] ?? '');
  const source = between.map((text, i) => RegExp.escape(text) + (forms[i] ?? '')).join('');
  return new RegExp(`(?:^|/)${source}$`, 'u');
}
