"""Makes the tables of a Letta server in the empty database that LETTA_PG_URI names.

The package brings neither tables nor what would make them, so its own declarations are used. One column has a default that
they do not mention: the number of a message comes from a sequence.
"""

import os

import letta.orm  # noqa: F401: declares every table
from letta.orm.base import Base
from sqlalchemy import create_engine, text

address = os.environ["LETTA_PG_URI"].split("://", 1)[1]
engine = create_engine("postgresql+psycopg2://" + address)
with engine.begin() as database:
    database.execute(text("CREATE EXTENSION IF NOT EXISTS vector"))
    database.execute(text("CREATE SEQUENCE IF NOT EXISTS message_seq_id"))
Base.metadata.create_all(engine)
with engine.begin() as database:
    number = "ALTER TABLE messages ALTER COLUMN sequence_id SET DEFAULT nextval('message_seq_id')"
    database.execute(text(number))
