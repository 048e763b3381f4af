"""Stand-ins for what files written for Letta Evals import, so that they run unchanged where its packages are missing.

The packages under `shims/` only re-export these under the names that such files use.
"""
