"""Plays checkpoints and the baselines in the shop under each kind of demand, on seeds that training did not use."""

from examples.inventory.baselines import tuned_base_stock, tuned_joint_reorder
from examples.inventory.environment.shop import make
from examples.training.play import measurement_parser, report

if __name__ == "__main__":
    shops = {"steady": make("steady"), "seasonal": make("seasonal"), "volatile": make("volatile")}
    report(measurement_parser(__doc__).parse_args(), shops, {"base-stock": tuned_base_stock, "joint-reorder": tuned_joint_reorder})
