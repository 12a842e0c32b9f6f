import type { CheckpointInspection, InspectedFile } from '../../policy-distribution/inspection/checkpoint-inspection.ts';
import type { FileContents } from '../../policy-distribution/formats/file-contents.ts';
import { escapeUnprintableLine } from '../../kernel/text/printable.ts';

/** For people; names and metadata are an outsider's, and shown as such. */
export function formatInspection({ digest, kind, bytes, files }: CheckpointInspection): readonly string[] {
  const head = [
    digest ?? 'no digest: only what tells what it holds was read',
    kind === 'file' ? `a file of ${number(bytes)} bytes` : `a directory of ${number(files.length)} files, ${number(bytes)} bytes`,
  ];
  return [...head, ...files.flatMap((file) => ['', ...fileLines(file)])];
}

/** Of metadata, which may be whole documents. */
const MOST_SHOWN = 400;

function fileLines({ path, size, digest, contents }: InspectedFile): readonly string[] {
  return [
    `${escapeUnprintableLine(path)} · ${number(size)} bytes${digest === undefined ? '' : ` · ${digest}`}`,
    ...contentLines(contents).map((line) => `  ${line}`),
  ];
}

function contentLines(contents: FileContents): readonly string[] {
  switch (contents.format) {
    case 'safetensors': {
      const { tensors, metadata } = contents;
      const rows = tensors.map(({ name, dtype, shape, bytes }) => [escapeUnprintableLine(name), dtype, shapeText(shape), number(bytes)]);
      const bytes = tensors.reduce((sum, tensor) => sum + tensor.bytes, 0);
      return [`safetensors: ${number(tensors.length)} tensors, ${number(bytes)} bytes`, ...metadataLines(metadata), ...table(rows)];
    }
    case 'onnx':
      return onnxLines(contents);
    case 'torch.save':
    case 'torchscript': {
      const { format, tensors, unknown, entries } = contents;
      if (!tensors)
        return [`${format}: ${number(entries.length)} entries; its tensors are unknown: ${escapeUnprintableLine(unknown ?? '')}`];
      const rows = tensors.map(({ name, dtype, shape }) => [escapeUnprintableLine(name), dtype, shapeText(shape)]);
      return [`${format}: ${number(tensors.length)} tensors, read from its pickle, which was not run`, ...table(rows)];
    }
    case 'keras':
      return kerasLines(contents);
    case 'zip':
      return [`zip: ${number(contents.entries.length)} entries`, ...entryLines(contents.entries)];
    case 'other':
      return [];
  }
}

function kerasLines({ model, unknown, entries }: Extract<FileContents, { format: 'keras' }>): readonly string[] {
  if (!model) return [`keras: its layers are unknown: ${escapeUnprintableLine(unknown ?? '')}`, ...entryLines(entries)];
  const rows = model.layers.map(({ name, kind, inputShape }) => [
    escapeUnprintableLine(name),
    escapeUnprintableLine(kind),
    inputShape ? anyShapeText(inputShape) : '',
  ]);
  const head = `keras: ${escapeUnprintableLine(model.kind)}, ${number(model.layers.length)} layers, read from its configuration, which was not built`;
  return [head, ...table(rows), ...entryLines(entries)];
}

function entryLines(entries: readonly { readonly name: string; readonly size: number }[]): readonly string[] {
  return table(entries.map(({ name, size }) => [escapeUnprintableLine(name), number(size)]));
}

function onnxLines({ inputs, outputs, initializers, metadata }: Extract<FileContents, { format: 'onnx' }>): readonly string[] {
  const values = (what: string, all: typeof inputs): readonly string[] =>
    all.map(({ name, dtype, shape }) => `${what} ${escapeUnprintableLine(name)}: ${dtype} ${escapeUnprintableLine(shapeText(shape))}`);
  const bytes = initializers.reduce((sum, tensor) => sum + tensor.bytes, 0);
  return [
    `onnx: ${number(initializers.length)} tensors, ${number(bytes)} bytes`,
    ...values('input', inputs),
    ...values('output', outputs),
    ...metadataLines(metadata),
    ...table(
      initializers.map((tensor) => [escapeUnprintableLine(tensor.name), tensor.dtype, shapeText(tensor.shape), number(tensor.bytes)]),
    ),
  ];
}

function metadataLines(metadata: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(metadata).map(([name, text]) => `metadata ${escapeUnprintableLine(name)}: ${shorten(escapeUnprintableLine(text))}`);
}

function shapeText(shape: readonly (number | string)[]): string {
  return `[${shape.join(', ')}]`;
}

function anyShapeText(shape: readonly (number | null)[]): string {
  return shapeText(shape.map((size) => size ?? 'any'));
}

/** The last column to the right, the others to the left. */
function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => rows.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), 0));
  const cell = (text: string, column: number, row: readonly string[]): string =>
    column === row.length - 1 ? text.padStart(widths[column] ?? 0) : text.padEnd(widths[column] ?? 0);
  return rows.map((row) => row.map((text, column) => cell(text, column, row)).join('  '));
}

function shorten(text: string): string {
  return text.length <= MOST_SHOWN ? text : `${text.slice(0, MOST_SHOWN)}… (${number(text.length)} characters)`;
}

function number(value: number): string {
  return value.toLocaleString('en');
}
