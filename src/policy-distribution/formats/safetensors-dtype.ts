/** Element types of the safetensors format and the bits of one element. */
const ELEMENT_BITS: ReadonlyMap<string, number> = new Map([
  ['F4', 4],
  ['F6_E2M3', 6],
  ['F6_E3M2', 6],
  ['BOOL', 8],
  ['U8', 8],
  ['I8', 8],
  ['F8_E5M2', 8],
  ['F8_E4M3', 8],
  ['F8_E8M0', 8],
  ['F8_E4M3FNUZ', 8],
  ['F8_E5M2FNUZ', 8],
  ['I16', 16],
  ['U16', 16],
  ['F16', 16],
  ['BF16', 16],
  ['I32', 32],
  ['U32', 32],
  ['F32', 32],
  ['C64', 64],
  ['F64', 64],
  ['I64', 64],
  ['U64', 64],
]);

export const DTYPES: readonly string[] = [...ELEMENT_BITS.keys()];

/** @returns undefined when the format has no such type. */
export function getElementBits(dtype: string): number | undefined {
  return ELEMENT_BITS.get(dtype);
}
