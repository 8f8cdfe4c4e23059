"""Compiled loops over rows and nodes: they fill arrays that the caller made; rules and checks are left to the caller.

`grow.pyx` grows a tree, `prune.pyx` prunes it, `route.pyx` sends rows down, `soften.pyx` smooths, `counts.pyx` counts.
Most `.pxd` files hold parts of the grower, `.h` files loops in C. Open `grow.pyx` first.
"""
