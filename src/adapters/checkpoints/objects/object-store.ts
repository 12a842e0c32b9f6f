import { InputError } from '../../../kernel/errors.ts';
import type { OpenedFile } from '../resumed-reading.ts';

/** What Muster needs from an object store: Google's, or one with the protocol of S3. */
export interface ObjectStore {
  /** It is shown to people. */
  readonly name: string;
  /** The remedy when there are no credentials, or they may not read. */
  readonly signIn: string;
  /** @returns undefined when there is no such object or bucket. */
  find(place: ObjectLocation, signal: AbortSignal): Promise<FoundObject | undefined>;
  /**
   * Lists the objects whose names begin with the place's name, in order.
   *
   * @param token of the page; undefined for the first. @throws ObjectStoreError with status 404 when there is no such bucket.
   */
  page(place: ObjectLocation, token: string | undefined, signal: AbortSignal): Promise<ObjectPage>;
  /**
   * @param revision of the object, as it was found.
   * @throws ObjectStoreError with status 404 or 412 when there is another version by now.
   */
  open(place: ObjectLocation, revision: string, from: number, signal: AbortSignal): Promise<OpenedFile>;
  /**
   * Returns a URL that grants reading the object for a limited time: this very version, where the store distinguishes versions.
   *
   * @throws ObjectStoreError, also without credentials that can sign.
   */
  link(place: ObjectLocation, revision: string, seconds: number): Promise<string>;
  /** Writes a whole small object, and replaces an existing one. */
  put(place: ObjectLocation, text: string, signal: AbortSignal): Promise<void>;
}

/** Every failure of an object store: the errors that its client throws, by kind. */
export class ObjectStoreError extends Error {
  /** HTTP status; undefined when there was no answer. */
  readonly status: number | undefined;
  /** Whether there were no credentials for the request. */
  readonly isUnsigned: boolean;

  constructor(message: string, status: number | undefined, isUnsigned: boolean, options: ErrorOptions) {
    super(message, options);
    this.name = 'ObjectStoreError';
    this.status = status;
    this.isUnsigned = isUnsigned;
  }
}

export interface ObjectLocation {
  readonly bucket: string;
  /** Name of an object, or prefix of several. It is not decoded: a name may contain any character. */
  readonly name: string;
}

export interface ObjectPage {
  readonly objects: readonly FoundObject[];
  /** The token of the next page; undefined after the last. */
  readonly next: string | undefined;
}

export interface FoundObject {
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  /** Its version: a generation or an entity tag. */
  readonly revision: string;
}

const PLACE = /^(?<scheme>gs|s3):\/\/(?<bucket>[a-z0-9][a-z0-9._-]{1,220}[a-z0-9])(?:\/(?<name>.*))?$/is;

/** @throws InputError `checkpoint.uri` */
export function parseObjectLocation(uri: string): ObjectLocation {
  const { bucket, name = '' } = PLACE.exec(uri)?.groups ?? {};
  if (bucket !== undefined) return { bucket, name };
  throw new InputError(
    'checkpoint.uri',
    `checkpoint: ${JSON.stringify(uri.slice(0, 200))} names no object; expected gs://bucket/name or s3://bucket/name`,
  );
}
