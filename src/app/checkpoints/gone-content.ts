import { InfrastructureError, InputError } from '../../kernel/errors.ts';
import type { StoredCheckpoint } from '../../policy-distribution/stored-checkpoint.ts';

/**
 * Waits for content of an earlier evaluation.
 *
 * @throws InputError `replay.gone` that names it, when the store no longer has all of it.
 */
export async function refuseGone(
  reading: Promise<StoredCheckpoint>,
  content: { readonly digest: string; readonly files: readonly { readonly path: string }[]; readonly uri?: string },
): Promise<StoredCheckpoint> {
  try {
    return await reading;
  } catch (error) {
    if (!(error instanceof InfrastructureError) || error.code !== 'store.content-missing') throw error;
    const names = content.files.map(({ path }) => path).join(', ');
    const origin = content.uri === undefined ? '' : `, and ${content.uri} does not have it either`;
    throw new InputError(
      'replay.gone',
      `${names} (${content.digest}) is no longer in the store${origin}; evaluate the same content again to restore it`,
      { cause: error },
    );
  }
}
