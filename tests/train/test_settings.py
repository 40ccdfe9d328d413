import pytest

from autogm import InputError
from autogm.train import TrainSettings


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("epochs", 0, "epochs must be at least 1, but got 0"),
        ("epochs", 2.5, "epochs must be a whole number, but got 2.5"),
        ("patience", 0, "patience must be at least 1, but got 0"),
        ("memory", 0, "memory must be at least 1, but got 0"),
        ("threads", 0, "threads must be at least 1, but got 0"),
        ("sample_seed", -1, "sample_seed must be at least 0, but got -1"),
        ("learning_rate", 0, "learning_rate must be above 0 and finite, but got 0"),
        ("learning_rate", float("nan"), "learning_rate must be above 0 and finite, but got nan"),
        ("weight_decay", -1, "weight_decay must be at least 0 and finite, but got -1"),
        ("dropout", 1, "dropout must be at least 0 and below 1, but got 1"),
        ("task", "ranking", "task must be one of classification, multilabel, regression, but got"),
        ("metric", "acuracy", "metric must be one of .* did you mean 'accuracy'"),
        ("device", "gpu", "device must be one of cpu, cuda, but got 'gpu'"),
        ("class_weights", "even", "class_weights must be one of balanced, but got 'even'"),
        (
            "class_weights",
            [1, 0],
            r"class_weights must be above 0 and finite, but got \[1.0, 0.0\]",
        ),
        ("class_weights", [1, float("inf")], r"class_weights must be above 0 and finite, but got"),
        ("class_weights", 5, "class_weights must be 'balanced' or a list of one .*, but got 5"),
        ("class_weights", [[1, 2]], "class_weights must be 'balanced' or a list of one number a c"),
        ("class_weights", [1, "x"], "class_weights must be 'balanced' or a list of one number a c"),
        ("epochs", True, "epochs must be a whole number, but got True"),
        ("epochs", 2**40, "epochs must be at most 1000000, but got 1099511627776"),
        ("patience", 2**70, "patience must be at most 1000000000, but got 1180591620717411303424"),
        ("learning_rate", "0.1", "learning_rate must be a number, but got '0.1'"),
        ("learning_rate", float("inf"), "learning_rate must be above 0 and finite, but got inf"),
        ("weight_decay", float("inf"), "weight_decay must be at least 0 and finite, but got inf"),
        ("dropout", "x", "dropout must be a number, but got 'x'"),
        ("metric", ["accuracy"], r"metric must be one of .*, but got \['accuracy'\]"),
    ],
)
def test_settings_out_of_range(setting, value, message):
    with pytest.raises(InputError, match=message):
        TrainSettings(**{setting: value})
