"""Why a trained model predicts what it does: Shapley values, and the training rows behind a prediction.

Open `explain.py` first.
"""
