import { ReportProblem } from './report-problem.ts';

/** A tag of an XML text; text between tags is left out. */
export interface XmlTag {
  readonly name: string;
  readonly kind: 'open' | 'close' | 'empty';
  readonly attributes: ReadonlyMap<string, string>;
}

const MOST_DEPTH = 64;
/** One step through the text: each alternative begins differently and takes time in proportion to its match. */
const STEP =
  /[^<]+|<!--(?<comment>)|<!\[CDATA\[(?<data>)|<\?(?<instruction>)|<\/(?<close>[\w:.-]+)\s*>|<(?<open>[\w:.-]+)(?<attributes>(?:\s+[\w:.-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(?<empty>\/?)>/y;
const ATTRIBUTE = /(?<name>[\w:.-]+)\s*=\s*(?:"(?<double>[^"<]*)"|'(?<single>[^'<]*)')/g;
const ENTITY = /&(?:(?<name>amp|lt|gt|quot|apos)|#x(?<hex>[0-9a-fA-F]{1,6})|#(?<decimal>\d{1,7}));/g;
const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const ENDS = { comment: '-->', data: ']]>', instruction: '?>' } as const;

/**
 * Reads the tags of a well-formed XML text. Declarations of types and entities are refused: no reporter writes them, and an entity can expand to more
 * text than fits in memory.
 *
 * @throws ReportProblem
 */
export function* readXmlTags(text: string): Generator<XmlTag> {
  const open: string[] = [];
  let tags = 0;
  STEP.lastIndex = 0;
  for (let at = text.startsWith('\uFEFF') ? 1 : 0; at < text.length;) {
    STEP.lastIndex = at;
    const match = STEP.exec(text);
    if (match === null) throw new ReportProblem(`it is not well-formed XML at character ${at + 1}`);
    at = STEP.lastIndex;
    const groups = match.groups ?? {};
    const skipped = (['comment', 'data', 'instruction'] as const).find((kind) => groups[kind] !== undefined);
    if (skipped !== undefined) at = findBehind(text, ENDS[skipped], at);
    else if (groups['close'] !== undefined) {
      if (open.pop() !== groups['close']) throw new ReportProblem(`it is not well-formed XML: </${groups['close']}> closes nothing`);
      yield { name: groups['close'], kind: 'close', attributes: new Map() };
    } else if (groups['open'] !== undefined) {
      const isEmpty = groups['empty'] === '/';
      if (!isEmpty && open.push(groups['open']) > MOST_DEPTH)
        throw new ReportProblem(`its XML has more than ${MOST_DEPTH} nested elements`);
      yield { name: groups['open'], kind: isEmpty ? 'empty' : 'open', attributes: readAttributes(groups['attributes'] ?? '') };
      tags += 1;
    }
  }
  if (open.length > 0 || tags === 0) throw new ReportProblem(tags === 0 ? 'it is empty' : `it ends within <${open.at(-1)}>`);
}

function findBehind(text: string, end: string, from: number): number {
  const found = text.indexOf(end, from);
  if (found === -1) throw new ReportProblem(`it ends before "${end}"`);
  return found + end.length;
}

function readAttributes(text: string): ReadonlyMap<string, string> {
  const attributes = new Map<string, string>();
  for (const { groups = {} } of text.matchAll(ATTRIBUTE)) {
    const name = groups['name'] ?? '';
    if (attributes.has(name)) throw new ReportProblem(`it is not well-formed XML: the attribute "${name}" occurs twice`);
    attributes.set(name, resolveEntities(groups['double'] ?? groups['single'] ?? ''));
  }
  return attributes;
}

function resolveEntities(text: string): string {
  return text.replaceAll(ENTITY, (_all, ...rest: unknown[]) => {
    const groups = rest.at(-1);
    if (typeof groups !== 'object' || groups === null) return '';
    const read = (name: string): string | undefined => {
      const value: unknown = Reflect.get(groups, name);
      return typeof value === 'string' ? value : undefined;
    };
    const name = read('name');
    if (name !== undefined) return NAMED[name] ?? '';
    const code = Number.parseInt(read('hex') ?? read('decimal') ?? '', read('hex') === undefined ? 10 : 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : '\ufffd';
  });
}
