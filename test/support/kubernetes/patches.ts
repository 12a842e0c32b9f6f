import { z } from 'zod';
import { objectSchema, Refusal, type KubeObject } from './api-objects.ts';

type Tree = Readonly<Record<string, unknown>>;

const operationsSchema = z.array(
  z.object({ op: z.enum(['add', 'replace', 'remove', 'test']), path: z.string().startsWith('/'), value: z.unknown().optional() }),
);

/** Applies a patch by its type, as API servers do. @throws Refusal (415, 422) */
export function patched(object: KubeObject, type: string, patch: unknown): KubeObject {
  switch (type) {
    case 'application/merge-patch+json':
    case 'application/strategic-merge-patch+json':
      return objectSchema.parse(merged(object, patch));
    case 'application/json-patch+json': {
      const operations = operationsSchema.safeParse(patch);
      if (!operations.success) throw new Refusal(400, 'BadRequest', 'cannot unmarshal object into Go value of type []handlers.jsonPatchOp');
      return objectSchema.parse(
        operations.data.reduce<unknown>((tree, { op, path, value }) => edited(tree, op, partsOf(path), value), object),
      );
    }
    default:
      throw new Refusal(415, 'UnsupportedMediaType', `the body of the request was in an unknown format - ${type}`);
  }
}

/** RFC 7396. */
function merged(target: unknown, patch: unknown): unknown {
  if (!isTree(patch)) return patch;
  const result = new Map(Object.entries(isTree(target) ? target : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key);
    else result.set(key, merged(result.get(key), value));
  }
  return Object.fromEntries(result);
}

/** RFC 6902, on mappings. */
function edited(tree: unknown, op: 'add' | 'replace' | 'remove' | 'test', [part, ...rest]: readonly string[], value: unknown): unknown {
  if (part === undefined) {
    if (op === 'test' && JSON.stringify(tree) !== JSON.stringify(value)) throw invalid('testing value failed');
    return op === 'test' ? tree : value;
  }
  if (!isTree(tree)) throw invalid(`there is nothing at "${part}"`);
  if (!(part in tree) && (op !== 'add' || rest.length > 0)) throw invalid(`"${part}" does not exist`);
  const result = new Map(Object.entries(tree));
  if (op === 'remove' && rest.length === 0) result.delete(part);
  else result.set(part, edited(result.get(part), op, rest, value));
  return Object.fromEntries(result);
}

function partsOf(path: string): readonly string[] {
  return path
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

const invalid = (message: string): Refusal =>
  new Refusal(422, 'Invalid', `the server rejected our request due to an error in our request: ${message}`);

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
