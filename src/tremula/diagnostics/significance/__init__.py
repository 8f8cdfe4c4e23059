"""Statistical tests of the difference of two methods, as pure functions of numbers.

`paired.py` has the tests over folds, `one_test_set.py` those on one test set, `multiple_testing.py` the corrections.
Open `paired.py` first.
"""
