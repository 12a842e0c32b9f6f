"""Plays checkpoints of a control task beside a random policy, on seeds that training did not use."""

import gymnasium

from examples.training.play import measurement_parser, report


def main() -> None:
    parser = measurement_parser(__doc__)
    parser.add_argument("--environment", default="CartPole-v1", help="gymnasium's name of it (default: CartPole-v1)")
    arguments = parser.parse_args()
    environment = gymnasium.make(arguments.environment, disable_env_checker=True)
    environment.action_space.seed(arguments.seed)
    report(arguments, {arguments.environment: environment}, {"random": lambda _: environment.action_space.sample()})


if __name__ == "__main__":
    main()
