"""The estimator to take by default: families of trees blended by the rows that they left out."""
