import { z } from 'zod';
import { JsonProblem, parseJson, type JsonBounds } from '../../kernel/json-bounds.ts';

/** What `config.json` of a `.keras` file says about its model. Nothing is built. */
export interface KerasModel {
  /** The model's class, as Keras calls it: `Sequential`, `Functional`, or a user's own class. */
  readonly kind: string;
  /** Layers in the order of the file; empty if the model's own code makes them. */
  readonly layers: readonly KerasLayer[];
}

export interface KerasLayer {
  readonly name: string;
  readonly kind: string;
  /** Null for dimensions of any size; undefined where the model has several inputs, or was never built. */
  readonly inputShape?: readonly (number | null)[] | undefined;
}

/** The configuration of ten thousand layers is smaller. Models can be nested, and each is some ten levels deep. */
export const CONFIG_BOUNDS: JsonBounds = { bytes: 16 * 2 ** 20, depth: 128, values: 1_000_000 };

/** The message says why. */
export class UnknownKerasModel extends Error {}

const shape = z.array(z.number().nullable()).optional().catch(undefined);
const layerSchema = z.object({
  class_name: z.string(),
  config: z.object({ name: z.string(), batch_shape: shape }),
  build_config: z.object({ input_shape: shape }).nullish(),
});
const modelSchema = z.object({ class_name: z.string(), config: z.object({ layers: z.array(layerSchema).default([]) }) });

/** @param bytes of `config.json`. @throws UnknownKerasModel */
export function readKerasModel(bytes: Uint8Array): KerasModel {
  const { success, data } = modelSchema.safeParse(parseConfig(bytes));
  if (!success) throw new UnknownKerasModel('config.json describes no model as Keras 3 writes it');
  return {
    kind: data.class_name,
    layers: data.config.layers.map(({ class_name, config, build_config }) => ({
      name: config.name,
      kind: class_name,
      inputShape: config.batch_shape ?? build_config?.input_shape,
    })),
  };
}

function parseConfig(bytes: Uint8Array): unknown {
  try {
    return parseJson(bytes, CONFIG_BOUNDS);
  } catch (error) {
    throw error instanceof JsonProblem ? new UnknownKerasModel(`config.json: ${error.message}`) : error;
  }
}
