import dataclasses

import numpy as np
import pytest

from autogm import Algorithm, InputError
from autogm.algorithm import AGGREGATIONS
from autogm.graph import planted_partition
from autogm.plan import calibrate
from tests.plan.points import features_of

GRAPH = planted_partition(400, num_features=30, degree=8)


@pytest.fixture(scope="module")
def model():
    return calibrate(GRAPH, outputs=4, coded=True, threads=1, max_d=80)


POINTS = [
    Algorithm(d=d, k=k, w=w, l=nonlinear, a=a)
    for d in (1, 16, 80)
    for k in (0, 1, 2, 9)
    for w in (-1, 1, 50)
    for nonlinear in (True, False)
    for a in ("SS", "NA")
]


def test_every_point_has_a_time(model):
    times = model.seconds(POINTS)
    assert times.shape == (len(POINTS),)
    assert np.isfinite(times).all()
    assert (times > 0).all()


def test_one_point_at_a_time_is_all_at_once(model):
    together = model.seconds(POINTS)
    # A point alone and the widest draw among many are the same entries.
    alone = [model.seconds([point])[0] for point in POINTS]
    np.testing.assert_allclose(alone, together, rtol=1e-12)


def test_a_grid_is_the_points_of_it(model):
    d, k, w = np.array([1, 16, 80]), np.array([1, 2, 9]), np.array([1, 5])
    axes = np.meshgrid(d, k, w, np.arange(2), np.arange(6), indexing="ij", sparse=True)
    grid = model.seconds_of(*axes)
    assert grid.shape == (3, 3, 2, 2, 6)
    point = Algorithm(d=16, k=9, w=5, l=True, a=AGGREGATIONS[4])
    assert grid[1, 2, 1, 1, 4] == pytest.approx(model.seconds([point])[0], rel=1e-12)


def test_width_and_reach_cost_time(model):
    few, many = model.seconds([Algorithm(d=80, k=2), Algorithm(d=80, k=20)])
    assert many > few
    all_, one = model.seconds([Algorithm(d=80, k=20), Algorithm(d=80, k=20, w=1)])
    assert all_ > one


def test_d_is_free_where_outputs_are_narrower(model):
    narrow, wide = model.seconds([Algorithm(d=d, k=3, l=False) for d in (32, 80)])
    assert narrow == wide


@pytest.mark.parametrize("kind", ["dense", "sparse", "ones"])
@pytest.mark.parametrize("outputs", [1, 3, 40])
def test_any_features_and_outputs(kind, outputs):
    features = features_of(kind, 400, 30, np.random.default_rng(0))
    graph = dataclasses.replace(GRAPH, features=features, feature_names=None)
    made = calibrate(graph, outputs=outputs, coded=outputs > 1, threads=1, max_d=48)
    points = [p for p in POINTS if p.d < 48]
    assert (made.seconds(points) > 0).all()


def test_a_graph_without_edges():
    graph = planted_partition(60, num_features=30, degree=0)
    made = calibrate(graph, outputs=4, coded=True, threads=1, max_d=32)
    assert (made.seconds([Algorithm.gcn(d=16), Algorithm.sgcn(d=16)]) > 0).all()


def test_what_a_model_does_not_know(model):
    assert model.seconds([]).shape == (0,)
    with pytest.raises(InputError, match="d must be at most 80 for this model, but got 81; calib"):
        model.seconds([Algorithm(d=81)])
    nothing = dataclasses.replace(GRAPH, features=None, feature_names=None)
    with pytest.raises(InputError, match="times need node features, but the graph has none"):
        calibrate(nothing, outputs=4, coded=True, threads=1)


def test_more_outputs_than_dimensions():
    made = calibrate(GRAPH, outputs=40, coded=True, threads=1, max_d=16)
    assert made.seconds([Algorithm(d=16, k=0)])[0] > 0
