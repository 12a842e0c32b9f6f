"""Plays checkpoints and the baselines in the simulated catalogue, on seeds that training did not use."""

from examples.recommendations.baselines import favourite, tuned_rotation
from examples.recommendations.environment.catalogue import make
from examples.training.play import measurement_parser, report

if __name__ == "__main__":
    report(measurement_parser(__doc__).parse_args(), {"catalogue": make()}, {"favourite": favourite, "rotation": tuned_rotation})
