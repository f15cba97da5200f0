"""Training between owners who keep their records: masked sums, shares of noise, and the programs that exchange them.

Nothing here sees a record or an exact count: ``curators/owners`` does, and hands over what carries noise already.
See docs/federated.md.
"""

from privet.extras import need

need("federated", "cryptography")
