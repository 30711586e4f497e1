"""Ranked support: a tuple stays while some instance supports it from premises of lower rank.

Every derived tuple has a rank above the ranks of the same-stratum premises of at least one of its
instances, so support is well-founded: no cycle of tuples can keep itself alive. After a change
below, (a) the heads of lost instances are asked for another such instance; (b) those that have
none are taken out, and what they supported is asked in turn, until nothing is; (c) then what was
taken out and still has any instance comes back, and what is new is derived, semi-naively, each
with a rank above all others; (d) the net change is reported.

Without the guard of ranks this is DRed (Gupta, Mumick and Subrahmanian 1993): every head of a lost
instance is taken out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from whence.engine.local.kernels.hashing import Ints
from whence.engine.local.live import NONE, Delta, LiveRelation
from whence.view.base import StratumWork
from whence.view.heads import Heads
from whence.view.rules import Deltas, Rules

MAX_WAVES = 1000
"""Waves after which a recursion that may never end is evaluated anew, which tells."""


class Endless(Exception):
    """A recursion that makes new values goes on suspiciously long."""


def maintain(
    rules: Rules,
    deltas: Deltas,
    work: StratumWork,
    *,
    ranked: bool,
    suspects: Mapping[str, Ints] | None = None,
) -> dict[str, Delta]:
    """Bring the stratum up to date with the changes below; return its own.

    `suspects` are rows to be asked as well, whatever has changed.
    """
    heads = None if suspects is None else _heads(rules, suspects)
    removed = take_out(rules, heads or rules.lose(deltas, ranked=ranked), work, ranked)
    work.removed += sum(ids.shape[0] for ids in removed.values())
    came: dict[str, list[Ints]] = {}
    back = restore(rules, removed, came)
    rules.gain(deltas)
    waves = 0
    while True:
        wave = rules.wave()
        note(came, wave)
        wave = rules.follow(wave)
        for name, ids in back.items():
            wave[name] = np.concatenate([ids, wave[name]]) if name in wave else ids
        back = {}
        if not rules.own or not any(ids.shape[0] for ids in wave.values()):
            break
        rules.gain_own(wave)
        waves += 1
        if waves > MAX_WAVES and rules.stratum.growths:
            raise Endless
    return _net(rules, removed, came, work)


def _heads(rules: Rules, rows: Mapping[str, Ints]) -> dict[str, Heads]:
    return {name: rules.heads(name, ids, ranked=True) for name, ids in rows.items()}


def restore(
    rules: Rules, removed: Mapping[str, Ints], came: dict[str, list[Ints]]
) -> dict[str, Ints]:
    """Let come back what still has support; return the rows from which more may follow.

    What comes back can only bring back what was taken out with it. So while less is left of that
    than has just come back, those are asked again, instead of following what has come.
    """
    left = dict(removed)
    while True:
        for name, ids in left.items():
            if ids.shape[0]:
                mask = rules.supported(name, rules.heads(name, ids, ranked=False))
                rules.relations[name].revive(ids[mask])
                left[name] = ids[~mask]
        wave = rules.wave()
        note(came, wave)
        restored = sum(ids.shape[0] for ids in wave.values())
        if rules.selected:
            plain = {name: ids for name, ids in wave.items() if name not in rules.selected}
            return plain | rules.take_over(removed)
        waiting = sum(ids.shape[0] for ids in left.values())
        if not restored or not rules.own or not waiting:
            return {}
        if waiting > 2 * restored:
            return wave


def note(came: dict[str, list[Ints]], wave: Mapping[str, Ints]) -> None:
    for name, ids in wave.items():
        came.setdefault(name, []).append(ids)


def take_out(
    rules: Rules, lost: Mapping[str, Heads], work: StratumWork, ranked: bool
) -> dict[str, Ints]:
    """Take out what has no support left, to completion; return it."""
    relations = rules.relations
    removed: dict[str, list[Ints]] = {}
    lost = {name: heads for name, heads in lost.items() if heads.ids.shape[0]}
    while lost:
        gone = {}
        for name, heads in lost.items():
            ids = heads.ids
            work.asked += ids.shape[0]
            if ranked:
                ids = ids[~rules.supported(name, heads)]
            if ids.shape[0]:
                gone[name] = ids
        found = rules.lose_own(rules.followed(gone), ranked=ranked) if rules.own else {}
        for name, ids in gone.items():
            relations[name].bury(ids)
            rules.took_out(ids.shape[0])
            removed.setdefault(name, []).append(ids)
        lost = {
            n: left for n, h in found.items() if (left := still_there(relations[n], h)) is not None
        }
    return {name: np.concatenate(parts) for name, parts in removed.items()}


def still_there(relation: LiveRelation, heads: Heads) -> Heads | None:
    """Return those of the heads that have not been taken out since they were found."""
    there = relation.dead[heads.ids] == 0
    if there.all():
        return heads
    if not there.any():
        return None
    tuples = heads.tuples[there]
    tuples[:, -1] = np.arange(tuples.shape[0])
    return Heads(heads.ids[there], tuples)


def _net(
    rules: Rules,
    removed: Mapping[str, Ints],
    came: Mapping[str, Sequence[Ints]],
    work: StratumWork,
) -> dict[str, Delta]:
    found = {}
    for name in rules.stratum.relations:
        relation = rules.relations[name]
        out = removed.get(name, NONE)
        new = np.concatenate(came[name]) if name in came else NONE
        went = out[relation.dead[out] != 0]
        delta = Delta(new[relation.was[new] != 0], went)
        work.restored += out.shape[0] - went.shape[0]
        work.inserted += delta.came.shape[0]
        work.deleted += went.shape[0]
        if delta:
            found[name] = delta
    return found
