"""What the stacks that are forked by `tests.e2e.process` find loaded: their code and libraries."""

from importlib import import_module

from local.functions import Functions
from local.template import Template
from skein import bootstrap
from skein.adapters.openai.model import LIBRARIES
from skein.adapters.tokens import Tokens
from skein.settings import Settings

with bootstrap.lasting():
    for library in ("local.serving", *LIBRARIES):
        import_module(library)
    Tokens().count("")
    # With an app, the functions load no adapters of AWS. A stack then has an app of its own.
    bootstrap.use(bootstrap.build_app(Settings()))
    Functions(Template.load().functions)
    bootstrap.use(None)
