"""Every algorithm, with and without its options, applied to a target."""

import optax

import spos

ALGORITHMS = {
    "spos": lambda target: spos.spos(target, 0.05, 2.0),
    "spos imq": lambda target: spos.spos(target, 0.05, kernel=spos.imq(refresh_every=3)),
    "spos rmsprop": lambda target: spos.spos(target, 0.01, preconditioner=spos.rmsprop()),
    "spos ensemble": lambda target: spos.spos(target, 0.05, preconditioner=spos.ensemble()),
    "svgd": lambda target: spos.svgd(target, spos.schedules.inverse(0.1)),
    "svgd adagrad": lambda target: spos.svgd(target, 0.05, preconditioner=spos.adagrad()),
    "svgd adam": lambda target: spos.svgd(target, optimizer=optax.adam(0.05)),
    "svgd entry": lambda target: spos.svgd(target, 0.05, kernel=spos.rbf(blocks="entry")),
    "svgd ensemble": lambda target: spos.svgd(target, 0.1, preconditioner=spos.ensemble()),
    "blob": lambda target: spos.blob(target, 0.05),
    "gfsd": lambda target: spos.gfsd(target, optimizer=optax.adam(0.05)),
    "gfsf imq": lambda target: spos.gfsf(target, 0.02, kernel=spos.imq()),
    "pos": lambda target: spos.pos(target, 0.05, 2.0, preconditioner=spos.adagrad()),
    "noisy_svgd": lambda target: spos.noisy_svgd(target, 0.05, kernel=spos.rbf(2.0)),
    "sgld": lambda target: spos.sgld(target, 0.05, 2.0),
    "sgld ensemble": lambda target: spos.sgld(target, 0.05, preconditioner=spos.ensemble()),
    "psgld": lambda target: spos.psgld(target, 0.01),
    "sghmc": lambda target: spos.sghmc(target, 0.05, 0.3),
}
