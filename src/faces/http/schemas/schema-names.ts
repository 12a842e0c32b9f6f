import { isDeepStrictEqual } from 'node:util';
import { isMapping, getValueAt } from '../../../kernel/documents/path.ts';

const INPUT = 'Input';

/**
 * Gives every schema of an OpenAPI document one name. The converter makes two of each, one for requests and one for answers; where they are equal, or
 * only one is used, one remains, under the plain name.
 */
export function simplifySchemaNames<Document extends object>(document: Document): Document {
  const components = getValueAt(document, ['components']);
  const schemas = getValueAt(components, ['schemas']);
  if (!isMapping(components) || !isMapping(schemas)) return document;
  const referred = findReferences(document);
  const plain = new Map<string, string>();
  for (const name of Object.keys(schemas)) {
    const other = name.slice(0, -INPUT.length);
    if (!name.endsWith(INPUT) || !Object.hasOwn(schemas, other)) continue;
    if (
      !referred.has(other) ||
      isDeepStrictEqual(renameReferences(schemas[name], toPlainName), renameReferences(schemas[other], toPlainName))
    )
      plain.set(name, other);
  }
  const kept = Object.entries(schemas).filter(([name]) => referred.has(name) && !isReplaced(name, plain, referred));
  const named = kept.map(([name, schema]) => [plain.get(name) ?? name, schema]);
  const plainlyNamed = { ...document, components: { ...components, schemas: Object.fromEntries(named) } };
  return renameReferences(plainlyNamed, (name) => plain.get(name) ?? name);
}

/** Tells whether the schema for requests is dropped: it equals the one for answers, to which something refers. */
function isReplaced(name: string, plain: ReadonlyMap<string, string>, referred: ReadonlySet<string>): boolean {
  const other = plain.get(name);
  return other !== undefined && referred.has(other);
}

function toPlainName(name: string): string {
  return name.endsWith(INPUT) ? name.slice(0, -INPUT.length) : name;
}

const REFERENCE = '#/components/schemas/';

function findReferences(value: unknown): ReadonlySet<string> {
  const found = new Set<string>();
  mapReferences(value, (name) => {
    found.add(name);
    return name;
  });
  return found;
}

function renameReferences<Value>(value: Value, name: (name: string) => string): Value {
  return mapReferences(value, name);
}

/** Returns a copy with every reference to a named schema replaced by what `name` makes of it. */
function mapReferences<Value>(value: Value, name: (name: string) => string): Value {
  const text = JSON.stringify(value, (key, member: unknown) =>
    key === '$ref' && typeof member === 'string' && member.startsWith(REFERENCE)
      ? REFERENCE + name(member.slice(REFERENCE.length))
      : member,
  );
  const copy: Value = JSON.parse(text);
  return copy;
}
