"""Which rows are written, and which go to a second file with the reason: by a filter, and by what a trainer could not read."""

from __future__ import annotations

from dataclasses import dataclass

from innervoice.bulk.filtering import Filter
from innervoice.bulk.schema import REJECTED, Batch
from innervoice.bulk.table import taken
from innervoice.bulk.training.checks import unlike
from innervoice.bulk.training.examples import Recipe, unfit_rows
from innervoice.bulk.training.templates import template_problems

__all__ = ["REJECTED", "Divider"]


@dataclass(frozen=True)
class Divider:
    """Divides batches; all of it can be pickled."""

    filter: Filter | None = None
    recipe: Recipe | None = None
    """The recipe for which the rows are written."""
    check: bool = True
    """Whether each example is read back and compared."""
    template: str | None = None
    """The text of a chat template with which each example is rendered."""

    def __call__(self, batch: Batch) -> dict[str, Batch]:
        """The rows that are written, under "", and the others."""
        reasons = self.reasons(batch)
        accepted = [index for index, reason in enumerate(reasons) if reason is None]
        others = [index for index, reason in enumerate(reasons) if reason is not None]
        divided: dict[str, Batch] = {"": _rows(batch, accepted)}
        if others:
            divided[REJECTED] = {
                **_rows(batch, others),
                REJECTED: [reasons[index] for index in others],
            }
        return divided

    def reasons(self, batch: Batch) -> list[str | None]:
        """For each row None, or why it is not written."""
        reasons: list[str | None] = [None] * len(next(iter(batch.values()), ()))
        if self.filter is not None:
            reasons = self.filter.reasons(batch)
        if self.recipe is not None:
            reasons = self._whole_conversations(batch, reasons)
            accepted = [index for index, reason in enumerate(reasons) if reason is None]
            for index, reason in zip(
                accepted, self._unwritable(_rows(batch, accepted)), strict=True
            ):
                reasons[index] = reason
        return reasons

    def _whole_conversations(self, batch: Batch, reasons: list[str | None]) -> list[str | None]:
        """Where all turns of a conversation are in one example, one rejected turn rejects the example."""
        if self.recipe is None or self.recipe.history != "all" or "last" not in batch:
            return reasons
        whole = list(reasons)
        earlier: str | None = None
        for index, is_last in enumerate(batch["last"]):
            if is_last:
                whole[index] = whole[index] or earlier
                earlier = None
            elif whole[index] and not earlier:
                earlier = f"turn {batch['turn'][index]} of the conversation: {whole[index]}"
        return whole

    def _unwritable(self, batch: Batch) -> list[str | None]:
        """Why rows cannot be written for the target."""
        assert self.recipe is not None
        reasons = unfit_rows(self.recipe)(batch)
        checks = [unlike(self.recipe, batch)] if self.check else []
        if self.template is not None:
            checks.append(template_problems(self.recipe, batch, self.template))
        return [
            next(filter(None, row_reasons), None)
            for row_reasons in zip(reasons, *checks, strict=True)
        ]


def _rows(batch: Batch, indices: list[int]) -> Batch:
    return {name: taken(values, indices) for name, values in batch.items()}  # type: ignore[misc] # a column of Arrow stays one
