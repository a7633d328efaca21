"""A mypy plugin that checks the fields in `model_copy(update={...})` and `revise(thing, {...})`.

In shipped code, the changes must be a literal, or a `TypedDict` of some fields, such as
`RunChanges`. Mypy calls no plugin for a method of a type variable. Name the class in this case, as
in `AgentItem.model_copy(item, update={...})`.
"""

from pathlib import Path
from typing import Any

from mypy.expandtype import expand_type_by_instance
from mypy.maptype import map_instance_to_supertype
from mypy.nodes import DictExpr, StrExpr, Var
from mypy.plugin import FunctionSigContext, MethodSigContext, Plugin
from mypy.types import CallableType, Instance, Type, TypedDictType, get_proper_type


def _taking_fields(context: FunctionSigContext | MethodSigContext) -> CallableType:
    signature, fields = context.default_signature, dict[str, Type]()
    if copies := isinstance(context, MethodSigContext):
        model = get_proper_type(context.type)
    else:
        model = get_proper_type(context.api.get_expression_type(context.args[0][0]))
    at = signature.arg_names.index("update" if copies else "changes")
    if isinstance(model, CallableType) and model.is_type_obj():
        model = get_proper_type(model.get_instance_type())
    given = context.args[at][0] if context.args[at] else None
    literal = isinstance(given, DictExpr) and all(isinstance(n, StrExpr) for n, _ in given.items)
    shipped = copies and not Path(context.api.path).absolute().is_relative_to(Path.cwd() / "tests")
    if isinstance(model, Instance) and given is not None and (literal or shipped):
        for name in model.type.metadata.get("pydantic-mypy-metadata", {}).get("fields", ()):
            node = model.type[name].node
            if isinstance(node, Var) and node.type is not None:
                owner = map_instance_to_supertype(model, node.info)
                fields[name] = expand_type_by_instance(node.type, owner)
    required = set[str]()
    if given is not None and fields and not literal:
        known = get_proper_type(context.api.get_expression_type(given))
        if isinstance(known, TypedDictType) and known.items.keys() <= fields.keys():
            fields = {name: fields[name] for name in known.items}
            required = known.required_keys
    types, base = [*signature.arg_types], context.api.named_generic_type("typing._TypedDict", [])
    types[at] = TypedDictType(fields, required, set(), base) if fields else types[at]
    return signature.copy_modified(arg_types=types)


class TypedChanges(Plugin):
    def get_method_signature_hook(self, fullname: str) -> Any:
        return _taking_fields if fullname.endswith(".model_copy") else None

    def get_function_signature_hook(self, fullname: str) -> Any:
        return _taking_fields if fullname == "skein.services.common.optimistic.revise" else None


def plugin(_version: str) -> type[Plugin]:
    return TypedChanges
