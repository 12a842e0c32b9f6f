import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { isMapping, getValueAt } from '../../../src/kernel/documents/path.ts';
import { condition } from './chart-condition.ts';

const CHART = path.join(import.meta.dirname, '../../../deploy/helm/muster');

/**
 * Renders the chart as Helm does, as far as it goes: values, comments, `if` without `else`, `fail`, and `toYaml … | indent N` are
 * all that it uses.
 *
 * @throws what a template fails with; and when one uses anything else, or a value that is not in values.yaml.
 */
export function renderChart(changes: object = {}): readonly unknown[] {
  const values = overlaid(parse(readFileSync(path.join(CHART, 'values.yaml'), 'utf8')), changes);
  const context = { Values: values, Release: { Name: 'muster', Namespace: 'muster' } };
  return readdirSync(path.join(CHART, 'templates')).flatMap((file) => {
    const text = rendered(readFileSync(path.join(CHART, 'templates', file), 'utf8'), context, file);
    return parseAllDocuments(text).flatMap((document) => {
      if (document.errors.length > 0) throw new Error(`${file}: ${document.errors.map(String).join('; ')}`);
      const value: unknown = document.toJS();
      return value === null ? [] : [value];
    });
  });
}

/** CONTRIBUTING.md says how it comes there. */
const HELM = path.join(import.meta.dirname, '../../../.tools/helm');

export function isHelmInstalled(): boolean {
  return existsSync(HELM);
}

/** The same by the real Helm. @throws what Helm says. */
export function renderWithHelm(changes: object): readonly unknown[] {
  const args = ['template', 'muster', CHART, '--namespace', 'muster', '--kube-version', '1.30.0', '--values', '-'];
  const { status, stdout, stderr } = spawnSync(HELM, args, { input: stringify(changes), encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return parseAllDocuments(stdout).flatMap((document) => {
    const value: unknown = document.toJS();
    return value === null ? [] : [value];
  });
}

function rendered(template: string, context: object, file: string): string {
  const lookUp = (expression: string): unknown => {
    const value = getValueAt(context, expression.slice(1).split('.'));
    if (value === undefined) throw new Error(`${file}: ${expression} is not in values.yaml`);
    return value;
  };
  const open: boolean[] = [];
  const lines = template.split('\n').flatMap((line) => {
    const wanted = /^\{\{- if (.+) \}\}$/.exec(line)?.[1];
    const failure = /^\{\{- fail "(.*)" \}\}$/.exec(line)?.[1];
    if (wanted !== undefined) open.push(condition(wanted, lookUp));
    else if (failure !== undefined && open.every(Boolean)) throw new Error(failure);
    else if (failure !== undefined || /^\{\{- \/\* .* \*\/\}\}$/.test(line)) return [];
    else if (line === '{{- end }}') open.pop();
    else if (open.every(Boolean)) return [filled(line, lookUp, file)];
    return [];
  });
  if (open.length > 0) throw new Error(`${file}: an if is not ended`);
  return lines.join('\n');
}

function filled(line: string, lookUp: (expression: string) => unknown, file: string): string {
  const [, value, width] = /^\{\{ toYaml (\.\S+) \| indent (\d+) \}\}$/.exec(line) ?? [];
  if (value !== undefined)
    return stringify(lookUp(value))
      .trimEnd()
      .replaceAll(/^/gm, ' '.repeat(Number(width)));
  const text = line.replaceAll(/\{\{ (\.\S+) \}\}/g, (_whole, expression: string) => String(lookUp(expression)));
  if (text.includes('{{')) throw new Error(`${file}: cannot render ${line}`);
  return text;
}

function overlaid(base: unknown, over: unknown): unknown {
  if (!isMapping(base) || !isMapping(over)) return over;
  return Object.fromEntries([
    ...Object.entries(base),
    ...Object.entries(over).map(([key, value]) => [key, overlaid(base[key], value)] as const),
  ]);
}
