import { InputError } from '../../kernel/errors.ts';

/** Says where a policy is played: in the environment's process, or by a separate program beside it. */
export type PolicyPlacement = 'together' | 'apart';

/** The facts that decide the placement. */
export interface PolicyPlacing {
  /** The template's setting. */
  readonly wished: 'auto' | PolicyPlacement;
  /** Whether callers with tokens, who need not trust one another, share the template's sandboxes. */
  readonly hasTokens: boolean;
  /** Whether one of the checkpoints may bring code. */
  readonly bringsCode: boolean;
}

export function choosePolicyPlacement({ wished, hasTokens, bringsCode }: PolicyPlacing): PolicyPlacement {
  switch (wished) {
    case 'auto':
      return hasTokens && bringsCode ? 'apart' : 'together';
    case 'together':
    case 'apart':
      return wished;
  }
}

/** The settings that decide whether a template's sandboxes can play policies apart. */
export interface PairingSettings {
  readonly provider: { readonly name: string; readonly playsApart: boolean };
  readonly command?: readonly string[] | undefined;
}

/** @throws InputError `template.policy-together` when the template's sandboxes cannot have two programs. */
export function assertPlaysApart(template: string, { provider, command }: PairingSettings): void {
  if (!provider.playsApart)
    throw createCannotPlayApartError(template, `its provider is ${provider.name}, whose sandboxes have one program only`);
  if (command !== undefined) throw createCannotPlayApartError(template, 'it has a runner of its own (command)');
}

/** Says why a template's sandboxes do not play a policy apart from the environment. */
export function createCannotPlayApartError(template: string, problem: string): InputError {
  return new InputError(
    'template.policy-together',
    `template "${template}": the policy is to be played apart from the environment, and ${problem}; ` +
      'name a template in the suite whose provider is bubblewrap and which has no command, send a checkpoint that is data ' +
      '(safetensors, ONNX), or have the operator set policy: together in this template, with which the code of a checkpoint can change its own score',
  );
}
