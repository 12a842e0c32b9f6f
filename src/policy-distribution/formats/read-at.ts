/** Reads up to `length` bytes of the file from `position` on; fewer only where the file ends. */
export type ReadAt = (position: number, length: number) => Promise<Uint8Array>;
