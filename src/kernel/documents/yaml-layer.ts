import { isMap, isNode, isPair, isScalar, isSeq, LineCounter, type Document } from 'yaml';
import { InputError } from '../errors.ts';
import type { Layer } from './layer.ts';
import type { SettingPath } from './path.ts';
import { parseYamlDocument, YamlProblem } from './yaml-document.ts';
import { readValues } from './yaml-values.ts';

/**
 * Parses a YAML (or JSON) text as a layer that knows the line of every value.
 *
 * @param name how messages call the file. @throws InputError `code` when the text is no YAML mapping.
 */
export function parseYamlLayer(name: string, text: string, code: string): Layer {
  const lines = new LineCounter();
  const getLine = (offset: number): number => lines.linePos(offset).line;
  try {
    const document = parseYamlDocument(text, lines);
    const value = getMapping(readValues(document, getLine));
    return { value, findOrigin: (path) => `${name}:${getLine(getOffset(document, path))}` };
  } catch (error) {
    if (!(error instanceof YamlProblem)) throw error;
    throw new InputError(code, `${name}:${error.line}: ${error.message}`, { cause: error });
  }
}

function getMapping(value: unknown): unknown {
  if (value === null || value === undefined) return {};
  if (typeof value === 'object' && !Array.isArray(value)) return value;
  throw new YamlProblem(1, `expected a mapping of settings, got ${JSON.stringify(value)?.slice(0, 100)}`);
}

/** Returns the offset of the path's key; of the innermost existing part when the path does not exist. */
function getOffset(document: Document.Parsed, path: SettingPath): number {
  let node: unknown = document.contents;
  let offset = getStart(node) ?? 0;
  for (const part of path) {
    const pair: unknown = isMap(node) ? node.items.find(({ key }) => isScalar(key) && String(key.value) === String(part)) : undefined;
    if (isPair(pair)) {
      offset = getStart(pair.key) ?? offset;
      node = pair.value;
    } else if (isSeq(node) && typeof part === 'number') {
      node = node.items[part];
      offset = getStart(node) ?? offset;
    } else break;
  }
  return offset;
}

function getStart(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined;
}
