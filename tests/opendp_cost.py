"""What OpenDP itself says that our mechanisms cost."""

import math

from privet.privacy.mechanisms import _additive, _noisy_max


def opendp_cost(mechanism, sensitivity, scale):
    """What OpenDP itself says the mechanism costs (pure epsilon), for cross-checks of our receipts.

    OpenDP states Gumbel selection, which is the exponential mechanism, in zCDP only: rho =
    (sensitivity/scale)^2 / 8. That is the rho of a mechanism whose log-probabilities range over epsilon, so
    epsilon is read back as sqrt(8 rho). Of Gaussian noise, which has no epsilon, it is sqrt(2 rho): its ratio.
    """
    if mechanism == "gaussian":
        return math.nextafter(math.sqrt(2 * float(_additive(mechanism, scale).map(float(sensitivity)))), math.inf)
    if mechanism == "geometric":
        return float(_additive(mechanism, scale).map(sensitivity))
    cost = float(_noisy_max(mechanism, scale).map(sensitivity))
    return math.nextafter(math.sqrt(8 * cost), math.inf) if mechanism == "exponential" else cost
