import type { FileNumbers } from '../../policy-distribution/files/file-looks.ts';

/** What is said between a process and its thread that looks at files. */

export type LookKind = 'real' | 'stats' | 'ownStats' | 'entries';

export interface LookOrder {
  readonly id: number;
  readonly looks: readonly (readonly [LookKind, string])[];
}

/** Of a file: its mode, which tells what it is, and its numbers. */
export interface FoundStats extends FileNumbers {
  readonly mode: bigint;
}

export type Found =
  | { readonly kind: 'real'; readonly path: string }
  | { readonly kind: 'stats'; readonly stats: FoundStats }
  | { readonly kind: 'entries'; readonly entries: readonly (readonly [name: string, isFile: boolean])[] }
  | { readonly kind: 'failed'; readonly code: string | undefined; readonly message: string };

export interface LookAnswer {
  readonly id: number;
  readonly found: readonly Found[];
}
