/**
 * An ONNX model may have its weights in a second file: PyTorch's exporter writes `policy.onnx.data` beside `policy.onnx`. The two are one
 * checkpoint, a directory of two files, so that its digest covers the weights.
 *
 * @param name of the model's file, or its path or URI. @returns the name of the possible file beside it; undefined for anything but an ONNX
 * model.
 */
export function getDataFileName(name: string): string | undefined {
  return name.endsWith('.onnx') ? `${name}.data` : undefined;
}
