import { digestBytes, formatCanonicalJson } from '../../../kernel/canonical-json.ts';

/**
 * The content of a container before anything is mounted: links and small files, as everything else is mounted. Nearly all root file systems have the
 * same links, and so the same image, of a few kilobytes.
 */
export interface Skeleton {
  /** Targets by their absolute paths. */
  readonly links: Readonly<Record<string, string>>;
  /** Texts by their absolute paths. */
  readonly files: Readonly<Record<string, string>>;
}

export const REPOSITORY = 'muster-workspace';

/** Returns the image's name, which its content decides. */
export function nameSkeleton(skeleton: Skeleton): string {
  return `${REPOSITORY}:${digestBytes(formatCanonicalJson(skeleton)).slice('sha256:'.length, 'sha256:'.length + 32)}`;
}
