"""Every algorithm, with and without its options, applied to a target."""

import optax

import spos

ALGORITHMS = {
    "spos": lambda target: spos.spos(target, 0.05, 2.0),
    "spos imq": lambda target: spos.spos(target, 0.05, kernel=spos.imq(refresh_every=3)),
    "spos rmsprop": lambda target: spos.spos(target, 0.01, preconditioner=spos.rmsprop()),
    "svgd": lambda target: spos.svgd(target, spos.schedules.inverse(0.1)),
    "svgd adagrad": lambda target: spos.svgd(target, 0.05, preconditioner=spos.adagrad()),
    "svgd adam": lambda target: spos.svgd(target, optimizer=optax.adam(0.05)),
    "sgld": lambda target: spos.sgld(target, 0.05, 2.0),
}
