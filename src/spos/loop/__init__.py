"""The loop: one step after another. `run` is pure; `sample` is watched, guarded and resumable."""
