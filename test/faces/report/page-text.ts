import type { ReportDocument } from '../../../src/faces/report/document.ts';

/** Reads the text of a page without a browser. It suffices for pages of `markup`, whose attributes are all in double quotes. */

const ENTITIES: Readonly<Record<string, string>> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" };
const NEVER_CLOSED = new Set(['meta', 'link', 'br']);

/** Returns the visible text, its parts with one space between them. */
export function textOf(html: string): string {
  const body = html.slice(html.indexOf('<body>'));
  const text = body
    .replaceAll(/<title>[^<]*<\/title>/g, '')
    .replaceAll(/<(?!\/?(?:data|bdi|b|span|code|time|a)\b)[^>]*>/g, ' ')
    .replaceAll(/<[^>]*>/g, '');
  return text
    .replaceAll(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity] ?? entity)
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** Lists elements that are not closed, or closed without being open. */
export function unbalanced(html: string): string[] {
  const open: string[] = [];
  const wrong: string[] = [];
  for (const [, end, name = '', attributes = ''] of html.matchAll(/<(\/?)([a-zA-Z][\w-]*)((?:[^"<>]|"[^"]*")*)>/g)) {
    if (NEVER_CLOSED.has(name) || attributes.endsWith('/')) continue;
    if (end === '') open.push(name);
    else if (open.at(-1) === name) open.pop();
    else wrong.push(`</${name}> in ${open.join('>')}`);
  }
  return [...wrong, ...open];
}

export interface SourcedFigure {
  readonly source: string;
  readonly value: number;
}

/** Lists all numbers that name their path in the document: themselves, or by the head of their table. */
export function figuresOf(html: string): SourcedFigure[] {
  const alone = [...html.matchAll(/<data value="([^"]*)" data-source="([^"]*)">/g)].map(([, value, source = '']) => ({
    source,
    value: Number(value),
  }));
  const tables = [...html.matchAll(/<table data-source="([^"]*)">(.*?)<\/table>/gs)].flatMap(([, source = '', table = '']) =>
    tableFigures(source, table),
  );
  return [...alone, ...tables];
}

function tableFigures(source: string, table: string): SourcedFigure[] {
  const members = [...table.matchAll(/data-member="([^"]*)"/g)].map(([, member = '']) => member);
  const rows = [...table.slice(table.indexOf('<tbody>')).matchAll(/<tr>(.*?)<\/tr>/gs)].map(([, row = '']) => row);
  return rows.flatMap((row, position) =>
    [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)].flatMap(([, cell = ''], column) => {
      const value = /<data value="([^"]*)">/.exec(cell)?.[1];
      return value === undefined ? [] : [{ source: `${source}.${position}.${members[column]}`, value: Number(value) }];
    }),
  );
}

/** Returns the value at a path like `official.tasks.3.mean`. */
export function valueAt(document: unknown, path: string): unknown {
  let value = document;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = new Map<string, unknown>(Object.entries(value)).get(name);
  }
  return value;
}

/** Returns the value at which the paths of a page's figures begin. */
export function rootOf(document: ReportDocument): unknown {
  switch (document.kind) {
    case 'evaluation':
      return document.summary;
    case 'evaluations':
      return document;
    case 'comparison':
      return document.comparison;
    case 'verdict':
      return document.submission;
    case 'check':
      return document;
    case 'replay':
      return document.replay;
    case 'preparation':
      return document.preparation;
  }
}
