import type { Readable } from 'node:stream';

/** A host file is shared without a copy where the provider can do so; it must not change afterwards. */
export type UploadContent = { readonly kind: 'file'; readonly hostPath: string } | { readonly kind: 'stream'; readonly stream: Readable };

/** Receives files. */
export interface UploadTarget {
  /**
   * Makes a file readable inside, read-only, under the inbox. The file appears whole or not at all.
   *
   * @param path relative, without `..` or empty parts. @returns the file's absolute path as the program sees it. @throws InputError when
   * the path would leave the inbox; InfrastructureError when the sandbox is gone or storage fails.
   */
  upload(path: string, content: UploadContent, signal: AbortSignal): Promise<string>;
}
