import { isMap, isNode, isPair, isScalar, isSeq, LineCounter, parseDocument, type Document } from 'yaml';
import { InputError } from '../kernel/errors.ts';
import type { Layer } from './layer.ts';
import type { SettingPath } from './path.ts';

/**
 * A YAML (or JSON) text whose every value knows its line.
 *
 * @param name how messages call the file.
 * @throws InputError `code` when the text is no YAML mapping.
 */
export function yamlLayer(name: string, text: string, code: string): Layer {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
  const [problem] = document.errors;
  if (problem !== undefined) {
    throw new InputError(code, `${name}:${lines.linePos(problem.pos[0]).line}: ${problem.message}; expected YAML`, { cause: problem });
  }
  const whereIs = (path: SettingPath): string => `${name}:${lines.linePos(offsetOf(document, path)).line}`;
  return { value: valueOf(document, name, code), whereIs };
}

function valueOf(document: Document.Parsed, name: string, code: string): unknown {
  let value: unknown;
  try {
    value = document.toJS();
  } catch (error) {
    throw new InputError(code, `${name}: its aliases do not resolve`, { cause: error });
  }
  if (value === null || value === undefined) return {};
  if (typeof value === 'object' && !Array.isArray(value)) return value;
  throw new InputError(code, `${name}: expected a mapping of settings, got ${JSON.stringify(value)?.slice(0, 100)}`);
}

/** Where the key of the path stands; where the path ends early, of the innermost part that is there. */
function offsetOf(document: Document.Parsed, path: SettingPath): number {
  let node: unknown = document.contents;
  let offset = startOf(node) ?? 0;
  for (const part of path) {
    const pair: unknown = isMap(node) ? node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part)) : undefined;
    if (isPair(pair)) {
      offset = startOf(pair.key) ?? offset;
      node = pair.value;
    } else if (isSeq(node) && typeof part === 'number') {
      node = node.items[part];
      offset = startOf(node) ?? offset;
    } else break;
  }
  return offset;
}

function startOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined;
}
