import { isAlias, isCollection, isMap, isNode, isPair, isScalar, type Document } from 'yaml';
import { createTooDeepProblem, YAML_BOUNDS, YamlProblem } from './yaml-document.ts';

/** Size of a node once every alias is replaced by its value. */
interface Extent {
  readonly values: number;
  readonly depth: number;
}

const ONE: Extent = { values: 1, depth: 0 };

/**
 * Reads the document as plain values. Aliases are measured before any is expanded: a few lines of them can expand to more values than fit in memory,
 * and an alias inside its own anchor would never end.
 *
 * @param lineAt line of an offset in the text. @throws YamlProblem naming the line, and the anchor where there is one.
 */
export function readValues(document: Document.Parsed, lineAt: (offset: number) => number): unknown {
  new Measure(lineAt).checkNode(document.contents);
  // Measured above; the library counts its own bound differently.
  return document.toJS({ maxAliasCount: -1 });
}

class Measure {
  readonly #lineAt: (offset: number) => number;
  /** The latest node of each anchor; undefined while it is being measured. An anchor may be defined again later. */
  readonly #anchored = new Map<string, Extent | undefined>();
  #line = 1;

  constructor(lineAt: (offset: number) => number) {
    this.#lineAt = lineAt;
  }

  checkNode(node: unknown): Extent {
    if (isNode(node) && node.range) this.#line = this.#lineAt(node.range[0]);
    if (isAlias(node)) return this.#checkAlias(node.source);
    const anchor = isNode(node) ? node.anchor : undefined;
    if (anchor !== undefined) this.#anchored.set(anchor, undefined);
    const extent = isCollection(node) ? this.#checkCollection(node.items, isMap(node)) : ONE;
    if (anchor !== undefined) this.#anchored.set(anchor, extent);
    return extent;
  }

  #checkAlias(anchor: string): Extent {
    const extent = this.#anchored.get(anchor);
    if (extent !== undefined) return extent;
    const problem = this.#anchored.has(anchor)
      ? `the alias *${anchor} stands within &${anchor} itself; write out what is meant, or move the anchor`
      : `the alias *${anchor} has no anchor &${anchor} before it`;
    throw new YamlProblem(this.#line, problem);
  }

  #checkCollection(items: readonly unknown[], isMapping: boolean): Extent {
    const line = this.#line;
    const keys = new Set<string>();
    let [values, depth] = [1, 0];
    for (const item of items) {
      if (isMapping && isPair(item)) this.#checkKey(item.key, keys);
      const inner = this.checkNode(isPair(item) ? item.value : item);
      values += inner.values;
      depth = Math.max(depth, inner.depth);
      if (values > YAML_BOUNDS.values)
        throw new YamlProblem(this.#line, `with its aliases followed the text has more than ${YAML_BOUNDS.values} values`);
    }
    if (depth + 1 > YAML_BOUNDS.depth) throw createTooDeepProblem(line);
    return { values, depth: depth + 1 };
  }

  #checkKey(key: unknown, others: Set<string>): void {
    this.checkNode(key);
    if (isAlias(key) || (key !== null && !isScalar(key)))
      throw new YamlProblem(this.#line, 'a key is a list, a mapping or an alias; expected plain text');
    const name = String(key === null ? null : key.value);
    if (others.has(name)) throw new YamlProblem(this.#line, `the key ${JSON.stringify(name.slice(0, 200))} occurs twice; expected it once`);
    others.add(name);
  }
}
