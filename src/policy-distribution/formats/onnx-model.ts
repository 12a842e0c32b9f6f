import { InputError } from '../../kernel/errors.ts';
import { FieldReader, MalformedMessage, type Field } from './protobuf-fields.ts';
import type { ReadAt } from './read-at.ts';

/** An input or output of a model. */
export interface OnnxValue {
  readonly name: string;
  /** The name in safetensors; ONNX's number where safetensors has none. */
  readonly dtype: string;
  /** An open dimension has a name, or none. */
  readonly shape: readonly (number | string)[];
}

export interface OnnxTensor {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  /** Bytes of its data. If the data is in another file, the length that the model states; 0 when it states none. */
  readonly bytes: number;
}

/** What an ONNX model says about itself; its numbers are not read. */
export interface OnnxModel {
  readonly inputs: readonly OnnxValue[];
  readonly outputs: readonly OnnxValue[];
  readonly initializers: readonly OnnxTensor[];
  readonly metadata: Readonly<Record<string, string>>;
}

/** Numbers of the fields in onnx.proto that are read. */
const MODEL = { graph: 7, metadata: 14 };
const GRAPH = { initializer: 5, input: 11, output: 12 };
const TENSOR = { dims: 1, type: 2, name: 8, elsewhere: 13 };
/** `float_data` to `int64_data`, `raw_data`, `double_data`, `uint64_data`. */
const DATA: ReadonlySet<number> = new Set([4, 5, 6, 7, 9, 10, 11]);
const ENTRY = { key: 1, value: 2 };
/** The largest number of fields and dimensions of all messages that are read: a tensor has some ten. */
const MOST_FIELDS = 1_000_000;
/** The size of names and metadata together. */
const MOST_TEXT_BYTES = 32 * 2 ** 20;
const MOST_DIMENSIONS = 64;
const MOST_NAME_BYTES = 4096;
const MOST_METADATA_BYTES = 2 ** 20;

/** TensorProto.DataType. */
const DTYPES: ReadonlyMap<number, string> = new Map([
  [1, 'F32'],
  [2, 'U8'],
  [3, 'I8'],
  [4, 'U16'],
  [5, 'I16'],
  [6, 'I32'],
  [7, 'I64'],
  [9, 'BOOL'],
  [10, 'F16'],
  [11, 'F64'],
  [12, 'U32'],
  [13, 'U64'],
  [14, 'C64'],
  [16, 'BF16'],
]);

/** @throws InputError `checkpoint.onnx`, naming the file and what was found. */
export async function readOnnxModel(file: string, size: number, readAt: ReadAt): Promise<OnnxModel> {
  try {
    return await new ModelReader(new FieldReader(size, readAt, { fields: MOST_FIELDS, textBytes: MOST_TEXT_BYTES })).readModel(size);
  } catch (error) {
    if (!(error instanceof MalformedMessage)) throw error;
    throw new InputError('checkpoint.onnx', `checkpoint: ${file}: ${error.message}; expected an ONNX model`, { cause: error });
  }
}

type Bytes = Extract<Field, { kind: 'bytes' }>;

class ModelReader {
  readonly #reader: FieldReader;
  readonly #inputs: OnnxValue[] = [];
  readonly #outputs: OnnxValue[] = [];
  readonly #initializers: OnnxTensor[] = [];
  readonly #metadata: [string, string][] = [];

  constructor(reader: FieldReader) {
    this.#reader = reader;
  }

  async readModel(size: number): Promise<OnnxModel> {
    let hasGraph = false;
    for await (const field of this.#reader.readFields(0, size)) {
      if (field.kind !== 'bytes') continue;
      if (field.number === MODEL.graph) await this.#readGraph(field);
      if (field.number === MODEL.metadata) this.#metadata.push(await this.#readEntry(field));
      hasGraph ||= field.number === MODEL.graph;
    }
    if (!hasGraph) throw new MalformedMessage('it has no graph');
    // Older models list their initializers among the inputs.
    const held = new Set(this.#initializers.map(({ name }) => name));
    return {
      inputs: this.#inputs.filter(({ name }) => !held.has(name)),
      outputs: this.#outputs,
      initializers: this.#initializers,
      metadata: Object.fromEntries(this.#metadata),
    };
  }

  async #readGraph({ begin, end }: Bytes): Promise<void> {
    for await (const field of this.#reader.readFields(begin, end)) {
      if (field.kind !== 'bytes') continue;
      if (field.number === GRAPH.initializer) this.#initializers.push(await this.#readTensor(field));
      if (field.number === GRAPH.input) this.#inputs.push(await this.#readValue(field));
      if (field.number === GRAPH.output) this.#outputs.push(await this.#readValue(field));
    }
  }

  async #readTensor({ begin, end }: Bytes): Promise<OnnxTensor> {
    let [name, dtype, bytes] = ['', getDtype(0), 0];
    const shape: number[] = [];
    for await (const field of this.#reader.readFields(begin, end)) {
      if (field.kind === 'varint' && field.number === TENSOR.type) dtype = getDtype(Number(field.value));
      if (field.kind === 'varint' && field.number === TENSOR.dims) shape.push(Number(field.value));
      if (field.kind !== 'bytes') continue;
      if (field.number === TENSOR.dims) for (const size of await this.#reader.readVarints(field.begin, field.end)) shape.push(Number(size));
      else if (field.number === TENSOR.name) name = await this.#reader.readText(field.begin, field.end, MOST_NAME_BYTES);
      else if (field.number === TENSOR.elsewhere) bytes = Math.max(bytes, await this.#readLengthElsewhere(field));
      else if (DATA.has(field.number)) bytes = Math.max(bytes, field.end - field.begin);
    }
    assertDimensions(shape);
    return { name, dtype, shape, bytes };
  }

  /** Returns the value of the entry `length` of `external_data`, and 0 for its other entries. */
  async #readLengthElsewhere(entry: Bytes): Promise<number> {
    const [key, value] = await this.#readEntry(entry);
    return key === 'length' && /^\d{1,15}$/.test(value) ? Number(value) : 0;
  }

  /** Reads a ValueInfoProto: a name, and a type that holds a tensor's type. */
  async #readValue(value: Bytes): Promise<OnnxValue> {
    let name = '';
    let type: Omit<OnnxValue, 'name'> = { dtype: getDtype(0), shape: [] };
    for await (const field of this.#reader.readFields(value.begin, value.end)) {
      if (field.kind !== 'bytes') continue;
      if (field.number === 1) name = await this.#reader.readText(field.begin, field.end, MOST_NAME_BYTES);
      if (field.number !== 2) continue;
      for await (const inner of this.#reader.readFields(field.begin, field.end))
        if (inner.kind === 'bytes' && inner.number === 1) type = await this.#readTensorType(inner);
    }
    return { name, ...type };
  }

  async #readTensorType({ begin, end }: Bytes): Promise<Omit<OnnxValue, 'name'>> {
    let dtype = getDtype(0);
    const shape: (number | string)[] = [];
    for await (const field of this.#reader.readFields(begin, end)) {
      if (field.kind === 'varint' && field.number === 1) dtype = getDtype(Number(field.value));
      if (field.kind !== 'bytes' || field.number !== 2) continue;
      for await (const dimension of this.#reader.readFields(field.begin, field.end))
        if (dimension.kind === 'bytes' && dimension.number === 1) shape.push(await this.#readDimension(dimension));
    }
    assertDimensions(shape);
    return { dtype, shape };
  }

  async #readDimension({ begin, end }: Bytes): Promise<number | string> {
    for await (const field of this.#reader.readFields(begin, end)) {
      if (field.kind === 'varint' && field.number === 1) return Number(field.value);
      if (field.kind === 'bytes' && field.number === 2) return this.#reader.readText(field.begin, field.end, MOST_NAME_BYTES);
    }
    return '?';
  }

  async #readEntry({ begin, end }: Bytes): Promise<[string, string]> {
    let [key, value] = ['', ''];
    for await (const field of this.#reader.readFields(begin, end)) {
      if (field.kind !== 'bytes') continue;
      const text = await this.#reader.readText(field.begin, field.end, MOST_METADATA_BYTES);
      if (field.number === ENTRY.key) key = text;
      if (field.number === ENTRY.value) value = text;
    }
    return [key, value];
  }
}

function assertDimensions({ length }: readonly unknown[]): void {
  if (length > MOST_DIMENSIONS) throw new MalformedMessage(`a tensor has ${length} dimensions, at most ${MOST_DIMENSIONS} are shown`);
}

function getDtype(number: number): string {
  return DTYPES.get(number) ?? `type ${number}`;
}
