"""A workflow that fails on purpose in its second step, to show what a failed run looks like."""

from workflowq.runner import Context, Json, workflow


class PartMissing(Exception):
    """What the second step meets."""


@workflow("brittle")
def break_on_purpose(ctx: Context, input: Json) -> Json:
    """Prepares a part, then fails to fit it; there is no way past the second step."""
    part = ctx.step("prepare", prepare)
    return ctx.step("fit", fit, part)


def prepare() -> Json:
    return {"part": "left bracket", "needs": ["washer", "bolt", "spare bolt"], "have": ["washer", "bolt"]}


def fit(part: Json) -> Json:
    missing = sorted(set(part["needs"]) - set(part["have"]))
    if missing:
        raise PartMissing(
            f"the {part['part']} can't be fitted: {', '.join(missing)} missing. This demo fails on purpose."
        )
    return {"fitted": part["part"]}
