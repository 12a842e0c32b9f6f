import type { CheckpointInspection, InspectedFile } from '../../policy-distribution/inspection/checkpoint-inspection.ts';
import type { FileContents } from '../../policy-distribution/formats/file-contents.ts';
import { WEIGHTS_ENDINGS } from '../../policy-distribution/checkpoint.ts';
import { escapeUnprintableLine } from '../../kernel/text/printable.ts';

/** Formats the inspection for people. Names and metadata come from outside and are escaped. */
export function formatInspection({ digest, kind, bytes, files }: CheckpointInspection): readonly string[] {
  const head = [
    digest ?? 'no digest: only what tells what it holds was read',
    kind === 'file'
      ? `a file of ${formatNumber(bytes)} bytes`
      : `a directory of ${formatNumber(files.length)} files, ${formatNumber(bytes)} bytes`,
  ];
  const isNone = kind === 'file' && files.every(({ contents }) => contents.format === 'other');
  const remark = isNone ? ['', `no checkpoint that Muster plays: expected a file that ends in ${WEIGHTS_ENDINGS}, or a directory`] : [];
  return [...head, ...files.flatMap((file) => ['', ...formatFileLines(file)]), ...remark];
}

/** The largest number of characters of metadata, which may be whole documents. */
const MOST_SHOWN = 400;

function formatFileLines({ path, size, digest, contents }: InspectedFile): readonly string[] {
  return [
    `${escapeUnprintableLine(path)} · ${formatNumber(size)} bytes${digest === undefined ? '' : ` · ${digest}`}`,
    ...formatContentLines(contents).map((line) => `  ${line}`),
  ];
}

function formatContentLines(contents: FileContents): readonly string[] {
  switch (contents.format) {
    case 'safetensors': {
      const { tensors, metadata } = contents;
      const rows = tensors.map(({ name, dtype, shape, bytes }) => [
        escapeUnprintableLine(name),
        dtype,
        shapeText(shape),
        formatNumber(bytes),
      ]);
      const bytes = tensors.reduce((sum, tensor) => sum + tensor.bytes, 0);
      return [
        `safetensors: ${formatNumber(tensors.length)} tensors, ${formatNumber(bytes)} bytes`,
        ...formatMetadataLines(metadata),
        ...formatTable(rows),
      ];
    }
    case 'onnx':
      return formatOnnxLines(contents);
    case 'torch.save':
    case 'torchscript': {
      const { format, tensors, unknown, entries } = contents;
      if (!tensors)
        return [`${format}: ${formatNumber(entries.length)} entries; its tensors are unknown: ${escapeUnprintableLine(unknown ?? '')}`];
      const rows = tensors.map(({ name, dtype, shape }) => [escapeUnprintableLine(name), dtype, shapeText(shape)]);
      return [`${format}: ${formatNumber(tensors.length)} tensors, read from its pickle, which was not run`, ...formatTable(rows)];
    }
    case 'keras':
      return formatKerasLines(contents);
    case 'zip':
      return [`zip: ${formatNumber(contents.entries.length)} entries`, ...formatEntries(contents.entries)];
    case 'other':
      return [];
  }
}

function formatKerasLines({ model, unknown, entries }: Extract<FileContents, { format: 'keras' }>): readonly string[] {
  if (!model) return [`keras: its layers are unknown: ${escapeUnprintableLine(unknown ?? '')}`, ...formatEntries(entries)];
  const rows = model.layers.map(({ name, kind, inputShape }) => [
    escapeUnprintableLine(name),
    escapeUnprintableLine(kind),
    inputShape ? formatAnyShape(inputShape) : '',
  ]);
  const head = `keras: ${escapeUnprintableLine(model.kind)}, ${formatNumber(model.layers.length)} layers, read from its configuration, which was not built`;
  return [head, ...formatTable(rows), ...formatEntries(entries)];
}

function formatEntries(entries: readonly { readonly name: string; readonly size: number }[]): readonly string[] {
  return formatTable(entries.map(({ name, size }) => [escapeUnprintableLine(name), formatNumber(size)]));
}

function formatOnnxLines({ inputs, outputs, initializers, metadata }: Extract<FileContents, { format: 'onnx' }>): readonly string[] {
  const formatValues = (what: string, all: typeof inputs): readonly string[] =>
    all.map(({ name, dtype, shape }) => `${what} ${escapeUnprintableLine(name)}: ${dtype} ${escapeUnprintableLine(shapeText(shape))}`);
  const bytes = initializers.reduce((sum, tensor) => sum + tensor.bytes, 0);
  return [
    `onnx: ${formatNumber(initializers.length)} tensors, ${formatNumber(bytes)} bytes`,
    ...formatValues('input', inputs),
    ...formatValues('output', outputs),
    ...formatMetadataLines(metadata),
    ...formatTable(
      initializers.map((tensor) => [escapeUnprintableLine(tensor.name), tensor.dtype, shapeText(tensor.shape), formatNumber(tensor.bytes)]),
    ),
  ];
}

function formatMetadataLines(metadata: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(metadata).map(([name, text]) => `metadata ${escapeUnprintableLine(name)}: ${shorten(escapeUnprintableLine(text))}`);
}

function shapeText(shape: readonly (number | string)[]): string {
  return `[${shape.join(', ')}]`;
}

function formatAnyShape(shape: readonly (number | null)[]): string {
  return shapeText(shape.map((size) => size ?? 'any'));
}

/** Aligns the last column right, the others left. */
function formatTable(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => rows.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), 0));
  const padCell = (text: string, column: number, row: readonly string[]): string =>
    column === row.length - 1 ? text.padStart(widths[column] ?? 0) : text.padEnd(widths[column] ?? 0);
  return rows.map((row) => row.map((text, column) => padCell(text, column, row)).join('  '));
}

function shorten(text: string): string {
  return text.length <= MOST_SHOWN ? text : `${text.slice(0, MOST_SHOWN)}… (${formatNumber(text.length)} characters)`;
}

function formatNumber(value: number): string {
  return value.toLocaleString('en');
}
