import { Called, isModule, Named, pickledValue, Stored, UnknownPickle } from './pickle-opcodes.ts';

/**
 * The tensors that a pickle of PyTorch's speaks of: of `torch.save`, or of the modules in a TorchScript archive. A list that lacks something would be
 * a lie, so there is none of a pickle that speaks of anything else than tensors, modules and plain values.
 */

export interface PickledTensor {
  /** Keys that lead to it, with dots between. */
  readonly name: string;
  /** As safetensors would call it. */
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
/** Of TorchScript, with nothing but numbers in them. */
const PLAIN_LISTS: ReadonlySet<string> = new Set(['int', 'double', 'bool'].map((kind) => `torch.jit._pickle.build_${kind}list`));
const MOST_DEPTH = 64;

/** @throws UnknownPickle */
export function pickledTensors(pickle: Uint8Array): readonly PickledTensor[] {
  return [...tensorsIn(pickledValue(pickle), '', 0)];
}

function* tensorsIn(value: unknown, name: string, depth: number): Generator<PickledTensor> {
  if (depth > MOST_DEPTH) throw new UnknownPickle('it is nested too deeply');
  if (value instanceof Map) yield* tensorsAmong(value, name, depth);
  else if (Array.isArray(value)) yield* tensorsAmong(value.entries(), name, depth);
  else if (value instanceof Called) {
    const { name: callee } = value.callee instanceof Named ? value.callee : { name: '' };
    if (callee === 'torch._utils._rebuild_tensor_v2') yield tensor(name, value.with);
    else if (callee === 'torch._utils._rebuild_parameter') yield* tensorsIn(value.with[0], name, depth + 1);
    else if (callee === 'collections.OrderedDict') yield* tensorsAmong(value.entries, name, depth);
    else if (callee === 'torch.jit._pickle.restore_type_tag' || callee === 'torch.jit._pickle.build_tensorlist')
      yield* tensorsIn(value.with[0], name, depth + 1);
    else if (isModule(value)) yield* tensorsAmong(value.entries, name, depth);
    else if (!PLAIN_LISTS.has(callee)) throw new UnknownPickle(`it calls ${callee === '' ? 'something without a name' : callee}`);
  }
}

function* tensorsAmong(entries: Iterable<readonly [unknown, unknown]>, name: string, depth: number): Generator<PickledTensor> {
  for (const [key, value] of entries) yield* tensorsIn(value, name === '' ? String(key) : `${name}.${String(key)}`, depth + 1);
}

function tensor(name: string, [storage, , shape]: readonly unknown[]): PickledTensor {
  const [, kind] = storage instanceof Stored ? storage.place : [];
  const dtype = kind instanceof Named ? STORAGES.get(kind.name.replace(/^torch\./, '')) : undefined;
  if (dtype === undefined || !Array.isArray(shape)) throw new UnknownPickle(`of the tensor ${name} nothing is known`);
  return { name, dtype, shape: shape.map(Number) };
}
