"""What text means in English and Chinese, worked out by rules and without a model."""
