import { Option, type Command } from 'commander';

/**
 * An option that the command cannot do without. Commander's own check of mandatory options comes before the one for unknown options, so that
 * `--chekpoint FILE` would be answered by "--checkpoint is missing" alone; this one comes after it.
 */
export function addNeededOption(command: Command, option: Option): Command {
  return command.addOption(option).hook('preAction', (_, action) => {
    if (action.getOptionValue(option.attributeName()) !== undefined) return;
    action.error(`error: required option '${option.flags}' not specified`, { code: 'commander.missingMandatoryOptionValue' });
  });
}
