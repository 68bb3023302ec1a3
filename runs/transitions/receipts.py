"""Receipts: a command repeated under its idempotency key is answered, not done again."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from runs import canonical, clock, errors
from runs.models import AccessToken, Receipt
from runs.transitions.mutex import transition

KEPT_FOR = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Answer:
    """What an accepted command is answered with."""

    status: int
    body: Any
    replayed: bool = False


@transition
def answered_once(access_token: AccessToken, key: str, request_digest: bytes, command: Callable[[], Answer]) -> Answer:
    """The answer of `command`, or the one it gave before under this key. Refuses the key for another request.

    Receipt and command commit together. A refused command leaves no receipt: it may be tried again.
    """
    mine = Receipt.objects.filter(project=access_token.project_id, access_token=access_token, key=key)
    now = clock.now()
    mine.filter(created_at__lte=now - KEPT_FOR).delete()
    receipt = mine.first()
    if receipt is not None:
        if bytes(receipt.request_digest) != request_digest:
            raise errors.ReceiptConflict(key=key)
        return Answer(receipt.status, canonical.loads(receipt.answer.encode()), replayed=True)

    # Stored before the command runs: a twin in flight waits here, and on its next try finds our answer.
    receipt = Receipt.objects.create(
        project_id=access_token.project_id,
        access_token=access_token,
        key=key,
        request_digest=request_digest,
        status=0,
        answer="null",
        created_at=now,
    )
    answer = command()
    receipt.status, receipt.answer = answer.status, _written(answer.body)
    receipt.save(update_fields=["status", "answer"])
    return answer


def _written(answer: Any) -> str:
    # An answer may hold a document of the greatest depth that is let in, and is deeper itself.
    return canonical.dumps(answer, max_depth=canonical.DEPTH_CEILING).decode()
