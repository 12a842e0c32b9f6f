import { readPickle } from './pickle-opcodes.ts';
import { Called, isModule, Named, Stored, UnknownPickle } from './pickled-values.ts';

/**
 * The tensors in a pickle of `torch.save`, or of the modules in a TorchScript archive. An incomplete list would mislead, so a pickle with
 * anything but tensors, modules and plain values gives none.
 */

export interface PickledTensor {
  /** The keys to it, joined by dots. */
  readonly name: string;
  /** The name in safetensors. */
  readonly dtype: string;
  readonly shape: readonly number[];
}

const STORAGES: ReadonlyMap<string, string> = new Map([
  ['FloatStorage', 'F32'],
  ['DoubleStorage', 'F64'],
  ['HalfStorage', 'F16'],
  ['BFloat16Storage', 'BF16'],
  ['LongStorage', 'I64'],
  ['IntStorage', 'I32'],
  ['ShortStorage', 'I16'],
  ['CharStorage', 'I8'],
  ['ByteStorage', 'U8'],
  ['BoolStorage', 'BOOL'],
]);
/** Types of TorchScript that hold only numbers. */
const PLAIN_LISTS: ReadonlySet<string> = new Set(['int', 'double', 'bool'].map((kind) => `torch.jit._pickle.build_${kind}list`));
/** Callables whose result is made from their first argument alone. */
const FIRST_ALONE: ReadonlySet<string> = new Set([
  'torch._utils._rebuild_parameter',
  'torch.jit._pickle.restore_type_tag',
  'torch.jit._pickle.build_tensorlist',
]);
const MOST_DEPTH = 64;
/** A list that two lists contain is read twice, so a few bytes can mean very many values. */
const MOST_VALUES = 2_000_000;
const MOST_NAME_CHARACTERS = 4096;
const MOST_DIMENSIONS = 64;

/** @throws UnknownPickle */
export function readPickledTensors(pickle: Uint8Array): readonly PickledTensor[] {
  const search = new Search();
  search.in(readPickle(pickle), '', 0);
  return search.found;
}

/** Visits everything in a pickle's result. */
class Search {
  readonly found: PickledTensor[] = [];
  #left = MOST_VALUES;

  in(value: unknown, name: string, depth: number): void {
    if (depth > MOST_DEPTH) throw new UnknownPickle('it is nested too deeply');
    this.#left -= 1;
    if (this.#left < 0) throw new UnknownPickle(`it comes to more than ${MOST_VALUES} values`);
    if (value instanceof Map) this.#visitEntries(value, name, depth);
    else if (Array.isArray(value)) this.#visitEntries(value.entries(), name, depth);
    else if (value instanceof Called) this.#visitCall(value, name, depth);
  }

  #visitCall(value: Called, name: string, depth: number): void {
    const { name: callee, shown } = value.callee instanceof Named ? value.callee : { name: '', shown: 'something without a name' };
    if (callee === 'torch._utils._rebuild_tensor_v2') this.found.push(toTensor(name, value.with));
    else if (FIRST_ALONE.has(callee)) this.in(value.with[0], name, depth + 1);
    else if (callee === 'collections.OrderedDict' || isModule(value)) this.#visitEntries(value.entries, name, depth);
    else if (!PLAIN_LISTS.has(callee)) throw new UnknownPickle(`it calls ${shown}`);
  }

  #visitEntries(entries: Iterable<readonly [unknown, unknown]>, name: string, depth: number): void {
    for (const [key, value] of entries) {
      const inner = name === '' ? formatKey(key) : `${name}.${formatKey(key)}`;
      if (inner.length > MOST_NAME_CHARACTERS) throw new UnknownPickle(`a name has more than ${MOST_NAME_CHARACTERS} characters`);
      this.in(value, inner, depth + 1);
    }
  }
}

/** Formats other keys as `?`: a list that contains itself would never end. */
function formatKey(key: unknown): string {
  return typeof key === 'string' || typeof key === 'number' || typeof key === 'boolean' ? String(key) : '?';
}

function toTensor(name: string, [storage, , shape]: readonly unknown[]): PickledTensor {
  const [, kind] = storage instanceof Stored ? storage.place : [];
  const dtype = kind instanceof Named ? STORAGES.get(kind.name.replace(/^torch\./, '')) : undefined;
  if (dtype === undefined || !isShape(shape)) throw new UnknownPickle(`of the tensor ${name} nothing is known`);
  return { name, dtype, shape };
}

function isShape(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.length <= MOST_DIMENSIONS && value.every((size) => typeof size === 'number');
}
