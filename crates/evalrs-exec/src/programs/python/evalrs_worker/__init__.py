"""The worker behind `worker.py`: talks with evalrs, runs the user's function, and reports which files it used.

`program` ties the parts together. `channel` owns the two descriptors, `loading` the user's module, `roles` what goes
into and comes out of the function, `binding` and `signatures` which parameter gets what, `inputs` the files it used,
`faults` how exceptions are told, `replies` the JSON of answers, `letta` the classes that files written for Letta Evals
import. Nothing here knows how scores are judged or stored. Until the function is called only what every function needs
is imported: other modules of the standard library where they are used.
"""

import os

#: The folder of `worker.py`: frames and files below it are never the user's.
OWN_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
